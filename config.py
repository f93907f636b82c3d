"""The configuration. This is the only module that reads the environment.

Overrides of `create_app` take precedence over the environment, and the environment over the secrets file.
`prepare` or `make_secrets` creates that file beside the database. An invalid value raises ConfigurationError.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import secrets
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import click
import sqlalchemy as sa

__version__ = "0.1.0"

PROJECT = Path(__file__).resolve().parent
DEMONSTRATION = PROJECT / "instance" / "demo.db"
SECRETS_NAME = "keys.json"
CREATE_SUPER_ADMIN = ".venv/bin/flask --app app create-user you@example.org --role super_admin"
"""The command that creates the first user, to run in PROJECT."""

KEY_BYTES_MIN = 32  # HS256 requires a key of at least the hash's length (RFC 7518, section 3.2)
ROWS_MAX = 1_000  # default
TOKEN_SECONDS = 3_600
TOKEN_SECONDS_MIN = 120  # clients refresh 90 s before expiry and would loop below that
TOKEN_SECONDS_MAX = 7 * 24 * 3_600
TIMEZONE = "UTC"
FINDING_DEADLINES = "life_threatening=24h,severe=24h,moderate=30d,low=60d"  # 24 CFR 982.404 and NSPIRE
DEADLINE_TEXT = re.compile(r"([a-z_]+)=([1-9][0-9]{0,4})([hd])")
DEADLINES_MAX = {"h": 8_760, "d": 3_660}
PORT = 8_000
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client counts in files if it is set
KEEPALIVE_SECONDS = 75
KEEPALIVE_SECONDS_MAX = 3_600
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
DRIVERS = ("sqlite", "sqlite+pysqlite")  # SQLite's; any PostgreSQL URL uses psycopg
KEY_NAMES = ("SECRET_KEY", "ANON_KEY", "SERVICE_KEY")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ConfigurationError(click.ClickException):
    """The configuration is invalid. The message is one line and contains no secret. A command prints it and exits."""

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


class Settings(TypedDict):
    """The parsed configuration, for `app.config.from_mapping`."""

    DATABASE_URL: str
    DATABASE_READ_URL: tuple[str, ...]  # hot standbys of DATABASE_URL
    SECRET_KEY: list[str]  # the last key signs, all keys verify
    ANON_KEY: str | None  # None disables the key
    SERVICE_KEY: str | None
    REQUIRE_APIKEY: bool
    MAX_ROWS: int
    ACCESS_TOKEN_SECONDS: int
    CORS_ORIGINS: tuple[str, ...] | None  # None: localhost on any port; ("*",): any
    TRUSTED_PROXIES: tuple[Network, ...]
    TIMEZONE: str  # an IANA name
    FINDING_DEADLINES: dict[str, tuple[int, str]]  # by severity: a number of "h" (hours) or "d" (days)


def load(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the parsed configuration; raise ConfigurationError if it is invalid. Other keys in `overrides`
    are ignored.
    """
    raw = _merge(overrides, environ)
    database_url = _database_url(raw)
    if "SECRET_KEY" not in raw:
        raw = {**_require_utf8(_read_secrets(database_path(database_url))), **raw}
    settings = Settings(
        DATABASE_URL=database_url,
        DATABASE_READ_URL=_standbys(raw, database_url),
        SECRET_KEY=_keys(raw["SECRET_KEY"]),
        ANON_KEY=_text(raw, "ANON_KEY"),
        SERVICE_KEY=_text(raw, "SERVICE_KEY"),
        REQUIRE_APIKEY=_flag(raw, "REQUIRE_APIKEY", True),
        MAX_ROWS=_whole_number(raw, "MAX_ROWS", ROWS_MAX, 1),
        ACCESS_TOKEN_SECONDS=_whole_number(
            raw, "ACCESS_TOKEN_SECONDS", TOKEN_SECONDS, TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX
        ),
        CORS_ORIGINS=_origins(raw),
        TRUSTED_PROXIES=tuple(_network(text) for text in _text_list(raw, "TRUSTED_PROXIES")),
        TIMEZONE=_time_zone(raw),
        FINDING_DEADLINES=_finding_deadlines(raw),
    )
    _refuse_weak_keys(settings)
    return settings


def prepare(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Create the database's directory and the secrets file if they are missing; then return `load`."""
    raw = _merge(overrides, environ)
    path = database_path(_database_url(raw))
    if path is not None:
        _make_directory(path.parent)
        if "SECRET_KEY" not in raw:
            ensure_secrets(path)
    return load(overrides, environ)


def current_settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the settings that the server passed to its workers, or those of `prepare`."""
    if _inherited and overrides is None:
        return _inherited[-1]
    return prepare(overrides)


def has_default_database(overrides: Mapping[str, object] | None = None) -> bool:
    """Return whether no DATABASE_URL is set, so that the database is the default file."""
    return "DATABASE_URL" not in _merge(overrides, os.environ)


def set_inherited(settings: Settings) -> None:
    """Make all forked processes use these settings. Rereading the file could give two workers different keys."""
    _inherited[:] = [settings]


_inherited: list[Settings] = []


def is_missing_keys(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether `prepare` will create keys for an existing database, which invalidates all tokens."""
    raw = _merge(None, environ)
    path = database_path(_database_url(raw))
    if path is None or "SECRET_KEY" in raw:
        return False
    return path.exists() and not os.path.lexists(secrets_path(path))


def database_path(database_url: str) -> Path | None:
    """Return the file of an SQLite URL; None for another database, or for one in memory.

    >>> database_path("sqlite:////srv/walkthrough.db")
    PosixPath('/srv/walkthrough.db')
    >>> database_path("sqlite://"), database_path("postgresql://localhost/walkthrough")
    (None, None)
    """
    url = _parse_url("DATABASE_URL", database_url)
    if url.drivername not in DRIVERS:
        return None
    # SQLAlchemy may drop what follows a `?`, which would name another file.
    if "?" in database_url:
        raise ConfigurationError("DATABASE_URL takes a path after sqlite:///, which has no ? in it")
    if url.database in (None, "", ":memory:"):
        return None
    assert url.database is not None
    if url.database.startswith("file:"):
        raise ConfigurationError("DATABASE_URL takes a path after sqlite:///, not a file: URI")
    if url != sa.URL.create(url.drivername, database=url.database):
        raise ConfigurationError("DATABASE_URL takes a path after sqlite:///, and nothing else")
    if "\0" in url.database or not Path(url.database).name:
        raise ConfigurationError("DATABASE_URL names no file")
    # A relative path is relative to the project, not to the working directory.
    return Path(os.path.abspath(PROJECT / url.database))


def file_url(path: Path) -> str:
    """Return the URL of an SQLite file. Special characters in the path are escaped.

    >>> file_url(Path("/srv/100%/walkthrough.db"))
    'sqlite:////srv/100%25/walkthrough.db'
    """
    return sa.URL.create("sqlite", database=str(path)).render_as_string()


def secrets_path(database: Path) -> Path:
    return database.parent / SECRETS_NAME


def ensure_secrets(database: Path) -> Path:
    """Create the secrets file beside the database if it is missing, and return its path."""
    path = secrets_path(database)
    if not os.path.lexists(path):
        make_secrets(path)
    return path


def make_secrets(path: Path) -> None:
    """Write new keys to `path`, mode 0600, atomically.

    If two processes start at once, both use the keys of the first: unlike a rename, a link never replaces an
    existing file.
    """
    _make_directory(path.parent)
    drawn = {
        "SECRET_KEY": secrets.token_urlsafe(48),
        "ANON_KEY": "sb_publishable_" + secrets.token_urlsafe(24),
        "SERVICE_KEY": "sb_secret_" + secrets.token_urlsafe(48),
    }
    try:
        _write_once(path, drawn)
    except OSError as error:
        # The disk is full, the directory is not writable, or the file system (FAT) has no links.
        raise ConfigurationError(
            f"{path} cannot be created ({error.strerror}); set SECRET_KEY, ANON_KEY and SERVICE_KEY instead"
        ) from error


def _write_once(path: Path, drawn: Mapping[str, object]) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, drawn)
        try:
            os.link(draft, path, follow_symlinks=False)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)


def _write_new(path: Path, drawn: Mapping[str, object], like: Path | None = None) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        if like is not None and os.geteuid() == 0:  # the service's user must still be able to read it
            status = like.lstat()
            os.fchown(descriptor, status.st_uid, status.st_gid)
        json.dump(drawn, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def renew_signing_key(database: Path, used: Sequence[str]) -> None:
    """Replace the SECRET_KEY in the secrets file atomically. Raise ConfigurationError if the keys in use are
    not the file's.
    """
    path = secrets_path(database)
    stored = _read_secrets_file(path)
    if _keys(stored["SECRET_KEY"]) != list(used):
        raise ConfigurationError(f"the SECRET_KEY in use is not the one in {path}")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, {**stored, "SECRET_KEY": secrets.token_urlsafe(48)}, like=path)
        draft.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def bind_address(environ: Mapping[str, str] = os.environ) -> tuple[str, int]:
    """Return the address to listen on: HOST and PORT, by default 127.0.0.1 and 8000."""
    port = _whole_number(environ, "PORT", PORT, 1, 65_535)
    return environ.get("HOST", "").strip() or "127.0.0.1", port


def log_level(environ: Mapping[str, str] = os.environ) -> str:
    """Return LOG_LEVEL, by default info, which logs each request.

    >>> log_level({}), log_level({"LOG_LEVEL": "WARNING"})
    ('info', 'warning')
    """
    value = environ.get("LOG_LEVEL", "").strip().lower() or "info"
    if value not in LOG_LEVELS:
        raise ConfigurationError(f"LOG_LEVEL is one of {', '.join(LOG_LEVELS)}, not '{value}'")
    return value


def keepalive_seconds(environ: Mapping[str, str] = os.environ) -> int:
    """Return KEEPALIVE_SECONDS: how long an idle connection stays open.

    >>> keepalive_seconds({}), keepalive_seconds({"KEEPALIVE_SECONDS": "5"})
    (75, 5)
    """
    return _whole_number(environ, "KEEPALIVE_SECONDS", KEEPALIVE_SECONDS, 1, KEEPALIVE_SECONDS_MAX)


def set_metrics_directory(directory: Path | None) -> None:
    """Make all processes that start from now on count in files in `directory`. None: each counts in memory."""
    if directory is None:
        os.environ.pop(METRICS_VARIABLE, None)
    else:
        os.environ[METRICS_VARIABLE] = str(directory)


def is_loopback(host: str) -> bool:
    """Return whether `host` is reachable from this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0")]
    [True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def environment(**changes: str) -> dict[str, str]:
    """Return a copy of the environment with these changes, for a child process."""
    return {**os.environ, **changes}


def refuse_debugging(environ: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigurationError if a debug or test switch is set: error pages would reveal code and data."""
    for name in ("FLASK_DEBUG", "FLASK_TESTING", "DEBUG", "TESTING"):
        if environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off"):
            raise ConfigurationError(f"{name} is set: the server does not run with it")


def refuse_arguments(environ: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigurationError for GUNICORN_CMD_ARGS, which would override the settings of gunicorn.conf.py."""
    if environ.get("GUNICORN_CMD_ARGS", "").strip():
        raise ConfigurationError("GUNICORN_CMD_ARGS is set: the settings are those of gunicorn.conf.py")


def _merge(overrides: Mapping[str, object] | None, environ: Mapping[str, str]) -> dict[str, object]:
    """Return the overrides and the environment, merged. An empty text is ignored (`SERVICE_KEY=` in an env file)."""
    names = Settings.__annotations__
    merged: dict[str, object] = {name: environ[name] for name in names if environ.get(name)}
    if isinstance(merged.get("SECRET_KEY"), str):
        merged["SECRET_KEY"] = _split("SECRET_KEY", str(merged["SECRET_KEY"]))
    for name in names:
        if overrides is not None and overrides.get(name) is not None:
            merged[name] = overrides[name]
    return _require_utf8(merged)


def _require_utf8(raw: dict[str, object]) -> dict[str, object]:
    """Return the settings; raise ConfigurationError for a text that is not UTF-8 or contains a zero byte."""
    for name, value in raw.items():
        for text in value if isinstance(value, list | tuple) else (value,):
            if isinstance(text, str) and not _is_text(text):
                raise ConfigurationError(f"{name} is not UTF-8 text, or holds a zero byte")
    return raw


def _is_text(text: str) -> bool:
    """Return whether a text is valid. Environment bytes that are not UTF-8 arrive as lone surrogates.

    >>> [_is_text(text) for text in ("é", b"\\xe9".decode(errors="surrogateescape"), "\\0")]
    [True, False, False]
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _database_url(raw: Mapping[str, object]) -> str:
    value = _text(raw, "DATABASE_URL")
    if value is None:
        return file_url(PROJECT / "instance" / "walkthrough.db")
    path = database_path(value)
    if path is None:
        return value
    return sa.make_url(value).set(database=str(path)).render_as_string(hide_password=False)


def _parse_url(name: str, value: str) -> sa.URL:
    """Parse the URL of an SQLite file or a PostgreSQL server. The path is not checked."""
    try:
        url = sa.make_url(value)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: an invalid port
        raise ConfigurationError(f"{name} is not a database URL") from error
    if url.drivername not in DRIVERS and url.get_backend_name() != "postgresql":
        raise ConfigurationError(
            f"{name} begins with sqlite:/// or postgresql+psycopg://, not with {url.drivername}://"
        )
    return url


def _standbys(raw: Mapping[str, object], database_url: str) -> tuple[str, ...]:
    value = tuple(_text_list(raw, "DATABASE_READ_URL"))
    if not value:
        return ()
    if _parse_url("DATABASE_URL", database_url).drivername in DRIVERS:
        raise ConfigurationError("DATABASE_READ_URL is set, but DATABASE_URL is a file, which has no standbys")
    if any(_parse_url("DATABASE_READ_URL", each).drivername in DRIVERS for each in value):
        raise ConfigurationError("DATABASE_READ_URL is a list of URLs like DATABASE_URL's")
    return value


def _read_secrets(database: Path | None) -> dict[str, object]:
    if database is None:
        raise ConfigurationError("SECRET_KEY is not set, and this database has no secrets file")
    stored = _read_secrets_file(secrets_path(database))
    return {name: stored[name] for name in KEY_NAMES if name in stored}


def _read_secrets_file(path: Path) -> dict[str, object]:
    """Return the content of a secrets file with a SECRET_KEY; raise ConfigurationError otherwise."""
    try:
        # O_NONBLOCK: opening a pipe must not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise ConfigurationError(f"SECRET_KEY is not set, and there is no {path}") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    try:
        stored = _read_private(path, descriptor)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not JSON") from error
    if not isinstance(stored, dict) or "SECRET_KEY" not in stored:
        raise ConfigurationError(f"{path} holds no SECRET_KEY")
    return stored


def _read_private(path: Path, descriptor: int) -> object:
    status = os.fstat(descriptor)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError(f"{path} is not a regular file")
        if stat.S_IMODE(status.st_mode) & 0o077:
            raise ConfigurationError(f"{path} can be read by others: chmod 600 it")
        return json.load(file)


def _refuse_weak_keys(settings: Settings) -> None:
    signing, service = settings["SECRET_KEY"], settings["SERVICE_KEY"]
    if any(len(key.encode()) < KEY_BYTES_MIN for key in signing):
        raise ConfigurationError(f"SECRET_KEY is shorter than {KEY_BYTES_MIN} bytes")
    if service is not None and len(service.encode()) < KEY_BYTES_MIN:
        raise ConfigurationError(f"SERVICE_KEY is shorter than {KEY_BYTES_MIN} bytes")
    distinct = [*set(signing), settings["ANON_KEY"], service]
    present = [key for key in distinct if key is not None]
    if len(set(present)) < len(present):
        raise ConfigurationError("SECRET_KEY, ANON_KEY and SERVICE_KEY must differ")


def _keys(value: object) -> list[str]:
    keys = [value] if isinstance(value, str) else value
    if not isinstance(keys, list | tuple) or not keys:
        raise ConfigurationError("SECRET_KEY is a text or a list of texts")
    if not all(isinstance(key, str) for key in keys):
        raise ConfigurationError("SECRET_KEY is a text or a list of texts")
    return list(keys)


def _text(raw: Mapping[str, object], name: str) -> str | None:
    value = raw.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} is a text")
    return value


def _flag(raw: Mapping[str, object], name: str, default: bool) -> bool:
    value = raw.get(name, default)
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ConfigurationError(f"{name} is 1 or 0, not '{value}'")


def _whole_number(raw: Mapping[str, object], name: str, default: int, minimum: int, maximum: int = 2**31 - 1) -> int:
    value = str(default if raw.get(name) in (None, "") else raw[name]).strip()
    if not (value.isascii() and value.isdigit() and len(value) < 12):
        raise ConfigurationError(f"{name} is a whole number, not '{value}'")
    if not minimum <= int(value) <= maximum:
        raise ConfigurationError(f"{name} lies between {minimum} and {maximum}, not at {value}")
    return int(value)


def _origins(raw: Mapping[str, object]) -> tuple[str, ...] | None:
    value = _text_list(raw, "CORS_ORIGINS")
    if not value or value == ["*"]:
        return tuple(value) or None
    return tuple(_origin(text) for text in value)


def _origin(text: str) -> str:
    """Return an origin as browsers send it.

    >>> _origin("HTTPS://App.example:8443"), _origin("capacitor://localhost")
    ('https://app.example:8443', 'capacitor://localhost')
    """
    try:
        parts = urlsplit(text)
        is_origin = bool(parts.scheme and parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:  # an incomplete IPv6 address, or an invalid port
        is_origin = False
    if not is_origin:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' is not an origin such as https://app.example")
    if text.count("/") != 2 or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' is more than scheme, host and port")
    if "*" in text:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' would match no origin: '*' stands alone")
    return text.lower()


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise ConfigurationError(f"TRUSTED_PROXIES: '{text}' is not an address or network") from error


def _time_zone(raw: Mapping[str, object]) -> str:
    name = _text(raw, "TIMEZONE") or TIMEZONE
    if name == TIMEZONE:  # needs no time zone database
        return name
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ConfigurationError(f"TIMEZONE: '{name}' is not an IANA name such as America/New_York") from error
    return name


def _finding_deadlines(raw: Mapping[str, object]) -> dict[str, tuple[int, str]]:
    deadlines, defaults = (
        parse_deadlines(_text(raw, "FINDING_DEADLINES") or FINDING_DEADLINES),
        parse_deadlines(FINDING_DEADLINES),
    )
    unknown, missing = sorted(deadlines.keys() - defaults), sorted(defaults.keys() - deadlines)
    if unknown:
        raise ConfigurationError(f"FINDING_DEADLINES: '{unknown[0]}' is none of the severities {', '.join(defaults)}")
    if missing:
        raise ConfigurationError(f"FINDING_DEADLINES has no deadline for {', '.join(missing)}")
    return deadlines


def parse_deadlines(text: str) -> dict[str, tuple[int, str]]:
    """Return the number and the unit of each severity.

    >>> parse_deadlines("severe=24h, low=60d")
    {'severe': (24, 'h'), 'low': (60, 'd')}
    """
    deadlines: dict[str, tuple[int, str]] = {}
    for part in map(str.strip, text.split(",")):
        found = DEADLINE_TEXT.fullmatch(part)
        if found is None:
            raise ConfigurationError(f"FINDING_DEADLINES: '{part}' is no severity with hours or days, as in low=60d")
        severity, number, unit = found[1], int(found[2]), found[3]
        if number > DEADLINES_MAX[unit]:
            raise ConfigurationError(f"FINDING_DEADLINES: '{part}' is more than {DEADLINES_MAX[unit]}{unit}")
        if severity in deadlines:
            raise ConfigurationError(f"FINDING_DEADLINES names '{severity}' twice")
        deadlines[severity] = (number, unit)
    return deadlines


def _text_list(raw: Mapping[str, object], name: str) -> list[str]:
    value = raw.get(name)
    if value is None:
        return []
    entries = _split(name, value) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple) or not all(isinstance(text, str) for text in entries):
        raise ConfigurationError(f"{name} is a list of texts")
    return list(entries)


def _split(name: str, text: str) -> list[str]:
    """Parse a list: comma-separated or JSON.

    >>> _split("CORS_ORIGINS", "https://a.example, https://b.example")
    ['https://a.example', 'https://b.example']
    >>> _split("SECRET_KEY", '["old,key", "new"]')
    ['old,key', 'new']
    """
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        entries = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} starts with [ but is not a JSON list") from error
    if not isinstance(entries, list) or not all(isinstance(part, str) for part in entries):
        raise ConfigurationError(f"{name} is a list of texts")
    return entries


def _make_directory(path: Path) -> None:
    """Create a directory and its missing parents, and sync them to disk."""
    try:
        if not path.is_dir():
            missing = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in missing:
                _sync_directory(each.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be created: {error.strerror}") from error


def _sync_directory(path: Path) -> None:
    """Sync a directory, so that a new name in it survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _one_line(message: str) -> str:
    """Return a message on one line: unprintable characters are escaped.

    >>> _one_line("MAX_ROWS is a whole number, not 'é\\n1'")
    "MAX_ROWS is a whole number, not 'é\\\\n1'"
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in message)
