"""What a database's catalog says about its schema, by name, independent of the order of columns and constraints."""

import pathlib
import re
from contextlib import closing
from typing import Any

from engine.storage.sqlite import driver
from tests.support import databases

CONSTRAINT = re.compile(r"CONSTRAINT (\w+) (?:CHECK|UNIQUE|PRIMARY)")

SERVER_QUERIES = {
    "columns": """
        SELECT relname || '.' || attname, concat_ws(' ', format_type(atttypid, atttypmod),
            attcollation::regcollation::text, attnotnull, attidentity::text, pg_get_expr(adbin, adrelid))
        FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
        """,
    "constraints": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) || convalidated
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
        """,
    "statistics": "SELECT stxname, pg_get_statisticsobjdef(oid) FROM pg_statistic_ext",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = current_schema()",
    "functions": """
        SELECT proname || pg_get_function_arguments(oid), pg_get_functiondef(oid)
        FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
        """,
    "triggers": """
        SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(pg_trigger.oid)
        FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace
        """,
    "version": "SELECT 'version', value FROM facts WHERE name = 'release_schema'",
}


def dump_server(name: str) -> dict[str, Any]:
    """Return the objects of a PostgreSQL database."""
    with databases.connect_to(name) as connection:
        return {
            f"{kind} {each}": said
            for kind, query in SERVER_QUERIES.items()
            for each, said in connection.execute(query).fetchall()
        }


def dump_file(file: pathlib.Path) -> dict[str, Any]:
    """Return the objects of a SQLite file."""
    found: dict[str, Any] = {}
    with closing(driver.connect(str(file))) as connection:
        run = connection.execute
        found["version"] = run("PRAGMA user_version").fetchone()
        for kind, name, sql in run("SELECT type, name, sql FROM sqlite_schema").fetchall():
            if kind != "table":
                found[f"{kind} {name}"] = sql
            elif not name.startswith("sqlite_"):
                found |= {f"check {each}": said for each, said in conditions(sql).items()}
                found[f"options {name}"] = run(f"SELECT wr, strict FROM pragma_table_list('{name}')").fetchone()
                columns = run(f"SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('{name}')")
                found |= {f"column {name}.{column}": said for column, *said in columns}
                keys = run(
                    'SELECT id, seq, "table", "from", "to", on_update, on_delete'
                    f" FROM pragma_foreign_key_list('{name}')"
                )
                found[f"keys {name}"] = {tuple(key) for _, *key in keys}
    return found


def conditions(statement: str) -> dict[str, str]:
    """Return the CHECKs, unique constraints and keys of a CREATE TABLE by name, without the space between words."""
    found: dict[str, str] = {}
    for named in CONSTRAINT.finditer(statement):
        start = end = statement.index("(", named.end())
        depth = 0
        while end == start or depth:
            depth += {"(": 1, ")": -1}.get(statement[end], 0)
            end += 1
        found[named[1]] = " ".join(statement[start:end].split())
    return found
