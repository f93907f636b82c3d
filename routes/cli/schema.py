"""`flask schema`: print or write the schemas of both engines and the table of docs/ACCESS.md."""

from __future__ import annotations

import click
from flask import Blueprint

from access import document
from engine.schema.description import ENGINES, SQLITE
from engine.schema.script import schema_script, write_schemas
from routes.cli.command import StandaloneCommand, fail, print_line, print_result

bp = Blueprint("schema", __name__, cli_group=None)


@bp.cli.command("schema", cls=StandaloneCommand)
@click.option("--engine", type=click.Choice(ENGINES), default=SQLITE, help="The engine whose schema to print.")
@click.option("--write", is_flag=True, help="Write the schema files and the table of docs/ACCESS.md.")
def schema(engine: str, write: bool) -> None:
    """Print the schema that follows from the models."""
    if not write:
        print_line(schema_script(engine).removesuffix("\n"))
        return
    try:
        lines = [*write_schemas(), document.write_table()]
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    print_result("\n".join(lines))
