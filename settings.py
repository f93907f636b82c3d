"""The settings: name, default, parser and meaning of each. `config` reads them from the environment.

A parser takes the text of the environment, or the value of an override of `create_app`. It raises ValueError with a
message that continues the setting's name.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import sqlalchemy as sa

PROJECT = Path(__file__).resolve().parent
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
SQLITE_DRIVERS = ("sqlite", "sqlite+pysqlite")  # any PostgreSQL URL uses psycopg
DEADLINES = "life_threatening=24h,severe=24h,moderate=30d,low=60d"  # 24 CFR 982.404 and NSPIRE
PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")  # without dot segments
SOCKET_PATH_BYTES_MAX = 107  # Linux; macOS has 103
DEADLINE = re.compile(r"([a-z_]+)=([1-9][0-9]{0,4})([hd])")
DEADLINES_MAX = {"h": 8_760, "d": 3_660}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("is a text")
    return value


def read_texts(value: object) -> list[str]:
    """Parse a list: comma-separated or JSON.

    >>> read_texts("https://a.example, https://b.example"), read_texts('["old,key", "new"]')
    (['https://a.example', 'https://b.example'], ['old,key', 'new'])
    """
    entries = value
    if isinstance(value, str):
        try:
            is_json = value.lstrip().startswith("[")
            entries = json.loads(value) if is_json else [part.strip() for part in value.split(",") if part.strip()]
        except ValueError as error:
            raise ValueError("starts with [ but is not a JSON list") from error
    if not isinstance(entries, list | tuple) or not all(isinstance(text, str) for text in entries):
        raise ValueError("is a text or a list of texts")
    return list(entries)


def read_keys(value: object) -> list[str]:
    keys = read_texts(value)
    if not keys:
        raise ValueError("is a text or a list of texts")
    return keys


def read_flag(value: object) -> bool:
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"is 1 or 0, not '{value}'")


def whole_number(minimum: int, maximum: int = 2**31 - 1) -> Callable[[object], int]:
    """Return the parser of a whole number within bounds."""

    def read(value: object) -> int:
        text = str(value).strip()
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise ValueError(f"is a whole number, not '{text}'")
        if not minimum <= int(text) <= maximum:
            raise ValueError(f"lies between {minimum} and {maximum}, not at {text}")
        return int(text)

    return read


def read_log_level(value: object) -> str:
    level = str(value).lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"is one of {', '.join(LOG_LEVELS)}, not '{level}'")
    return level


def read_database_url(value: object) -> str:
    """Return the URL. The path of a file becomes absolute."""
    text = read_text(value)
    path = database_path(text)
    return text if path is None else sa.make_url(text).set(database=str(path)).render_as_string(hide_password=False)


def database_path(text: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database, or for one in memory."""
    url = parse_url(text)
    if url.drivername not in SQLITE_DRIVERS:
        return None
    # SQLAlchemy may drop what follows a `?`, which would name another file.
    if "?" in text:
        raise ValueError("takes a path after sqlite:///, which has no ? in it")
    if url.database in (None, "", ":memory:"):
        return None
    assert url.database is not None
    if url.database.startswith("file:"):
        raise ValueError("takes a path after sqlite:///, not a file: URI")
    if url != sa.URL.create(url.drivername, database=url.database):
        raise ValueError("takes a path after sqlite:///, and nothing else")
    if "\0" in url.database or not Path(url.database).name:
        raise ValueError("names no file")
    # A relative path is relative to the project, not to the working directory.
    return Path(os.path.abspath(PROJECT / url.database))


def files_folder(database: Path | None) -> Path:
    """Return the default of FILES_DIR."""
    return PROJECT / "instance" / "files" if database is None else database.with_name(f"{database.name}.files")


def parse_url(text: str) -> sa.URL:
    """Parse the URL of an SQLite file or a PostgreSQL server. The path is not checked."""
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: an invalid port
        raise ValueError("is not a database URL") from error
    if url.drivername not in SQLITE_DRIVERS and url.get_backend_name() != "postgresql":
        raise ValueError(f"begins with sqlite:/// or postgresql+psycopg://, not with {url.drivername}://")
    return url


def read_standbys(value: object) -> tuple[str, ...]:
    urls = tuple(read_texts(value))
    if any(parse_url(each).drivername in SQLITE_DRIVERS for each in urls):
        raise ValueError("is a list of URLs like DATABASE_URL's")
    return urls


def read_origins(value: object) -> tuple[str, ...] | None:
    origins = read_texts(value)
    if not origins or origins == ["*"]:
        return tuple(origins) or None
    return tuple(map(read_origin, origins))


def read_origin(text: str) -> str:
    """Return an origin as browsers send it.

    >>> read_origin("HTTPS://App.example:8443"), read_origin("capacitor://localhost")
    ('https://app.example:8443', 'capacitor://localhost')
    """
    try:
        parts = urlsplit(text)
        is_origin = bool(parts.scheme and parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:  # an incomplete IPv6 address, or an invalid port
        is_origin = False
    if not is_origin:
        raise ValueError(f"names '{text}', which is not an origin such as https://app.example")
    if text.count("/") != 2 or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"names '{text}', which is more than scheme, host and port")
    if "*" in text:
        raise ValueError(f"names '{text}', which would match no origin: '*' stands alone")
    return text.lower()


def read_networks(value: object) -> tuple[Network, ...]:
    return tuple(map(read_network, read_texts(value)))


def read_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise ValueError(f"names '{text}', which is not an address or network") from error


def read_prefix(value: object) -> str:
    """Return a path without a slash at its end.

    >>> read_prefix("/inspections/"), read_prefix("/")
    ('/inspections', '')
    """
    prefix = read_text(value).rstrip("/")
    if not PREFIX.fullmatch(prefix):
        raise ValueError("is a path such as /inspections, of letters, digits and . _ ~ -")
    return prefix


def read_host(value: object) -> str:
    """Return a host, or the path of a Unix socket with `unix:` before it."""
    host = read_text(value)
    path = host.removeprefix("unix:")
    if path != host and not (path.startswith("/") and 1 < len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX):
        raise ValueError(f"is unix: and an absolute path of at most {SOCKET_PATH_BYTES_MAX} bytes, not '{host}'")
    return host


def read_time_zone(value: object) -> str:
    name = read_text(value)
    try:
        if name != "UTC":  # which needs no time zone database
            ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"is an IANA name such as America/New_York, not '{name}'") from error
    return name


def read_folder(value: object) -> Path:
    """Return an absolute path. A relative path is relative to the project."""
    text = str(value)
    if "\0" in text:
        raise ValueError("is a path")
    return Path(os.path.abspath(PROJECT / text))


def read_deadlines(value: object) -> dict[str, tuple[int, str]]:
    """Return the number and the unit of each severity."""
    deadlines, defaults = parse_deadlines(read_text(value)), parse_deadlines(DEADLINES)
    unknown, missing = sorted(deadlines.keys() - defaults), sorted(defaults.keys() - deadlines)
    if unknown:
        raise ValueError(f"names '{unknown[0]}', which is none of the severities {', '.join(defaults)}")
    if missing:
        raise ValueError(f"has no deadline for {', '.join(missing)}")
    return deadlines


def parse_deadlines(text: str) -> dict[str, tuple[int, str]]:
    """Parse deadlines of any severities.

    >>> parse_deadlines("severe=24h, low=60d")
    {'severe': (24, 'h'), 'low': (60, 'd')}
    """
    deadlines: dict[str, tuple[int, str]] = {}
    for part in map(str.strip, text.split(",")):
        match = DEADLINE.fullmatch(part)
        if match is None:
            raise ValueError(f"has '{part}', which is no severity with hours or days, as in low=60d")
        severity, number, unit = match[1], int(match[2]), match[3]
        if number > DEADLINES_MAX[unit]:
            raise ValueError(f"has '{part}', which is more than {DEADLINES_MAX[unit]}{unit}")
        if severity in deadlines:
            raise ValueError(f"names '{severity}' twice")
        deadlines[severity] = (number, unit)
    return deadlines


class Setting(NamedTuple):
    """A setting. Its value is `empty` if it is not set and has no default."""

    name: str
    default: str | None
    parse: Callable[[object], Any]
    meaning: str
    empty: object = None
    is_secret: bool = False
    is_of_process: bool = False  # gunicorn.conf.py reads it from the environment; no override of `create_app`


URLS = "`sqlite:///relative/path`, `sqlite:////absolute/path` or `postgresql+psycopg://user:password@host/database`"
SIGNING = "signs access tokens; at least 32 bytes. In a list, the last key signs and all keys verify."
SERVICE = "the apikey that acts as super admin; at least 32 bytes"
LIFETIME = "lifetime of an access token, 120 s to 604,800 s"  # clients refresh 90 s before the end
ORIGINS = (
    "list of origins that read answers, such as `https://app.example` or `capacitor://localhost`; `*` for all;"
    " by default localhost, any port"
)
PROXIES = "list of addresses or networks whose `X-Forwarded-For`, `-Proto` and `-Prefix` count ([below](#proxy))"
UNDER = "the path under which a proxy publishes the service, such as `/inspections`"
HOST = "the address to listen on, or a Unix socket such as `unix:/run/walkthrough/walkthrough.sock`"
ZONE = "the IANA name of the zone that decides which day is today, such as `America/New_York`. Timestamps stay in UTC."
CORRECTION = "by severity, hours (`h`) or days (`d`) to correct a finding. Days end at 23:59:59 in `TIMEZONE`."
LEVELS = "`debug`, `info`, `warning`, `error` or `critical`"
FOLDER = "the folder of files ([FILES.md](FILES.md)); by default `<database>.files`, with PostgreSQL `instance/files`"
FILE_BYTES = "bytes of one file"
FILES_BYTES = "bytes of all files together"
STANDBYS = "list of hot standbys of `DATABASE_URL` ([SCALING.md](SCALING.md))"
IDLE = "how long an idle connection stays open, in seconds"

SETTINGS = (
    Setting("DATABASE_URL", "sqlite:///instance/walkthrough.db", read_database_url, URLS),
    Setting("DATABASE_READ_URL", None, read_standbys, STANDBYS, empty=()),
    Setting("SECRET_KEY", None, read_keys, SIGNING, is_secret=True),
    Setting("ANON_KEY", None, read_text, "the public apikey", is_secret=True),
    Setting("SERVICE_KEY", None, read_text, SERVICE, is_secret=True),
    Setting("REQUIRE_APIKEY", "1", read_flag, "`0` accepts requests without an apikey"),
    Setting("MAX_ROWS", "1000", whole_number(1), "rows in a response, and in each embedded array"),
    Setting("ACCESS_TOKEN_SECONDS", "3600", whole_number(120, 7 * 24 * 3_600), LIFETIME),
    Setting("CORS_ORIGINS", None, read_origins, ORIGINS),
    Setting("TRUSTED_PROXIES", None, read_networks, PROXIES, empty=()),
    Setting("URL_PREFIX", None, read_prefix, UNDER, empty=""),
    Setting("TIMEZONE", "UTC", read_time_zone, ZONE),
    Setting("FINDING_DEADLINES", DEADLINES, read_deadlines, CORRECTION),
    Setting("FILES_DIR", None, read_folder, FOLDER),
    Setting("FILE_BYTES_MAX", "20971520", whole_number(1), FILE_BYTES),
    Setting("FILES_BYTES_MAX", "10737418240", whole_number(1, 10**15), FILES_BYTES),
    Setting("HOST", "127.0.0.1", read_host, HOST, is_of_process=True),
    Setting("PORT", "8000", whole_number(1, 65_535), "the port to listen on", is_of_process=True),
    Setting("KEEPALIVE_SECONDS", "75", whole_number(1, 3_600), IDLE, is_of_process=True),
    Setting("LOG_LEVEL", "info", read_log_level, LEVELS, is_of_process=True),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
