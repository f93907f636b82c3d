"""The service as the tests open it: over a database of one's own, or lent from one test to the next.

It is imported when it is opened, so that the tests of the pure rooms need no service.
"""

import json
import pathlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tests.support import databases, tokens

IDLE: list[tuple[object, dict, dict]] = []
"""Applications whose test is over, with the settings and extensions of a new one: to give one another database takes a
quarter of what it takes to make one."""


def open_app(file: pathlib.Path, **config: object) -> object:
    """Build the service over one SQLite file."""
    from app import create_app

    settings = {
        "TESTING": True,
        "DATABASE_URL": databases.url(file),
        "SECRET_KEY": tokens.SECRET_KEY,
        "ANON_KEY": tokens.ANON_KEY,
        "SERVICE_KEY": tokens.SERVICE_KEY,
        **config,
    }
    return databases.serve(create_app(settings), file)


def import_rows(app: object, file: pathlib.Path) -> None:
    """Load a JSON of table -> rows with the service's own command."""
    run = app.test_cli_runner().invoke(args=["import", str(file)])
    assert run.exit_code == 0, f"import failed: {run.output} {run.exception!r}"


@contextmanager
def lent_app(file: pathlib.Path) -> Iterator[object]:
    """An application over a database for the time of a test; the next one gets it over another."""
    if IDLE:
        app, config, extensions = IDLE.pop()
        open_again(app, file)
    else:
        app, config, extensions = as_made(open_app(file))
    yield app
    app.extensions["walkthrough"].close()
    databases.serve_no_more(app, file)
    for kept, new in ((app.config, config), (app.extensions, extensions)):
        kept.clear()
        kept.update(new)
    IDLE.append((app, config, extensions))


def import_world(app: object, file: pathlib.Path, rows: dict[str, list[dict]]) -> None:
    """Load any tables and rows into an app over a database."""
    source = file.with_suffix(".json")
    source.write_text(json.dumps(rows))
    import_rows(app, source)


@contextmanager
def standing_worlds(directory: pathlib.Path) -> Iterator[Callable[[dict], object]]:
    """What makes apps over databases of any tables and rows, or finds the one that was made of the same."""
    made: dict[str, object] = {}
    with ExitStack() as lent:

        def app_over(rows: dict[str, list[dict]]) -> object:
            said = json.dumps(rows, sort_keys=True)
            if said not in made:
                file = directory / f"world{len(made)}.db"
                made[said] = lent.enter_context(lent_app(file))
                import_world(made[said], file, rows)
            return made[said]

        yield app_over
    databases.give_back_under(directory)


def is_only_read() -> object:
    """Instead of a database of a test's own."""
    raise AssertionError("a world that stands for other tests as well is only read")


def as_made(app: object) -> tuple[object, dict, dict]:
    return app, dict(app.config), dict(app.extensions)


def open_again(app: object, file: pathlib.Path) -> None:
    """Have an application serve another database from now on; what it knew of the one before is that one's."""
    from engine.attach import attach_url
    from engine.maintenance.check import ensure_schema
    from routes import metrics

    app.config["DATABASE_URL"] = databases.url(file)
    app.extensions["walkthrough"] = database = attach_url(databases.url(file))
    databases.serve(app, file)
    app.extensions["walkthrough.clock"] = database.clock
    ensure_schema(database)
    metrics.observe_database(app.extensions[metrics.METERS_KEY], database)
