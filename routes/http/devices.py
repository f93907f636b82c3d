"""The device that signs in, in words, from the User-Agent. A client may send any text, so it is a hint and no proof."""

from __future__ import annotations

from typing import Final

from access import session

BROWSERS: Final = {
    "Edg": "Edge", "OPR/": "Opera", "SamsungBrowser/": "Samsung Internet", "Firefox/": "Firefox", "FxiOS/": "Firefox",
    "CriOS/": "Chrome", "Chrome/": "Chrome", "Safari/": "Safari",
}  # fmt: skip
"""By a part of the User-Agent. A browser also names its ancestors, so the first match counts."""
SYSTEMS: Final = {
    "iPhone": "iPhone", "iPad": "iPad", "Android": "Android", "Windows": "Windows", "CrOS": "ChromeOS",
    "Mac OS X": "macOS", "Linux": "Linux",
}  # fmt: skip
PROGRAM_CHARACTERS_MAX: Final = 40


def client_device() -> str | None:
    """Return the device of the request, or None if the request names none."""
    return device_of(session.request().headers.get("User-Agent", ""))


def device_of(user_agent: str) -> str | None:
    """Return the browser and system of a User-Agent, or the first word of a program's.

    >>> device_of("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> device_of("python-httpx/0.28.1"), device_of("\x07"), device_of("")
    ('python-httpx', None, None)
    """
    browser = next((name for part, name in BROWSERS.items() if part in user_agent), None)
    system = next((name for part, name in SYSTEMS.items() if part in user_agent), None)
    if browser is not None:
        return f"{browser} on {system}" if system is not None else browser
    program = user_agent.partition("/")[0][:PROGRAM_CHARACTERS_MAX].strip()
    return program if program and program.isascii() and program.isprintable() else None
