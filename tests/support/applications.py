"""Applications of the tests, over their own databases or reused from test to test.

The functions import the service, so that unit tests do not load it.
"""

import json
import pathlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.support import databases, tokens

FROZEN = ("issued_reports", "notices")

UNUSED_APPS: list[tuple[object, dict, dict]] = []
"""Unused applications, with the settings and extensions of a new one.

To change the database of an application takes a quarter of the time to create one.
"""


def open_app(file: pathlib.Path, **config: object) -> object:
    """Build the service over one SQLite file."""
    from app import create_app

    settings = {
        "TESTING": True,
        "DATABASE_URL": databases.url(file),
        "SECRET_KEY": tokens.SECRET_KEY,
        "ANON_KEY": tokens.ANON_KEY,
        "SERVICE_KEY": tokens.SERVICE_KEY,
        "FILES_DIR": folder_of_files(file),
        **config,
    }
    return databases.register_app(create_app(settings), file)


def folder_of_files(file: pathlib.Path) -> pathlib.Path:
    return file.with_name(f"{file.name}.files")


def import_rows(app: object, file: pathlib.Path) -> None:
    """Import a JSON file of table -> rows with the service's own command."""
    run = app.test_cli_runner().invoke(args=["import", str(file)])
    assert run.exit_code == 0, f"import failed: {run.output} {run.exception!r}"


@contextmanager
def reused_app(file: pathlib.Path) -> Iterator[object]:
    """Provide an application over a database. The next test reuses it with another database."""
    if UNUSED_APPS:
        app, config, extensions = UNUSED_APPS.pop()
        switch_database(app, file)
    else:
        app, config, extensions = with_initial_state(open_app(file))
    yield app
    app.extensions["walkthrough"].close()
    databases.unregister_app(app, file)
    for kept, new in ((app.config, config), (app.extensions, extensions)):
        kept.clear()
        kept.update(new)
    UNUSED_APPS.append((app, config, extensions))


def import_world(app: object, file: pathlib.Path, rows: dict[str, list[dict]]) -> None:
    """Import any tables and rows into the database of an application."""
    source = file.with_suffix(".json")
    source.write_text(json.dumps(rows | {table: with_objects(rows[table]) for table in FROZEN if table in rows}))
    import_rows(app, source)


def with_objects(rows: list[dict]) -> list[dict]:
    """Return rows whose contents are objects. Random worlds have them as text."""
    return [row | {"content": json.loads(row["content"])} if isinstance(row["content"], str) else row for row in rows]


@contextmanager
def shared_worlds(directory: pathlib.Path) -> Iterator[Callable[[dict], object]]:
    """Provide a function that returns an application over the given rows, the same one for equal rows."""
    made: dict[str, object] = {}
    with ExitStack() as lent:

        def app_over(rows: dict[str, list[dict]]) -> object:
            said = json.dumps(rows, sort_keys=True)
            if said not in made:
                file = directory / f"world{len(made)}.db"
                made[said] = lent.enter_context(reused_app(file))
                import_world(made[said], file, rows)
            return made[said]

        yield app_over
    databases.release_databases_below(directory)


def refuse_write() -> object:
    """Refuse a write to a shared database."""
    raise AssertionError("a test writes to a shared database")


def with_initial_state(app: object) -> tuple[object, dict, dict]:
    return app, dict(app.config), dict(app.extensions)


def switch_database(app: object, file: pathlib.Path) -> None:
    """Make an application serve another database."""
    from engine.maintenance.check import ensure_schema
    from engine.open import open_database
    from inspections.files.store import FileStore
    from routes.http import metrics

    app.config["DATABASE_URL"] = databases.url(file)
    app.config["FILES_DIR"] = folder_of_files(file)
    app.extensions["walkthrough.files"] = FileStore(folder_of_files(file))
    app.extensions["walkthrough"] = database = open_database(databases.url(file))
    databases.register_app(app, file)
    app.extensions["walkthrough.clock"] = database.clock
    ensure_schema(database)
    metrics.observe_database(app.extensions[metrics.METERS_KEY], database)
