"""Write facts to a database and read them."""

from engine.storage.database import SqliteDatabase

PUT = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


def put(database: SqliteDatabase, name: str, value: str = "there", **seconds: float) -> None:
    with database.writing(**seconds) as transaction:
        transaction.run(PUT, (name, value))


def names(database: SqliteDatabase) -> list[str]:
    with database.reading() as transaction:
        return [row[0] for row in transaction.all("SELECT name FROM facts ORDER BY name")]
