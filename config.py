"""Where does the configuration come from? The environment is read here and nowhere else.

What `create_app` is given wins over the environment, the environment over the secrets file, which
lies beside the database and is made once, by `prepare` or `make_secrets`, never by an import and
never by a default. What is wrong with any of it is one sentence in a `ConfigurationError`.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import stat
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict
from urllib.parse import urlsplit

import click
import sqlalchemy as sa

__version__ = "0.1.0"

PROJECT = Path(__file__).resolve().parent
SECRETS_NAME = "keys.json"

KEY_BYTES_MIN = 32  # an HS256 key is at least as long as its hash (RFC 7518, section 3.2)
ROWS_MAX = 1_000  # what a response holds unless told otherwise
TOKEN_SECONDS = 3_600
TOKEN_SECONDS_MIN = 120  # clients refresh 90 s before the end: below it, without pause
TOKEN_SECONDS_MAX = 7 * 24 * 3_600  # sessions are for longer; a week is generous
PORT = 8_000
COUNTING = "PROMETHEUS_MULTIPROC_DIR"  # by which prometheus-client counts in files
KEEPALIVE_SECONDS = 75
KEEPALIVE_SECONDS_MAX = 3_600
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
DRIVERS = ("sqlite", "sqlite+pysqlite")  # of a file; PostgreSQL's is psycopg, whatever a URL says
KEY_NAMES = ("SECRET_KEY", "ANON_KEY", "SERVICE_KEY")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ConfigurationError(click.ClickException):
    """The service cannot start as configured. The message is one line, and names no secret; on the command line
    it is all that is said."""

    def __init__(self, message: str) -> None:
        super().__init__(_in_one_line(message))


class Settings(TypedDict):
    """The configuration, parsed: Flask takes it as it is (`app.config.from_mapping`)."""

    DATABASE_URL: str
    DATABASE_READ_URL: tuple[str, ...]  # hot standbys of DATABASE_URL
    SECRET_KEY: list[str]  # the last one signs, all verify
    ANON_KEY: str | None  # None: nothing equals it
    SERVICE_KEY: str | None
    REQUIRE_APIKEY: bool
    MAX_ROWS: int
    ACCESS_TOKEN_SECONDS: int
    CORS_ORIGINS: tuple[str, ...] | None  # None: localhost on any port; ("*",): any
    TRUSTED_PROXIES: tuple[Network, ...]


def load(
    overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Parse the configuration and change nothing. Keys of others in `overrides` are left alone."""
    given = _given(overrides, environ)
    database_url = _database_url(given)
    if "SECRET_KEY" not in given:
        given = {**_readable(_read_secrets(database_path(database_url))), **given}
    settings = Settings(
        DATABASE_URL=database_url,
        DATABASE_READ_URL=_standbys(given, database_url),
        SECRET_KEY=_keys(given["SECRET_KEY"]),
        ANON_KEY=_text(given, "ANON_KEY"),
        SERVICE_KEY=_text(given, "SERVICE_KEY"),
        REQUIRE_APIKEY=_flag(given, "REQUIRE_APIKEY", True),
        MAX_ROWS=_whole_number(given, "MAX_ROWS", ROWS_MAX, 1),
        ACCESS_TOKEN_SECONDS=_whole_number(
            given, "ACCESS_TOKEN_SECONDS", TOKEN_SECONDS, TOKEN_SECONDS_MIN, TOKEN_SECONDS_MAX
        ),
        CORS_ORIGINS=_origins(given),
        TRUSTED_PROXIES=tuple(_network(text) for text in _listed(given, "TRUSTED_PROXIES")),
    )
    _refuse_weak_keys(settings)
    return settings


def prepare(
    overrides: Mapping[str, object] | None = None, environ: Mapping[str, str] = os.environ
) -> Settings:
    """Make what a first start needs (the database's directory, the secrets), then `load`."""
    given = _given(overrides, environ)
    path = database_path(_database_url(given))
    if path is not None:
        _make_directory(path.parent)
        if "SECRET_KEY" not in given:
            ensure_secrets(path)
    return load(overrides, environ)


def in_force(overrides: Mapping[str, object] | None = None) -> Settings:
    """What the server has in force, in the processes that it forks; where there is none, `prepare`."""
    if _handed_down and overrides is None:
        return _handed_down[-1]
    return prepare(overrides)


def hand_down(settings: Settings) -> None:
    """Have all processes that are forked from here go by these settings: the file may be another one by then, or none,
    and of two workers one would refuse what the other has signed."""
    _handed_down[:] = [settings]


_handed_down: list[Settings] = []


def has_lost_keys(environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether `prepare` is about to draw keys for a database that is there, which others have signed for."""
    given = _given(None, environ)
    path = database_path(_database_url(given))
    if path is None or "SECRET_KEY" in given:
        return False
    return path.exists() and not os.path.lexists(secrets_path(path))


def database_path(database_url: str) -> Path | None:
    """Say which file an SQLite URL means; None for another database, or one in memory.

    >>> database_path("sqlite:////srv/walkthrough.db")
    PosixPath('/srv/walkthrough.db')
    >>> database_path("sqlite://"), database_path("postgresql://localhost/walkthrough")
    (None, None)
    """
    url = _url("DATABASE_URL", database_url)
    if url.drivername not in DRIVERS:
        return None
    if (
        "?" in database_url
    ):  # what follows may be dropped without a word, and the path were another file's
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
    # A relative path starts at the project, whatever directory a command is given in.
    return Path(os.path.abspath(PROJECT / url.database))


def file_url(path: Path) -> str:
    """The URL of an SQLite file, whatever is in its path: the project may lie in `feature%2Fx`, or below a `?`.

    >>> file_url(Path("/srv/100%/walkthrough.db"))
    'sqlite:////srv/100%25/walkthrough.db'
    """
    return sa.URL.create("sqlite", database=str(path)).render_as_string()


def secrets_path(database: Path) -> Path:
    return database.parent / SECRETS_NAME


def ensure_secrets(database: Path) -> Path:
    """Make the secrets beside this database, unless they are there."""
    path = secrets_path(database)
    if not os.path.lexists(path):
        make_secrets(path)
    return path


def make_secrets(path: Path) -> None:
    """Draw new keys and write them to `path`, mode 0600, whole or not at all.

    Of two processes that start at once one wins, and both go on with the winner's keys: a link,
    unlike a rename, never takes the place of a file that is there.
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
        # No room, no right, or a file system without links (FAT), where it could not be whole or not at all.
        raise ConfigurationError(
            f"{path} cannot be made ({error.strerror}); without it set SECRET_KEY, ANON_KEY and SERVICE_KEY"
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
        if like is not None and os.geteuid() == 0:  # whom the service runs as is to read it yet
            found = like.lstat()
            os.fchown(descriptor, found.st_uid, found.st_gid)
        json.dump(drawn, file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def renew_signing_key(database: Path, used: Sequence[str]) -> None:
    """Have the secrets beside this database hold a new SECRET_KEY, drawn here, and no older one: the file is there
    whole, the old or the new one. ConfigurationError where the keys in use are not the file's."""
    path = secrets_path(database)
    kept = _read_kept(path)
    if _keys(kept["SECRET_KEY"]) != list(used):
        raise ConfigurationError(f"the SECRET_KEY in use is not the one in {path}")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        _write_new(draft, {**kept, "SECRET_KEY": secrets.token_urlsafe(48)}, like=path)
        draft.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def bind_address(environ: Mapping[str, str] = os.environ) -> tuple[str, int]:
    """Say where to listen: HOST and PORT, else this machine only, at 8000."""
    port = _whole_number(environ, "PORT", PORT, 1, 65_535)
    return environ.get("HOST", "").strip() or "127.0.0.1", port


def log_level(environ: Mapping[str, str] = os.environ) -> str:
    """Say from which level on the server logs: LOG_LEVEL, else info, which has a line a request.

    >>> log_level({}), log_level({"LOG_LEVEL": "WARNING"})
    ('info', 'warning')
    """
    stated = environ.get("LOG_LEVEL", "").strip().lower() or "info"
    if stated not in LOG_LEVELS:
        raise ConfigurationError(f"LOG_LEVEL is one of {', '.join(LOG_LEVELS)}, not '{stated}'")
    return stated


def keepalive_seconds(environ: Mapping[str, str] = os.environ) -> int:
    """Return for how many seconds an idle connection stays open: KEEPALIVE_SECONDS.

    >>> keepalive_seconds({}), keepalive_seconds({"KEEPALIVE_SECONDS": "5"})
    (75, 5)
    """
    return _whole_number(environ, "KEEPALIVE_SECONDS", KEEPALIVE_SECONDS, 1, KEEPALIVE_SECONDS_MAX)


def count_in(directory: Path | None) -> None:
    """Have every process started from here on count for /metrics in files in `directory`; None: each for itself."""
    if directory is None:
        os.environ.pop(COUNTING, None)
    else:
        os.environ[COUNTING] = str(directory)


def is_loopback(host: str) -> bool:
    """Say whether nobody but this machine reaches `host`.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0")]
    [True, True, True, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def environment(**changes: str) -> dict[str, str]:
    """Copy the environment for a process that is started from here."""
    return {**os.environ, **changes}


def refuse_debugging(environ: Mapping[str, str] = os.environ) -> None:
    """A debugger or a testing switch has no place in a server: it answers with code and data."""
    for name in ("FLASK_DEBUG", "FLASK_TESTING", "DEBUG", "TESTING"):
        if environ.get(name, "").strip().lower() not in ("", "0", "false", "no", "off"):
            raise ConfigurationError(f"{name} is set: the server does not run with it")


def refuse_arguments(environ: Mapping[str, str] = os.environ) -> None:
    """What gunicorn reads besides would go over its settings here, without a word: another address, no workers."""
    if environ.get("GUNICORN_CMD_ARGS", "").strip():
        raise ConfigurationError(
            "GUNICORN_CMD_ARGS is set: the settings are those of gunicorn.conf.py"
        )


def _given(overrides: Mapping[str, object] | None, environ: Mapping[str, str]) -> dict[str, object]:
    """Merge what was said, an empty text counting as not said (`SERVICE_KEY=` in an env file)."""
    names = Settings.__annotations__
    found: dict[str, object] = {name: environ[name] for name in names if environ.get(name)}
    if isinstance(found.get("SECRET_KEY"), str):
        found["SECRET_KEY"] = _split("SECRET_KEY", str(found["SECRET_KEY"]))
    for name in names:
        if overrides is not None and overrides.get(name) is not None:
            found[name] = overrides[name]
    return _readable(found)


def _readable(given: dict[str, object]) -> dict[str, object]:
    """What was said, all texts of which can be written in UTF-8 and as names of files."""
    for name, stated in given.items():
        for text in stated if isinstance(stated, list | tuple) else (stated,):
            if isinstance(text, str) and not _is_text(text):
                raise ConfigurationError(f"{name} is no UTF-8 text, or holds a zero byte")
    return given


def _is_text(text: str) -> bool:
    """Whether a text is one: the bytes of an environment that are no UTF-8 come as halves of characters.

    >>> [_is_text(text) for text in ("é", b"\\xe9".decode(errors="surrogateescape"), "\\0")]
    [True, False, False]
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def _database_url(given: Mapping[str, object]) -> str:
    stated = _text(given, "DATABASE_URL")
    if stated is None:
        return file_url(PROJECT / "instance" / "walkthrough.db")
    path = database_path(stated)
    if path is None:
        return stated
    return sa.make_url(stated).set(database=str(path)).render_as_string(hide_password=False)


def _url(name: str, stated: str) -> sa.URL:
    """Read a database's URL, of a file or of a PostgreSQL server; a path is not looked at."""
    try:
        url = sa.make_url(stated)
    except (sa.exc.ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise ConfigurationError(f"{name} is not a database URL") from error
    if url.drivername not in DRIVERS and url.get_backend_name() != "postgresql":
        raise ConfigurationError(
            f"{name} begins with sqlite:/// or postgresql+psycopg://, not with {url.drivername}://"
        )
    return url


def _standbys(given: Mapping[str, object], database_url: str) -> tuple[str, ...]:
    stated = tuple(_listed(given, "DATABASE_READ_URL"))
    if not stated:
        return ()
    if _url("DATABASE_URL", database_url).drivername in DRIVERS:
        raise ConfigurationError(
            "DATABASE_READ_URL is set, and DATABASE_URL is a file, of which there are no standbys"
        )
    if any(_url("DATABASE_READ_URL", each).drivername in DRIVERS for each in stated):
        raise ConfigurationError("DATABASE_READ_URL is a list of URLs like DATABASE_URL's")
    return stated


def _read_secrets(database: Path | None) -> dict[str, object]:
    if database is None:
        raise ConfigurationError("SECRET_KEY is not set, and this database has no place for a file")
    kept = _read_kept(secrets_path(database))
    return {name: kept[name] for name in KEY_NAMES if name in kept}


def _read_kept(path: Path) -> dict[str, object]:
    """All that a secrets file holds, a SECRET_KEY among it."""
    try:
        # Not waiting, as for a pipe in its place.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise ConfigurationError(f"SECRET_KEY is not set, and there is no {path}") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    try:
        kept = _read_private(path, descriptor)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} is not JSON") from error
    if not isinstance(kept, dict) or "SECRET_KEY" not in kept:
        raise ConfigurationError(f"{path} holds no SECRET_KEY")
    return kept


def _read_private(path: Path, descriptor: int) -> object:
    found = os.fstat(descriptor)
    with os.fdopen(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(found.st_mode):
            raise ConfigurationError(f"{path} is not a regular file")
        if stat.S_IMODE(found.st_mode) & 0o077:
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
        raise ConfigurationError("SECRET_KEY, ANON_KEY and SERVICE_KEY have to differ")


def _keys(stated: object) -> list[str]:
    keys = [stated] if isinstance(stated, str) else stated
    if not isinstance(keys, list | tuple) or not keys:
        raise ConfigurationError("SECRET_KEY is a text or a list of texts")
    if not all(isinstance(key, str) for key in keys):
        raise ConfigurationError("SECRET_KEY is a text or a list of texts")
    return list(keys)


def _text(given: Mapping[str, object], name: str) -> str | None:
    stated = given.get(name)
    if stated is None or stated == "":
        return None
    if not isinstance(stated, str):
        raise ConfigurationError(f"{name} is a text")
    return stated


def _flag(given: Mapping[str, object], name: str, default: bool) -> bool:
    stated = given.get(name, default)
    if isinstance(stated, bool):
        return stated
    word = str(stated).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ConfigurationError(f"{name} is 1 or 0, not '{stated}'")


def _whole_number(
    given: Mapping[str, object], name: str, default: int, least: int, most: int = 2**31 - 1
) -> int:
    stated = str(default if given.get(name) in (None, "") else given[name]).strip()
    if not (stated.isascii() and stated.isdigit() and len(stated) < 12):
        raise ConfigurationError(f"{name} is a whole number, not '{stated}'")
    if not least <= int(stated) <= most:
        raise ConfigurationError(f"{name} lies between {least} and {most}, not at {stated}")
    return int(stated)


def _origins(given: Mapping[str, object]) -> tuple[str, ...] | None:
    stated = _listed(given, "CORS_ORIGINS")
    if not stated or stated == ["*"]:
        return tuple(stated) or None
    return tuple(_origin(text) for text in stated)


def _origin(text: str) -> str:
    """Read one origin as browsers send it.

    >>> _origin("HTTPS://App.example:8443"), _origin("capacitor://localhost")
    ('https://app.example:8443', 'capacitor://localhost')
    """
    try:
        parts = urlsplit(text)
        is_origin = bool(parts.scheme and parts.hostname) and parts.port != 0 and text.isprintable()
    except ValueError:  # half an IPv6 address, or a port that is none
        is_origin = False
    if not is_origin:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' is no origin such as https://app.example")
    if text.count("/") != 2 or "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' is more than scheme, host and port")
    if "*" in text:
        raise ConfigurationError(f"CORS_ORIGINS: '{text}' would match nobody: '*' stands alone")
    return text.lower()


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise ConfigurationError(f"TRUSTED_PROXIES: '{text}' is no address or network") from error


def _listed(given: Mapping[str, object], name: str) -> list[str]:
    stated = given.get(name)
    if stated is None:
        return []
    entries = _split(name, stated) if isinstance(stated, str) else stated
    if not isinstance(entries, list | tuple) or not all(isinstance(text, str) for text in entries):
        raise ConfigurationError(f"{name} is a list of texts")
    return list(entries)


def _split(name: str, text: str) -> list[str]:
    """Read a list as people write one into an environment.

    >>> _split("CORS_ORIGINS", "https://a.example, https://b.example")
    ['https://a.example', 'https://b.example']
    >>> _split("SECRET_KEY", '["old,key", "new"]')
    ['old,key', 'new']
    """
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        listed = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{name} begins like a JSON list and is none") from error
    if not isinstance(listed, list) or not all(isinstance(part, str) for part in listed):
        raise ConfigurationError(f"{name} is a list of texts")
    return listed


def _make_directory(path: Path) -> None:
    """Make a directory, and those above it, that will be there after a power cut as what it holds is."""
    try:
        if not path.is_dir():
            missing = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for each in missing:
                _sync_directory(each.parent)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be made: {error.strerror}") from error


def _sync_directory(path: Path) -> None:
    """Make a new name in `path` outlast a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _in_one_line(message: str) -> str:
    """A message that may quote anything, so that it stays one line and moves no terminal's cursor.

    >>> _in_one_line("MAX_ROWS is a whole number, not 'é\\n1'")
    "MAX_ROWS is a whole number, not 'é\\\\n1'"
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in message)
