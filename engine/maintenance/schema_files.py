"""Write the committed schemas of both engines, and drafts of migrations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.maintenance import migrations
from engine.schema.draft import BY_HAND, draft_script
from engine.schema.script import COMMITTED, schema_script

NO_CHANGES = "-- The tables stay as they are.\n"


class NothingToDraft(Exception):
    """The models equal the committed schemas. The message is one line."""


def write_schemas(paths: Mapping[str, Path] = COMMITTED) -> list[str]:
    """Write the schema of each engine. Return a line for each file."""
    for engine, path in paths.items():
        path.write_text(schema_script(engine), encoding="utf-8")
    return [f"{path.name}: the schema for {engine}" for engine, path in paths.items()]


def write_draft(title: str, folder: Path = migrations.FOLDER, committed: Mapping[str, Path] = COMMITTED) -> list[str]:
    """Write the scripts of the next migration, from the committed schemas to the models. Return a line for each file.

    Raise NothingToDraft for equal schemas.
    """
    before = {engine: path.read_text(encoding="utf-8") for engine, path in committed.items()}
    after = {engine: schema_script(engine) for engine in committed}
    if before == after:
        raise NothingToDraft("the models equal the committed schemas")
    lines = []
    for engine in committed:
        script = draft_script(engine, before[engine], after[engine])
        path = migrations.script_path(migrations.schema_version() + 1, title, engine, folder)
        path.write_text(script or NO_CHANGES, encoding="utf-8")
        lines.append(f"{path.name}: {script.count(BY_HAND)} changes are left to do by hand")
    return lines
