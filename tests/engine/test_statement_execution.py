"""Statements of SQLAlchemy in a transaction: rows by name, counts, faults, and the cache of compiled statements."""

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from engine.interface.database import NotCommitted, Transaction, engine_of
from engine.open import open_database
from engine.query.catalog import ForeignKeyViolation
from models.credential import Attempt, Session
from models.types import new_uuid
from models.user import User
from tests.conftest import ADA, MOE
from tests.support import databases

ATTEMPT = sa.insert(Attempt).values(kind="sign_in", subject="ada", at=1)


@pytest.fixture
def database(base_file: object, tmp_path: object) -> Iterator[object]:
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    opened = open_database(databases.url(file))
    yield opened
    opened.close()


@pytest.fixture
def transaction(database: object) -> Iterator[Transaction]:
    with database.writing() as writing:
        yield writing


def test_row_has_its_columns_by_name(transaction: Transaction) -> None:
    query = sa.select(User.role, (User.client_id == 1).label("is_of_client")).where(User.id == ADA)

    row = transaction.execute(query).first()

    assert row._asdict() == {"role": "client_admin", "is_of_client": True}
    assert transaction.execute(query.where(User.role == "super_admin")).first() is None


def test_result_has_the_number_of_written_rows_and_the_new_key(transaction: Transaction) -> None:
    keys = [transaction.execute(ATTEMPT.values(origin=each).returning(Attempt.id)).scalar_one() for each in "ab"]

    assert keys[0] < keys[1]
    assert transaction.execute(sa.update(Attempt).where(Attempt.at == 1).values(at=2)).rowcount == 2
    assert transaction.execute(sa.delete(Attempt).where(Attempt.id.in_(keys), Attempt.origin == "b")).rowcount == 1


def test_violated_constraint_is_the_fault_of_the_database(database: object) -> None:
    session = sa.insert(Session).values(id="s", user_id=new_uuid(), salt="", created_at=1, last_used_at=1)

    with pytest.raises(ForeignKeyViolation), database.writing() as transaction:
        transaction.execute(session)


def test_swallowed_fault_is_not_committed(database: object) -> None:
    def write(transaction: Transaction) -> None:
        transaction.execute(ATTEMPT.values(origin="a"))
        with pytest.raises(Exception, match="no_such_function"):
            transaction.execute(sa.select(sa.func.no_such_function()))

    with pytest.raises(NotCommitted), database.writing() as transaction:
        write(transaction)

    with database.reading() as transaction:
        assert transaction.execute(sa.select(Attempt.id)).all() == []


def test_statement_commits_with_its_transaction_only(database: object) -> None:
    with database.writing() as transaction:
        transaction.execute(ATTEMPT.values(origin="a"))
        transaction.roll_back_at_end()
    with database.writing() as transaction:
        transaction.execute(ATTEMPT.values(origin="b"))

    with database.reading() as transaction:
        assert transaction.execute(sa.select(Attempt.origin)).scalars().all() == ["b"]


def test_rows_are_read_while_they_are_used(transaction: Transaction) -> None:
    names = transaction.execute(sa.select(User.name).order_by(User.id))

    assert next(names) is not None
    assert len(names.all()) == transaction.execute(sa.select(sa.func.count()).select_from(User)).scalar_one() - 1


def test_equal_statements_with_other_values_are_compiled_once(transaction: Transaction) -> None:
    for user_id in (ADA, MOE):
        transaction.execute(sa.select(User.name, User.email).where(User.id == user_id)).first()
    compiled = len(engine_of(transaction.dialect)._compiled_cache)

    transaction.execute(sa.select(User.name, User.email).where(User.id == new_uuid())).first()

    assert len(engine_of(transaction.dialect)._compiled_cache) == compiled
