"""Refused requests and their error codes with postgrest-py alone, at the root path."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.consumers import error_of
from tests.clients.server import Server
from tests.clients.test_postgrest_py import Bare
from tests.conftest import CAST, MAX
from tests.support import tokens


@pytest.fixture(scope="module")
def bare(server: Server) -> Iterator[Callable[[str], Bare]]:
    """`bare("moe")` returns a client without Supabase: two headers, and no /rest/v1."""
    known: dict[str, Bare] = {}

    def find(name: str) -> Bare:
        if name not in known:
            headers = {"apikey": tokens.ANON_KEY, "Authorization": CAST[name].authorization()}
            known[name] = Bare(server.url, headers=headers)
        return known[name]

    yield find
    for client in known.values():
        client.aclose()


@pytest.fixture(scope="module")
def root(bare: Callable[[str], Bare]) -> Bare:
    return bare("root")


ERRORS = {
    "unknown column": (
        lambda c: c.from_("buildings").select("id,nope"),
        "42703",
        "column buildings.nope does not exist",
    ),
    "unknown column in a filter": (
        lambda c: c.from_("buildings").select("id").eq("nope", 1),
        "42703",
        "column buildings.nope does not exist",
    ),
    "hidden column": (
        lambda c: c.from_("inspections").select("client_id"),
        "42703",
        "column inspections.client_id does not exist",
    ),
    "no relationship": (
        lambda c: c.from_("buildings").select("id,nope(*)"),
        "PGRST200",
        "Could not find a relationship between 'buildings' and 'nope' in the schema cache",
    ),
    "two relationships": (
        lambda c: c.from_("client_manager_building_access").select("*,users(name)"),
        "PGRST201",
        (
            "Could not embed because more than one relationship was found for"
            " 'client_manager_building_access' and 'users'"
        ),
    ),
    "no embed to filter": (
        lambda c: c.from_("inspections").select("id").eq("buildings.city", "Boston"),
        "PGRST108",
        "'buildings' is not an embedded resource in this request",
    ),
    "no text for a number": (
        lambda c: c.from_("buildings").select("id").eq("id", "abc"),
        "22P02",
        'invalid input syntax for type bigint: "abc"',
    ),
    "no such day": (
        lambda c: c.from_("inspections").select("id").eq("date_visited", "2025-02-30"),
        "22008",
        'date/time field value out of range: "2025-02-30"',
    ),
    "no plans": (lambda c: c.from_("buildings").select("id").explain(format="json"), "PGRST107", None),
    "no other schema": (lambda c: c.schema("auth").from_("users").select("*"), "PGRST106", None),
    "a page beyond the end, counted": (
        lambda c: c.from_("buildings").select("id", count="exact").range(100, 109),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a negative limit": (
        lambda c: c.from_("buildings").select("id").limit(-1),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a range backwards": (
        lambda c: c.from_("buildings").select("id").range(5, 2),
        "PGRST103",
        "Requested range not satisfiable",
    ),
    "a name with a space": (lambda c: c.from_("my table").select("*"), "PGRST205", None),
    "unknown table": (lambda c: c.from_("nope").select("*"), "PGRST205", None),
    "internal table": (lambda c: c.from_("credentials").select("*"), "PGRST205", None),
    "unknown operator": (
        lambda c: c.from_("buildings").select("id").filter("id", "foo", "1"),
        "PGRST100",
        '"failed to parse filter (foo.1)" (line 1, column 1)',
    ),
    "unfinished select": (lambda c: c.from_("buildings").select("id,inspections(id"), "PGRST100", None),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_has_its_code_and_message(root: Bare, name: str) -> None:
    ask, code, message = ERRORS[name]

    refusal = error_of(ask(root).execute)

    assert refusal == (code, message or refusal[1])
    assert refusal[1], "an error has a message"


DEEP_SELECT = "inspections(buildings(inspections(buildings(inspections(buildings(id))))))"
LIMITS = {
    "in values": (lambda c: c.select("id").in_("id", range(1001)), "1,000"),
    "conditions": (lambda c: c.select("id").or_(",".join(["id.eq.1"] * 101)), "100"),
    "a pattern": (lambda c: c.select("id").like("name", "x" * 257), "256"),
    "embeds": (lambda c: c.select(DEEP_SELECT), "5"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_exceeded_limit_is_named(root: Bare, name: str) -> None:
    overdo, bound = LIMITS[name]

    code, message = error_of(overdo(root.from_("buildings")).execute)

    assert code, message
    assert bound in message.replace("1000", "1,000")


FOREIGN_OPERATORS = {
    "contains": lambda q: q.contains("name", ["x"]),
    "contained_by": lambda q: q.contained_by("name", ["x"]),
    "overlaps": lambda q: q.overlaps("name", ["x"]),
    "range_gt": lambda q: q.range_gt("floors", (1, 2)),
    "range_adjacent": lambda q: q.range_adjacent("floors", (1, 2)),
    "fts": lambda q: q.fts("name", "house"),
    "wfts": lambda q: q.text_search("name", "house", {"type": "web_search"}),
}


@pytest.mark.parametrize("name", FOREIGN_OPERATORS)
def test_unsupported_operator_is_refused(root: Bare, name: str) -> None:
    narrowed = FOREIGN_OPERATORS[name](root.from_("buildings").select("id"))

    code, message = error_of(narrowed.execute)

    assert code, message
    assert message, code


def test_refused_head_has_an_error_code(root: Bare) -> None:
    asked = root.from_("buildings").select("nope", count="exact", head=True)

    assert error_of(asked.execute)[0] == "42703"


def test_bare_count_in_a_select_is_accepted(root: Bare) -> None:
    """`select=count` is older than `count()`, and many clients use it."""
    asked = root.from_("inspections").select("count").eq("status", "scheduled").single()

    assert asked.execute().data == {"count": 3}


def test_repeated_limit_is_applied(root: Bare) -> None:
    """postgrest-py repeats the parameter. One of the two values must apply."""
    found = root.from_("inspections").select("id").limit(1).limit(2).execute()

    assert len(found.data) in (1, 2)


def test_request_without_a_bearer_token_is_refused(server: Server) -> None:
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as tokenless:
        refusal = error_of(tokenless.from_("inspections").select("*").execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_request_without_an_apikey_is_refused(server: Server) -> None:
    with Bare(server.url, headers={"Authorization": CAST["root"].authorization()}) as keyless:
        _, message = error_of(keyless.from_("inspections").select("*").execute)

    assert message == "No API key found in request"


def test_wrong_apikey_is_refused(server: Server) -> None:
    headers = {"apikey": "guessed", "Authorization": CAST["root"].authorization()}
    with Bare(server.url, headers=headers) as guesser:
        _, message = error_of(guesser.from_("inspections").select("*").execute)

    assert message == "Invalid API key"


BEARERS = {
    "no token": ("nonsense", "PGRST301"),
    "a foreign signature": (tokens.sign(tokens.claims_of(MAX, "client_manager", 2), key="x" * 40), "PGRST301"),
    "another algorithm": (tokens.sign(tokens.claims_of(MAX, "client_manager", 2), alg="none"), "PGRST301"),
    "expired": (tokens.token_for(MAX, "client_manager", 2, exp=1_700_000_000), "PGRST303"),
    "more than it was": (tokens.token_for(MAX, "client_admin", 2), "PGRST303"),
    "elsewhere": (tokens.token_for(MAX, "client_manager", 1), "PGRST303"),
    "unknown user": (tokens.token_for("00000000-0000-4000-8000-000000000099", "super_admin", None), "PGRST303"),
}


@pytest.mark.parametrize("name", BEARERS)
def test_invalid_bearer_token_has_an_error_code(server: Server, name: str) -> None:
    token, code = BEARERS[name]
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as guest:
        guest.auth(token)

        assert error_of(guest.from_("inspections").select("*").execute)[0] == code
