"""Fuzzing: every input gets a success or a complete error, never a 5xx, within the time limit.

A refused request writes nothing. `corpus/` keeps inputs that once failed, one Python bytes literal a line.
"""

import ast
import json
import pathlib
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models.types import Fault
from routes.postgrest import querystring
from routes.postgrest.preferences import parse_accept, parse_prefer
from routes.postgrest.querystring import parse
from tests.safety import strategies
from tests.safety.byte_mutations import BYTE_MUTATIONS, mutated, mutation_steps
from tests.safety.hypothesis_settings import deterministic_settings, scaled_count
from tests.safety.mutation_suite import USERS, cast_world
from tests.safety.request_generator import RequestGenerator
from tests.safety.service_instances import HttpRequest, HttpResponse, ServiceInstance, make_request
from tests.safety.vocabulary import Vocabulary
from tests.safety.world_pairs import visible_rows
from tests.support import oracle
from tests.support.columns import MODELLED_TABLES
from tests.support.cpu_time import cpu_time

pytestmark = pytest.mark.one_engine

CORPUS = pathlib.Path(__file__).parent / "corpus"
SECONDS_MAX = 1.0
MUTATIONS_PER_QUERY = 10
COMMIT_QUERIES, COMMIT_REQUESTS, COMMIT_BODIES = map(scaled_count, (1_000, 1_000, 600))
LONG_QUERIES, LONG_REQUESTS, LONG_BODIES = 100_000, 200_000, 200_000
COVERAGE_SECONDS = 30 * 60
ERROR_KEYS = {"code", "message", "details", "hint"}


def corpus(name: str) -> list[bytes]:
    lines = (CORPUS / name).read_text(encoding="ascii").splitlines()
    return [ast.literal_eval(line) for line in lines if line and not line.startswith("#")]


# ── query parser ─────────────────────────────────────────────────────────────────────────────────────────


def read_query(raw: bytes) -> None:
    """Parse a query. Only a Fault may be raised."""
    with suppress(Fault):
        querystring.parse(raw)


def read_mutated(raw: bytes, steps: list) -> None:
    """Parse one query and ten mutations of it."""
    read_query(raw)
    for count in range(len(steps)):
        read_query(mutated(raw, steps[: count + 1]))
    rng = random.Random(raw + bytes(len(steps)))
    for _ in range(MUTATIONS_PER_QUERY - len(steps)):
        read_query(mutated(raw, [(step, rng.randrange(2_000), rng.randrange(256)) for step, _, _ in steps]))


@pytest.mark.sqlite("the parser uses no database")
@deterministic_settings(COMMIT_QUERIES)
@given(raw=strategies.queries, steps=mutation_steps)
def test_query_parser_returns_or_raises_fault(raw: bytes, steps: list) -> None:
    read_mutated(raw, steps)


@pytest.mark.long
@deterministic_settings(LONG_QUERIES)
@given(raw=strategies.queries, steps=mutation_steps)
def test_query_parser_returns_or_raises_fault_long(raw: bytes, steps: list) -> None:
    read_mutated(raw, steps)


@pytest.mark.parametrize("raw", corpus("queries.txt"), ids=str)
def test_query_parser_on_corpus(raw: bytes) -> None:
    read_query(raw)


@deterministic_settings(500)
@given(text=st.text(max_size=60), steps=mutation_steps)
@example(text="return=representation, count=exact", steps=[])
def test_header_parsers_return_or_raise_fault(text: str, steps: list) -> None:
    raw = mutated(text.encode("utf-8", "replace"), steps).decode("latin-1")
    for read in (lambda: parse_prefer(raw), lambda: parse_accept(raw)):
        with suppress(Fault):
            read()


@pytest.mark.control
def test_fuzzing_finds_planted_index_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a parser that raises IndexError on two commas."""

    def failing_parse(raw: bytes) -> object:
        if b",," in raw:
            raise IndexError(raw)
        return parse(raw)

    monkeypatch.setattr(querystring, "parse", failing_parse)

    @deterministic_settings(COMMIT_QUERIES)
    @given(raw=strategies.queries, steps=mutation_steps)
    def fuzz(raw: bytes, steps: list) -> None:
        read_mutated(raw, steps)

    with pytest.raises(IndexError):
        fuzz()


# ── requests ─────────────────────────────────────────────────────────────────────────────────────────────

CALLERS = ("root", "ada", "moe", None)
METHODS = ("GET", "GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS")
PREFIXES = ("/", "/", "/rest/v1/", "/rpc/", "/", "//", "/%2e%2e/", "/auth/v1/")
NAMES = (*MODELLED_TABLES, "nope", "get_building_stats", "check_building_access_v2", "assign_to_client_manager", "")


class FuzzTarget:
    """An instance with the cast's rows. After each write request, it checks the rows."""

    def __init__(self, instance: ServiceInstance) -> None:
        self.instance = instance
        self.users = {who: user_named(who) for who in CALLERS}
        self.restore()

    def restore(self) -> None:
        self.instance.load(cast_world())
        self.before = self.instance.world()

    def send(self, who: str | None, request: HttpRequest) -> HttpResponse:
        with cpu_time() as taken:
            response = self.instance.send(self.users[who], request)
        seconds = taken[0]
        assert response.status < 500, f"{who} {request}\n{response}"
        assert seconds < SECONDS_MAX, f"{seconds:.2f} s: {who} {request}"
        if response.status >= 400 and request.method != "HEAD":
            body = response.json
            assert set(body) >= ERROR_KEYS, f"{who} {request}\n{response}"
            assert response.header("content-type").startswith("application/json"), response
        if request.method in ("POST", "PATCH", "PUT", "DELETE"):
            self.check_refusal_wrote_nothing(who, request, response)
        return response

    def check_refusal_wrote_nothing(self, who: str | None, request: HttpRequest, response: HttpResponse) -> None:
        after = self.instance.world()
        if after == self.before:
            return
        assert response.status < 300, f"a refused request changed rows: {who} {request}\n{response}"
        self.restore()


def user_named(who: str | None) -> dict | None:
    ids = {"root": "01", "ada": "11", "moe": "12"}
    return USERS[f"00000000-0000-4000-8000-0000000000{ids[who]}"] if who is not None else None


@pytest.fixture(scope="module")
def fuzz_target(instance: ServiceInstance) -> FuzzTarget:
    return FuzzTarget(instance)


@st.composite
def requests(draw: Callable) -> tuple[str | None, HttpRequest]:
    path = draw(st.sampled_from(PREFIXES)) + draw(st.sampled_from(NAMES))
    query = mutated(draw(strategies.queries), draw(mutation_steps)) if draw(st.booleans()) else b""
    method = draw(st.sampled_from(METHODS))
    body = None
    if method in ("POST", "PATCH", "PUT"):
        body = draw(strategies.payloads)
    named = {name: value for name, value in draw(strategies.headers).items() if value or name != "range"}
    raw = None if body is None else json.dumps(body).encode("utf-8", "surrogatepass")
    return draw(st.sampled_from(CALLERS)), make_request(method, f"{path}?{quoted_query(query)}", raw, **named)


def quoted_query(raw: bytes) -> str:
    """Return a query for a request line, with unsafe bytes percent-encoded."""
    return "".join(chr(b) if 33 <= b < 127 and b != 35 else f"%{b:02x}" for b in raw)


@deterministic_settings(COMMIT_REQUESTS)
@given(sent=requests())
def test_request_gets_success_or_complete_error(fuzz_target: FuzzTarget, sent: tuple) -> None:
    fuzz_target.send(*sent)


@pytest.mark.long
@deterministic_settings(LONG_REQUESTS)
@given(sent=requests())
def test_request_gets_success_or_complete_error_long(fuzz_target: FuzzTarget, sent: tuple) -> None:
    fuzz_target.send(*sent)


@pytest.mark.parametrize("raw", corpus("queries.txt"), ids=str)
def test_requests_of_corpus_get_success_or_complete_error(fuzz_target: FuzzTarget, raw: bytes) -> None:
    for table in ("inspections", "users"):
        for method in ("GET", "DELETE"):
            fuzz_target.send("ada", make_request(method, f"/{table}?{quoted_query(raw)}"))


def mutated_requests(seed: int, count: int) -> Iterator[tuple[str, HttpRequest]]:
    """Yield well-formed requests of the two-worlds generator with mutated queries."""
    rng = random.Random(seed)
    world = cast_world()
    for number in range(count):
        who = rng.choice(("root", "ada", "moe"))
        generator = RequestGenerator(
            rng, Vocabulary.from_worlds(visible_rows(world, user_named(who)), world), user_named(who)
        )
        generator.serial = number * 10
        request = generator.request()
        path, _, query = request.path.partition("?")
        steps = [(rng.choice(BYTE_MUTATIONS), rng.randrange(400), rng.randrange(256)) for _ in range(rng.randrange(3))]
        yield (
            who,
            HttpRequest(
                request.method, f"{path}?{quoted_query(mutated(query.encode(), steps))}", request.body, request.headers
            ),
        )


@pytest.mark.parametrize("seed", range(5))
def test_mutated_requests_get_success_or_complete_error(fuzz_target: FuzzTarget, seed: int) -> None:
    for who, request in mutated_requests(seed, 100):
        fuzz_target.send(who, request)


# ── bodies ───────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def bodies(draw: Callable) -> tuple[str, str, bytes]:
    raw = json.dumps(draw(strategies.payloads)).encode("utf-8", "surrogatepass")
    if draw(st.integers(0, 3)) == 0:
        rows = draw(st.lists(st.lists(strategies.plain_values, max_size=4), max_size=4))
        raw = "\n".join(",".join(row) for row in rows).encode("utf-8", "replace")
        return draw(strategies.tables), "text/csv", mutated(raw, draw(mutation_steps))
    return draw(strategies.tables), "application/json", mutated(raw, draw(mutation_steps))


def send_body(fuzz_target: FuzzTarget, sent: tuple[str, str, bytes]) -> None:
    table, kind, raw = sent
    key = oracle.PRIMARY_KEYS.get(table, ("id",))[0]
    for method, path in (("POST", f"/{table}"), ("PATCH", f"/{table}?{key}=not.is.null")):
        fuzz_target.send("root", make_request(method, path, raw, content_type=kind))


@deterministic_settings(COMMIT_BODIES)
@given(sent=bodies())
def test_refused_body_writes_nothing(fuzz_target: FuzzTarget, sent: tuple) -> None:
    send_body(fuzz_target, sent)


@pytest.mark.long
@deterministic_settings(LONG_BODIES)
@given(sent=bodies())
def test_refused_body_writes_nothing_long(fuzz_target: FuzzTarget, sent: tuple) -> None:
    send_body(fuzz_target, sent)


@pytest.mark.parametrize("raw", corpus("bodies.txt"), ids=lambda raw: str(raw[:60]))
def test_refused_bodies_of_corpus_write_nothing(fuzz_target: FuzzTarget, raw: bytes) -> None:
    for kind in ("application/json", "text/csv"):
        send_body(fuzz_target, ("buildings", kind, raw))


# ── coverage-guided fuzzing ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_query_parser_under_coverage_guided_fuzzing(tmp_path: pathlib.Path) -> None:
    """Run libFuzzer on the parser for 30 minutes. Add a crash to the corpus."""
    pytest.importorskip("atheris", reason="atheris is not installed: pip install atheris")
    for number, raw in enumerate(corpus("queries.txt")):
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
