"""No input breaks it: whatever comes in, a success or an error of the four keys goes out, never a 5xx, never late, and
what is refused has written nothing.

What was found is kept in `corpus/`, one input a line in Python's notation for bytes, and tried first.
"""

import ast
import json
import pathlib
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.errors import Fault
from routes.postgrest import querystring
from routes.postgrest.media import parse_accept
from routes.postgrest.preferences import parse_prefer
from routes.postgrest.querystring import parse
from tests.conftest import RESOURCES
from tests.safety import strategies
from tests.safety.breaking import BREAKS, breaks, broken
from tests.safety.examples import share, sized
from tests.safety.grammar import Grammar
from tests.safety.killers import USERS, cast_world
from tests.safety.sites import Answer, Asking, Site, asking
from tests.safety.twins import seen_by
from tests.safety.vocabulary import Vocabulary
from tests.support import oracle

CORPUS = pathlib.Path(__file__).parent / "corpus"
LATE_SECONDS = 1.0
BREAKS_PER_QUERY = 10
COMMIT_QUERIES, COMMIT_REQUESTS, COMMIT_BODIES = map(share, (1_000, 1_000, 600))
LONG_QUERIES, LONG_REQUESTS, LONG_BODIES = 100_000, 200_000, 200_000
COVERAGE_SECONDS = 30 * 60
KEYS = {"code", "message", "details", "hint"}


def kept(name: str) -> list[bytes]:
    lines = (CORPUS / name).read_text(encoding="ascii").splitlines()
    return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]


# ── the parser alone ─────────────────────────────────────────────────────────────────────────────────────


def read_query(raw: bytes) -> None:
    """Parse, or refuse with a fault; anything else is a bug."""
    with suppress(Fault):
        querystring.parse(raw)


def read_many(raw: bytes, steps: list) -> None:
    """One query and ten ways of breaking it."""
    read_query(raw)
    for count in range(len(steps)):
        read_query(broken(raw, steps[: count + 1]))
    rng = random.Random(raw + bytes(len(steps)))
    for _ in range(BREAKS_PER_QUERY - len(steps)):
        read_query(broken(raw, [(step, rng.randrange(2_000), rng.randrange(256)) for step, _, _ in steps]))


@pytest.mark.sqlite("asks no database")
@sized(COMMIT_QUERIES)
@given(raw=strategies.queries, steps=breaks)
def test_the_parser_refuses_or_understands(raw: bytes, steps: list) -> None:
    read_many(raw, steps)


@pytest.mark.long
@sized(LONG_QUERIES)
@given(raw=strategies.queries, steps=breaks)
def test_the_parser_refuses_or_understands_at_length(raw: bytes, steps: list) -> None:
    read_many(raw, steps)


@pytest.mark.parametrize("raw", kept("queries.txt"), ids=str)
def test_the_parser_and_what_was_found(raw: bytes) -> None:
    read_query(raw)


@sized(500)
@given(text=st.text(max_size=60), steps=breaks)
@example(text="return=representation, count=exact", steps=[])
def test_headers_are_refused_or_understood(text: str, steps: list) -> None:
    raw = broken(text.encode("utf-8", "replace"), steps).decode("latin-1")
    for read in (lambda: parse_prefer((raw,)), lambda: parse_accept(raw)):
        with suppress(Fault):
            read()


@pytest.mark.control
def test_a_parser_that_breaks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: one that raises IndexError on two commas."""

    def careless(raw: bytes) -> object:
        if b",," in raw:
            raise IndexError(raw)
        return parse(raw)

    monkeypatch.setattr(querystring, "parse", careless)

    @sized(COMMIT_QUERIES)
    @given(raw=strategies.queries, steps=breaks)
    def hunt(raw: bytes, steps: list) -> None:
        read_many(raw, steps)

    with pytest.raises(IndexError):
        hunt()


# ── whole requests ───────────────────────────────────────────────────────────────────────────────────────

WHO = ("root", "ada", "moe", None)
METHODS = ("GET", "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS")
PREFIXES = ("/", "/", "/rest/v1/", "/rpc/", "/", "//", "/%2e%2e/", "/auth/v1/")
NAMES = (*RESOURCES, "nope", "get_building_stats", "check_building_access_v2", "assign_to_client_manager", "")


class Lab:
    """A site with the cast in it, whose rows are looked at after each refusal."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.people = {who: user(who) for who in WHO}
        self.restore()

    def restore(self) -> None:
        self.site.load(cast_world())
        self.before = self.site.world()

    def send(self, who: str | None, request: Asking) -> Answer:
        began = time.thread_time()  # what it costs, however busy the machine is
        answer = self.site.send(self.people[who], request)
        seconds = time.thread_time() - began
        assert answer.status < 500, f"{who} {request}\n{answer}"
        assert seconds < LATE_SECONDS, f"{seconds:.2f} s: {who} {request}"
        if answer.status >= 400 and request.method != "HEAD":
            body = answer.json
            assert set(body) >= KEYS, f"{who} {request}\n{answer}"
            assert answer.header("content-type").startswith("application/json"), answer
        if request.method in ("POST", "PATCH", "PUT", "DELETE"):
            self.look_after(who, request, answer)
        return answer

    def look_after(self, who: str | None, request: Asking, answer: Answer) -> None:
        after = self.site.world()
        if after == self.before:
            return
        assert answer.status < 300, f"refused, and written all the same: {who} {request}\n{answer}"
        self.restore()


def user(who: str | None) -> dict | None:
    ids = {"root": "01", "ada": "11", "moe": "12"}
    return USERS[f"00000000-0000-4000-8000-0000000000{ids[who]}"] if who is not None else None


@pytest.fixture(scope="module")
def lab(site: Site) -> Lab:
    return Lab(site)


@st.composite
def requests(draw: Callable) -> tuple[str | None, Asking]:
    path = draw(st.sampled_from(PREFIXES)) + draw(st.sampled_from(NAMES))
    query = broken(draw(strategies.queries), draw(breaks)) if draw(st.booleans()) else b""
    method = draw(st.sampled_from(METHODS))
    body = None
    if method in ("POST", "PATCH", "PUT"):
        body = draw(strategies.payloads)
    named = {name: value for name, value in draw(strategies.headers).items() if value or name != "range"}
    raw = None if body is None else json.dumps(body).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from(WHO)), asking(method, f"{path}?{readable(query)}", raw, **named)


def readable(raw: bytes) -> str:
    """A query as it may stand on a request line: every byte, but none that would end it."""
    return "".join(chr(b) if 33 <= b < 127 and b != 35 else f"%{b:02x}" for b in raw)


@sized(COMMIT_REQUESTS)
@given(sent=requests())
def test_a_request_is_answered_or_refused(lab: Lab, sent: tuple) -> None:
    lab.send(*sent)


@pytest.mark.long
@sized(LONG_REQUESTS)
@given(sent=requests())
def test_a_request_is_answered_or_refused_at_length(lab: Lab, sent: tuple) -> None:
    lab.send(*sent)


@pytest.mark.parametrize("raw", kept("queries.txt"), ids=str)
def test_a_request_and_what_was_found(lab: Lab, raw: bytes) -> None:
    for table in ("inspections", "users"):
        for method in ("GET", "DELETE"):
            lab.send("ada", asking(method, f"/{table}?{readable(raw)}"))


def drawn_requests(seed: int, count: int) -> Iterator[tuple[str, Asking]]:
    """Well-formed requests of the two worlds' grammar, whose queries are then broken."""
    rng = random.Random(seed)
    world = cast_world()
    for number in range(count):
        who = rng.choice(("root", "ada", "moe"))
        grammar = Grammar(rng, Vocabulary.of(seen_by(world, user(who)), world), user(who))
        grammar.fresh = number * 10
        request = grammar.request()
        path, _, query = request.path.partition("?")
        steps = [(rng.choice(BREAKS), rng.randrange(400), rng.randrange(256)) for _ in range(rng.randrange(3))]
        yield (
            who,
            Asking(request.method, f"{path}?{readable(broken(query.encode(), steps))}", request.body, request.headers),
        )


@pytest.mark.parametrize("seed", range(5))
def test_well_formed_requests_that_were_broken(lab: Lab, seed: int) -> None:
    for who, request in drawn_requests(seed, 100):
        lab.send(who, request)


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def bodies(draw: Callable) -> tuple[str, str, bytes]:
    raw = json.dumps(draw(strategies.payloads)).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        rows = draw(st.lists(st.lists(strategies.plain_values, max_size=4), max_size=4))
        raw = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")
        return draw(strategies.tables), "text/csv", broken(raw, draw(breaks))
    return draw(strategies.tables), "application/json", broken(raw, draw(breaks))


def send_body(lab: Lab, sent: tuple[str, str, bytes]) -> None:
    table, kind, raw = sent
    key = oracle.KEYS.get(table, ("id",))[0]
    for method, path in (("POST", f"/{table}"), ("PATCH", f"/{table}?{key}=not.is.null")):
        lab.send("root", asking(method, path, raw, content_type=kind))


@sized(COMMIT_BODIES)
@given(sent=bodies())
def test_a_body_is_taken_or_refused_whole(lab: Lab, sent: tuple) -> None:
    send_body(lab, sent)


@pytest.mark.long
@sized(LONG_BODIES)
@given(sent=bodies())
def test_a_body_is_taken_or_refused_whole_at_length(lab: Lab, sent: tuple) -> None:
    send_body(lab, sent)


@pytest.mark.parametrize("raw", kept("bodies.txt"), ids=lambda raw: str(raw[:60]))
def test_bodies_and_what_was_found(lab: Lab, raw: bytes) -> None:
    for kind in ("application/json", "text/csv"):
        send_body(lab, ("buildings", kind, raw))


# ── guided by coverage ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_the_parser_guided_by_coverage(tmp_path: pathlib.Path) -> None:
    """Half an hour of libFuzzer on the parser; a crash is an input for the corpus."""
    pytest.importorskip("atheris", reason="atheris is not installed: pip install atheris")
    for number, raw in enumerate(kept("queries.txt")):
        (tmp_path / f"seed{number}").write_bytes(raw)

    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.safety.coverage_guided",
            str(tmp_path),
            f"-max_total_time={COVERAGE_SECONDS}",
            "-max_len=4096",
            f"-artifact_prefix={tmp_path}/crash-",
        ],
        cwd=pathlib.Path(__file__).parent.parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr[-4_000:]
