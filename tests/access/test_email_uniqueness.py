"""Each stored e-mail identifies exactly one user at sign-in."""

from collections.abc import Callable

import pytest

from access.accounts import people
from engine.open import reading
from engine.query.statement import Binding, compile_statement
from tests.conftest import MOE


def test_email_that_differs_in_case_only_is_taken(api: Callable) -> None:
    """Otherwise a user could create an account that another user's e-mail signs in to."""
    person = {"name": "Ö", "role": "client_manager", "client_id": 1}
    kept, typed = "özgür@acme.example", "ÖZGÜR@Acme.Example"
    assert api("ada").post("/users", {**person, "email": kept}).status == 201

    answers = [
        api("ada").post("/users", {**person, "email": typed}),
        api("ada").patch(f"/users?id=eq.{MOE}", {"email": typed}),
        api("root").put(f"/users?id=eq.{MOE}", {"id": MOE, "email": typed, **person}),
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(409, "23505")] * 3
    assert api("root").get("/users?email=ilike.*zg*&select=email").json == [{"email": kept}]


@pytest.mark.parametrize("email", ["Özgür@acme.example", "ÉCOLE@acme.example", "ö.Σ@acme.example"])
def test_email_with_non_ascii_capitals_is_refused(api: Callable, email: str) -> None:
    """The database's index does not fold them: who came later in small letters would be a second one of that e-mail."""
    person = {"name": "New", "role": "client_manager", "client_id": 1}

    answers = [
        api("ada").post("/users", {**person, "email": email}),
        api("ada").patch(f"/users?id=eq.{MOE}", {"email": email}),
        api("root").put(f"/users?id=eq.{MOE}", {"id": MOE, "email": email, **person}),
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "23514")] * 3
    assert api("ada").patch(f"/users?id=eq.{MOE}", {"email": email.lower()}).status == 204


@pytest.mark.parametrize("email", [" new@acme.example", "new@acme.example\n", "\u00a0new@acme.example"])
def test_email_with_surrounding_space_is_refused(api: Callable, email: str) -> None:
    """Sign-in strips the e-mail, so it would never find such a user."""
    person = {"name": "New", "role": "client_manager", "client_id": 1}

    answers = [
        api("ada").post("/users", {**person, "email": email}),
        api("ada").post("/users", [{**person, "email": each} for each in ("b.new@acme.example", email)]),
        api("ada").patch(f"/users?id=eq.{MOE}", {"email": email}),
        api("root").put(f"/users?id=eq.{MOE}", {"id": MOE, "email": email, **person}),
    ]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "23514")] * 4
    assert answers[0].message == ('new row for relation "users" violates check constraint "users_email_check"')
    assert api("root").get("/users?email=ilike.*new*&select=email").json == []


@pytest.mark.sqlite("asks SQLite how it looks for them")
def test_email_look_up_uses_the_index(pristine: object) -> None:
    with pristine.app_context(), reading() as transaction:
        query = compile_statement(people.BY_EMAIL, transaction.dialect.sa_dialect)
        values = query.bind(Binding(parameters={"lowered": "a@b", "folded": "a@b"}))
        plan = [row[3] for row in transaction.all(f"EXPLAIN QUERY PLAN {query.sql}", values)]

    assert any("users USING INDEX users_lower_email_key" in step for step in plan), plan
    assert not [step for step in plan if step.startswith("SCAN")]
