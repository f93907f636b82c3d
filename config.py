"""The configuration. This is the only module that reads the environment; `settings` declares the settings.

Overrides of `create_app` take precedence over the environment, and the environment over the secrets file.
`prepare` or `make_secrets` creates that file beside the database. An invalid value raises ConfigurationError.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import click
import sqlalchemy as sa

import settings
from settings import (
    APPLICATION_SETTINGS,
    PROCESS_SETTINGS,
    SETTINGS,
    ProcessSettings,
    Settings,
    database_path,
    file_url,
)
from system import sync

__version__ = "0.1.0"

PROJECT = settings.PROJECT
DEMONSTRATION = PROJECT / "instance" / "demo.db"
SECRETS_NAME = "keys.json"
CREATE_SUPER_ADMIN = ".venv/bin/flask --app app create-user you@example.org --role super_admin"
"""The command that creates the first user, to run in PROJECT, for the default database."""

KEY_BYTES_MIN = 32  # HS256 requires a key of at least the hash's length (RFC 7518, section 3.2)
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus-client counts in files if it is set


class ConfigurationError(click.ClickException):
    """The configuration is invalid. The message is one line and contains no secret. A command prints it and exits."""

    def __init__(self, message: str) -> None:
        super().__init__(_one_line(message))


def load(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the parsed configuration; raise ConfigurationError if it is invalid. Other keys in `overrides`
    are ignored.
    """
    raw = _merge(overrides, environ)
    if "SECRET_KEY" not in raw:
        raw = {**_require_utf8(_read_secrets(_database(raw))), **raw}
    parsed = cast("Settings", {name: _parse(name, raw.get(name)) for name in APPLICATION_SETTINGS})
    if raw.get("FILES_DIR") is None:
        parsed["FILES_DIR"] = settings.files_folder(_database(raw))
    parsed["TIMEZONE"] = parsed["TIMEZONE"] or settings.machine_time_zone(environ.get("TZ"))
    if parsed["DATABASE_READ_URL"] and sa.make_url(parsed["DATABASE_URL"]).get_backend_name() == "sqlite":
        raise ConfigurationError("DATABASE_READ_URL is set, but DATABASE_URL is a file, which has no standbys")
    _refuse_weak_keys(parsed)
    return parsed


def prepare(overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Create the database's directory and the secrets file if they are missing; then return `load`."""
    raw = _merge(overrides, environ)
    path = _database(raw)
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


def database_name(database_url: str) -> str:
    """Return the path of a file, or the URL of a server without user, password and options.

    >>> database_name("postgresql+psycopg://u:p@h/d?sslmode=require"), database_name("sqlite:////srv/w.db")
    ('postgresql+psycopg://h/d', '/srv/w.db')
    """
    path = database_path(database_url)
    url = sa.make_url(database_url)
    server = sa.URL.create(url.drivername, host=url.host, port=url.port, database=url.database)
    return str(path) if path is not None else server.render_as_string()


def create_super_admin(database_url: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the command that creates the first user in this database. It names a file, and no password of a server.

    >>> create_super_admin("sqlite:////srv/w.db", {"DATABASE_URL": "sqlite:////srv/w.db"}).partition(" ")[0]
    'DATABASE_URL=sqlite:////srv/w.db'
    >>> create_super_admin("postgresql+psycopg://u:p@h/d", {"DATABASE_URL": "…"}).partition(" ")[0]
    'DATABASE_URL="$DATABASE_URL"'
    """
    if "DATABASE_URL" not in environ:
        return CREATE_SUPER_ADMIN
    path = database_path(database_url)
    named = shlex.quote(file_url(path)) if path is not None else '"$DATABASE_URL"'
    return f"DATABASE_URL={named} {CREATE_SUPER_ADMIN}"


def set_inherited(parsed: Settings) -> None:
    """Make all forked processes use these settings. Rereading the file could give two workers different keys."""
    _inherited[:] = [parsed]


_inherited: list[Settings] = []


def is_missing_keys(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether `prepare` will create keys for an existing database, which invalidates all tokens."""
    path = database_file(environ)
    is_drawn = "SECRET_KEY" not in _merge(None, environ)
    return path is not None and is_drawn and path.exists() and not os.path.lexists(secrets_path(path))


def database_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file of DATABASE_URL, which may be missing; None for another database."""
    return _database(_merge(None, environ))


def process_settings(environ: Mapping[str, str] = os.environ) -> ProcessSettings:
    """Return the settings of the process; raise ConfigurationError if one is invalid.

    >>> process_settings({"PORT": "81", "LOG_LEVEL": "WARNING"})
    {'HOST': '127.0.0.1', 'PORT': 81, 'KEEPALIVE_SECONDS': 75, 'LOG_LEVEL': 'warning'}
    """
    parsed = {name: _parse(name, environ.get(name, "").strip()) for name in PROCESS_SETTINGS}
    return cast("ProcessSettings", parsed)


def time_zone(environ: Mapping[str, str] = os.environ) -> str:
    """Return TIMEZONE, or the zone of this machine."""
    return _parse("TIMEZONE", environ.get("TIMEZONE")) or settings.machine_time_zone(environ.get("TZ"))


def _merge(overrides: Mapping[str, object] | None, environ: Mapping[str, str]) -> dict[str, object]:
    """Return the overrides and the environment, merged. An empty text is ignored (`SERVICE_KEY=` in an env file).

    Raise ConfigurationError for an empty ANON_KEY: ignored, it would leave the key of keys.json in force, or none.
    """
    for given in (environ, overrides or {}):
        key = given.get("ANON_KEY")
        if isinstance(key, str) and not key.strip():
            raise ConfigurationError("ANON_KEY is empty: set a key, or leave the setting out")
    merged: dict[str, object] = {name: environ[name] for name in APPLICATION_SETTINGS if environ.get(name)}
    for name in APPLICATION_SETTINGS:
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


def _parse(name: str, value: object) -> Any:
    """Return the value of a setting. A setting that is empty has its default."""
    setting = SETTINGS[name]
    if value in (None, ""):
        value = setting.default
    try:
        return None if value is None else setting.parse(value)
    except ValueError as error:
        raise ConfigurationError(f"{name} {error}") from error


def _database(raw: Mapping[str, object]) -> Path | None:
    return database_path(_parse("DATABASE_URL", raw.get("DATABASE_URL")))


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
    sync(path.parent)


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
    if _parse("SECRET_KEY", stored["SECRET_KEY"]) != list(used):
        raise ConfigurationError(f"the SECRET_KEY in use is not the one in {path}")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, {**stored, "SECRET_KEY": secrets.token_urlsafe(48)}, like=path)
        draft.replace(path)
        sync(path.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def _read_secrets(database: Path | None) -> dict[str, object]:
    if database is None:
        raise ConfigurationError("SECRET_KEY is not set, and this database has no secrets file")
    stored = _read_secrets_file(secrets_path(database))
    return {name: stored[name] for name, setting in SETTINGS.items() if setting.is_secret and name in stored}


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


def _refuse_weak_keys(parsed: Settings) -> None:
    signing, service = parsed["SECRET_KEY"], parsed["SERVICE_KEY"]
    if any(len(key.encode()) < KEY_BYTES_MIN for key in signing):
        raise ConfigurationError(f"SECRET_KEY is shorter than {KEY_BYTES_MIN} bytes")
    if service is not None and len(service.encode()) < KEY_BYTES_MIN:
        raise ConfigurationError(f"SERVICE_KEY is shorter than {KEY_BYTES_MIN} bytes")
    distinct = [*set(signing), parsed["ANON_KEY"], service]
    present = [key for key in distinct if key is not None]
    if len(set(present)) < len(present):
        raise ConfigurationError("SECRET_KEY, ANON_KEY and SERVICE_KEY must differ")


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


def environment() -> dict[str, str]:
    """Return a copy of the environment, for a child process."""
    return dict(os.environ)


def set_environment(**changes: str | None) -> None:
    """Change settings in the environment of this process and its children. None leaves a setting as it is."""
    os.environ.update({name: text for name, text in changes.items() if text is not None})


def refuse_debugging(environ: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigurationError if a debug or test switch is set: error pages would reveal code and data."""
    for name in ("FLASK_DEBUG", "FLASK_TESTING", "DEBUG", "TESTING"):
        if environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off"):
            raise ConfigurationError(f"{name} is set: the server does not run with it")


def refuse_arguments(environ: Mapping[str, str] = os.environ) -> None:
    """Raise ConfigurationError for GUNICORN_CMD_ARGS, which would override the settings of gunicorn.conf.py."""
    if environ.get("GUNICORN_CMD_ARGS", "").strip():
        raise ConfigurationError("GUNICORN_CMD_ARGS is set: the settings are those of gunicorn.conf.py")


def _make_directory(path: Path) -> None:
    """Create a directory and its missing parents, and sync them to disk."""
    try:
        if not path.is_dir():
            missing = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in missing:
                sync(each.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be created: {error.strerror}") from error


def _one_line(message: str) -> str:
    """Return a message on one line: unprintable characters are escaped.

    >>> _one_line("MAX_ROWS is a whole number, not 'é\\n1'")
    "MAX_ROWS is a whole number, not 'é\\\\n1'"
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in message)
