"""The settings: `Settings` and `ProcessSettings` declare each once, and docs/OPERATING.md explains them.

`config` reads them from the environment. A parser takes the text of the environment, or the value of an override of
`create_app`. It raises ValueError with a message that continues the setting's name.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict, get_type_hints
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import sqlalchemy as sa

PROJECT = Path(__file__).resolve().parent
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
SQLITE_DRIVERS = ("sqlite", "sqlite+pysqlite")  # any PostgreSQL URL uses psycopg
IN_MEMORY = (None, "", ":memory:")
DEADLINES = "life_threatening=24h,severe=24h,moderate=30d,low=60d"  # for the names; models/deadline_rule.py has sources
PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")  # without dot segments
# The bounds of a request's body, in bytes. FILE_BYTES_MAX, a setting, bounds each file of an upload.
BODY_BYTES_MAX = 6 << 20
"""Of any body but an upload, while it arrives. A call of `import_csv`, and a form that is shown again, may use all."""
JSON_BYTES_MAX = 1 << 20
CSV_BYTES_MAX = 5 << 20
SIGN_IN_BYTES_MAX = 16 << 10
CONSOLE_FORM_BYTES_MAX = 512 << 10
UPLOAD_FORM_BYTES_MAX = 64 << 10
"""Of the fields beside the files of an upload."""

ZONE_FILE = re.compile(r"/zoneinfo[^/]*/(?:posix/|right/)?(.+)")  # macOS has zoneinfo.default, too
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


def read_database_url(value: object, directory: Path | None = None) -> str:
    """Return the URL of an SQLite file or a PostgreSQL server. The path of a file becomes absolute.

    A relative path is relative to `directory`, by default to the project, not to the working directory.
    """
    text = read_text(value)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: an invalid port
        raise ValueError("is not a database URL") from error
    if url.get_backend_name() == "postgresql":
        return text
    if url.drivername not in SQLITE_DRIVERS:
        raise ValueError(f"begins with sqlite:/// or postgresql+psycopg://, not with {url.drivername}://")
    # SQLAlchemy may drop what follows a `?`, which would name another file.
    if "?" in text:
        raise ValueError("takes a path after sqlite:///, which has no ? in it")
    if url.database in IN_MEMORY:
        return text
    assert url.database is not None
    if url.database.startswith("file:"):
        raise ValueError("takes a path after sqlite:///, not a file: URI")
    if url != sa.URL.create(url.drivername, database=url.database):
        raise ValueError("takes a path after sqlite:///, and nothing else")
    if "\0" in url.database or not Path(url.database).name:
        raise ValueError("names no file")
    return file_url(Path(os.path.abspath((directory or PROJECT) / url.database)))


def database_path(url: str | sa.URL) -> Path | None:
    """Return the file of a URL that `read_database_url` returned; None for another database, or for one in memory.

    >>> database_path("sqlite:////srv/walkthrough.db")
    PosixPath('/srv/walkthrough.db')
    >>> database_path("sqlite://"), database_path("postgresql://localhost/walkthrough")
    (None, None)
    """
    parts = sa.make_url(url)
    is_file = parts.drivername in SQLITE_DRIVERS and parts.database not in IN_MEMORY
    return Path(parts.database or "") if is_file else None


def file_url(path: Path) -> str:
    """Return the URL of an SQLite file. Special characters in the path are escaped.

    >>> file_url(Path("/srv/100%/walkthrough.db"))
    'sqlite:////srv/100%25/walkthrough.db'
    """
    return sa.URL.create("sqlite", database=str(path)).render_as_string()


def files_folder(database: Path | None) -> Path:
    """Return the default of FILES_DIR."""
    return PROJECT / "instance" / "files" if database is None else database.with_name(f"{database.name}.files")


def read_standbys(value: object) -> tuple[str, ...]:
    urls = tuple(map(read_database_url, read_texts(value)))
    if any(sa.make_url(each).drivername in SQLITE_DRIVERS for each in urls):
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


def machine_time_zone(tz: str | None, folder: Path = Path("/etc")) -> str:
    """Return the time zone of this machine: that of the variable TZ, of /etc/localtime or of /etc/timezone.

    A zone without an IANA name is UTC.
    """
    if tz is not None:
        path = tz.removeprefix(":")
        names = [zone_of_file(Path(path)) if path.startswith("/") else path]
    else:
        names = [zone_of_file(folder / "localtime"), first_line(folder / "timezone")]
    return next((name for name in map(known_zone, names) if name), "UTC")


def zone_of_file(path: Path) -> str:
    """Return the name of the zone that a symbolic link leads to; an empty text for another file."""
    match = ZONE_FILE.search(os.path.realpath(path))
    return match[1] if match else ""


def first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, ValueError):
        return ""


def known_zone(name: str) -> str:
    """Return the name of a known zone, or an empty text.

    >>> known_zone("Etc/UTC"), known_zone("EST5EDT4"), known_zone("")
    ('UTC', '', '')
    """
    try:
        return "UTC" if name == "Etc/UTC" else read_time_zone(name) if name else ""
    except ValueError:
        return ""


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
    """The declaration of a setting. Its value is None if it is not set and has no default."""

    parse: Callable[[object], Any]
    default: str | None = None
    is_secret: bool = False


class Settings(TypedDict):
    """The settings of the application. An override of `create_app` replaces the environment's value."""

    DATABASE_URL: Annotated[str, Setting(read_database_url, "sqlite:///instance/walkthrough.db")]
    DATABASE_READ_URL: Annotated[tuple[str, ...], Setting(read_standbys, "")]
    SECRET_KEY: Annotated[list[str], Setting(read_keys, is_secret=True)]  # the last key signs, all keys verify
    ANON_KEY: Annotated[str | None, Setting(read_text, is_secret=True)]  # None disables the key
    SERVICE_KEY: Annotated[str | None, Setting(read_text, is_secret=True)]
    REQUIRE_APIKEY: Annotated[bool, Setting(read_flag, "1")]
    MAX_ROWS: Annotated[int, Setting(whole_number(1), "1000")]
    ACCESS_TOKEN_SECONDS: Annotated[int, Setting(whole_number(120, 604_800), "3600")]  # clients refresh 90 s before
    CORS_ORIGINS: Annotated[tuple[str, ...] | None, Setting(read_origins)]  # None: localhost, any port; ("*",): any
    TRUSTED_PROXIES: Annotated[tuple[Network, ...], Setting(read_networks, "")]
    URL_PREFIX: Annotated[str, Setting(read_prefix, "")]  # without a slash at its end; empty at the root
    TIMEZONE: Annotated[str, Setting(read_time_zone)]  # by default `machine_time_zone`
    FINDING_DEADLINES: Annotated[dict[str, tuple[int, str]] | None, Setting(read_deadlines)]
    FILES_DIR: Annotated[Path, Setting(read_folder)]  # by default `files_folder`
    FILE_BYTES_MAX: Annotated[int, Setting(whole_number(1), "20971520")]
    FILES_BYTES_MAX: Annotated[int, Setting(whole_number(1, 10**15), "10737418240")]
    RETENTION_YEARS: Annotated[int, Setting(whole_number(1, 100), "3")]


class ProcessSettings(TypedDict):
    """The settings of the process, which gunicorn.conf.py reads. They have no overrides."""

    HOST: Annotated[str, Setting(read_host, "127.0.0.1")]
    PORT: Annotated[int, Setting(whole_number(1, 65_535), "8000")]
    KEEPALIVE_SECONDS: Annotated[int, Setting(whole_number(1, 3_600), "75")]
    LOG_LEVEL: Annotated[str, Setting(read_log_level, "info")]


def declared(schema: type) -> dict[str, Setting]:
    """Return the settings that a class declares, by name.

    >>> declared(ProcessSettings)["PORT"].default
    '8000'
    """
    return {name: kind.__metadata__[0] for name, kind in get_type_hints(schema, include_extras=True).items()}


APPLICATION_SETTINGS = declared(Settings)
PROCESS_SETTINGS = declared(ProcessSettings)
SETTINGS = APPLICATION_SETTINGS | PROCESS_SETTINGS
