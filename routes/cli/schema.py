"""`flask schema`: print or write the schemas of both engines and the table of docs/ACCESS.md, or draft a migration."""

from __future__ import annotations

import click
from flask import Blueprint

from access import document
from engine.maintenance.schema_files import NothingToDraft, write_draft, write_schemas
from engine.schema.description import ENGINES, SQLITE
from engine.schema.script import schema_script
from routes.cli.command import TEXT, StandaloneCommand, fail, print_line, print_result

bp = Blueprint("schema", __name__, cli_group=None)


@bp.cli.command("schema", cls=StandaloneCommand)
@click.option("--engine", type=click.Choice(ENGINES), default=SQLITE, help="The engine whose schema to print.")
@click.option("--write", is_flag=True, help="Write the schema files and the table of docs/ACCESS.md.")
@click.option("--migration", type=TEXT, metavar="TITLE", help="Draft a migration, then --write.")
def schema(engine: str, write: bool, migration: str | None) -> None:
    """Print the schema that follows from the models.

    --migration drafts a script for each engine from the committed schema files to the models. Review both.
    """
    if not write and migration is None:
        print_line(schema_script(engine).removesuffix("\n"))
        return
    try:
        lines = write_draft(migration) if migration is not None else []
        lines += [*write_schemas(), document.write_table()]
    except NothingToDraft as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    print_result("\n".join(lines))
