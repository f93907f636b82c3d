"""What is refused, and by which code, as postgrest-py tells it: the bare client, at the root path."""

from collections.abc import Callable, Iterator

import pytest

from tests.clients.consumers import refused
from tests.clients.server import Server
from tests.clients.test_postgrest_py import Bare
from tests.conftest import CAST, MAX
from tests.support import tokens


@pytest.fixture(scope="module")
def bare(server: Server) -> Iterator[Callable[[str], Bare]]:
    """`bare("moe")` is a client without Supabase around it: two headers, and no /rest/v1."""
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

    refusal = refused(ask(root).execute)

    assert refusal == (code, message or refusal[1])
    assert refusal[1], "an error says something"


DEEP = "inspections(buildings(inspections(buildings(inspections(buildings(id))))))"
BOUNDS = {
    "in values": (lambda c: c.select("id").in_("id", range(1001)), "1,000"),
    "conditions": (lambda c: c.select("id").or_(",".join(["id.eq.1"] * 101)), "100"),
    "a pattern": (lambda c: c.select("id").like("name", "x" * 257), "256"),
    "embeds": (lambda c: c.select(DEEP), "5"),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bound_is_named_where_it_is_crossed(root: Bare, name: str) -> None:
    overdo, bound = BOUNDS[name]

    code, message = refused(overdo(root.from_("buildings")).execute)

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
def test_operator_that_no_column_has_is_refused_not_ignored(root: Bare, name: str) -> None:
    narrowed = FOREIGN_OPERATORS[name](root.from_("buildings").select("id"))

    code, message = refused(narrowed.execute)

    assert code, message
    assert message, code


def test_head_that_is_refused_still_tells_its_code(root: Bare) -> None:
    asked = root.from_("buildings").select("nope", count="exact", head=True)

    assert refused(asked.execute)[0] == "42703"


def test_count_may_stand_alone_in_a_select(root: Bare) -> None:
    """`select=count` is older than `count()`, and what many consumers write."""
    asked = root.from_("inspections").select("count").eq("status", "scheduled").single()

    assert asked.execute().data == {"count": 3}


def test_two_limits_never_open_a_list(root: Bare) -> None:
    """postgrest-py repeats the parameter; either may win, but not neither."""
    found = root.from_("inspections").select("id").limit(1).limit(2).execute()

    assert len(found.data) in (1, 2)


def test_without_a_bearer_nothing_is_read(server: Server) -> None:
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as nobody:
        refusal = refused(nobody.from_("inspections").select("*").execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_without_an_apikey_nothing_is_read(server: Server) -> None:
    with Bare(server.url, headers={"Authorization": CAST["root"].authorization()}) as keyless:
        _, message = refused(keyless.from_("inspections").select("*").execute)

    assert message == "No API key found in request"


def test_wrong_apikey_reads_nothing(server: Server) -> None:
    headers = {"apikey": "guessed", "Authorization": CAST["root"].authorization()}
    with Bare(server.url, headers=headers) as guesser:
        _, message = refused(guesser.from_("inspections").select("*").execute)

    assert message == "Invalid API key"


BEARERS = {
    "no token": ("nonsense", "PGRST301"),
    "a foreign signature": (tokens.sign(tokens.claims_of(MAX, "client_manager", 2), key="x" * 40), "PGRST301"),
    "another algorithm": (tokens.sign(tokens.claims_of(MAX, "client_manager", 2), alg="none"), "PGRST301"),
    "expired": (tokens.token_for(MAX, "client_manager", 2, exp=1_700_000_000), "PGRST303"),
    "more than it was": (tokens.token_for(MAX, "client_admin", 2), "PGRST303"),
    "elsewhere": (tokens.token_for(MAX, "client_manager", 1), "PGRST303"),
    "nobody's": (tokens.token_for("00000000-0000-4000-8000-000000000099", "super_admin", None), "PGRST303"),
}


@pytest.mark.parametrize("name", BEARERS)
def test_bad_bearer_has_its_code(server: Server, name: str) -> None:
    token, code = BEARERS[name]
    with Bare(server.url, headers={"apikey": tokens.ANON_KEY}) as guest:
        guest.auth(token)

        assert refused(guest.from_("inspections").select("*").execute)[0] == code
