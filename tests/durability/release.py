"""Make the file that a version's release leaves behind, and keep its script of a server's tables beside it:
`python -m tests.durability.release`.

Once for a version, when it is released; from then on the file is never made again, only migrated.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from models import backup
from models import migrations
from tests.applications import import_rows
from tests.applications import open_app
from tests.conftest import DATASET
from tests.databases import SCHEMA

RELEASED = Path(__file__).resolve().parent.parent / "data" / "released"

HIDDEN_ROWS = (
    "INSERT INTO credentials (user_id) SELECT id FROM users ORDER BY id LIMIT 1",
    """INSERT INTO sessions (id, user_id, salt, created_at, last_used_at)
       SELECT '00000000-0000-4000-8000-00000000aaaa', id, 'salt', 1750000000, 1750000000
       FROM users LIMIT 1""",
    """INSERT INTO attempts (kind, subject, origin, at)
       VALUES ('password', 'nobody@example.org', '127.0.0.1', 1750000000)""",
    "INSERT INTO origins (user_id, origin, at) SELECT id, '127.0.0.1', 1750000000 FROM users LIMIT 1",
    """INSERT INTO devices (id, user_id, name, token_digest, created_at, expires_at)
       SELECT '00000000-0000-4000-8000-00000000bbbb', id, 'Hall', 'digest', 1750000000, 1760000000
       FROM users LIMIT 1""",
    "INSERT INTO facts (name, value) VALUES ('released', 'yes')",
)
"""So that every table holds something."""


def main() -> None:
    target = RELEASED / f"schema-{migrations.schema_version()}.sqlite"
    if target.exists():
        sys.exit(f"{target} was released, and is never made again")
    with tempfile.TemporaryDirectory() as directory:
        app = open_app(Path(directory) / "walkthrough.db")
        import_rows(app, DATASET)
        database = app.extensions["walkthrough"]
        with database.writing() as transaction:
            for statement in HIDDEN_ROWS:
                transaction.run(statement)
        backup.back_up(database.path, target)
        database.close()
    shutil.copy(SCHEMA, target.with_suffix(".postgresql.sql"))
    print(target)


if __name__ == "__main__":
    main()
