"""A quick suite that no mutant of the rule survives: the cast and their requests, by hand from docs/ACCESS.md, over one
small world; then random requests against the oracle.

A probe says what it is about, so that those about a mutant's own relation come first.
"""

from collections.abc import Iterable

from access.caller import Role
from tests.conftest import RESOURCES, ROOT, UNKNOWN_USER_ID
from tests.safety.probe import PEOPLE, USERS, Killed, Probe, cast_world, expect, send
from tests.safety.probes_of_changes import FOLLOWS, OTHERS
from tests.safety.probes_of_rows import CALLS, EMBEDS, GIVEN, WRITES, calls, given, reads, writes
from tests.safety.sites import Site, asking
from tests.safety.test_random_requests import OracleDiffers, travel

ORACLE_SEEDS = (1, 2, 3, 4)  # 300 requests
ELSEWHERE = ("rest_", "console.")
"""Endpoints that are others under a second path, and the console's, whose doors its own tests knock at."""


# ── every door: its key, its token, its privilege ────────────────────────────────────────────────────────


def doors(site: Site) -> list[Probe]:
    """For each route that asks for a caller: nobody gets in, and a manager without the privilege neither."""
    found = []
    for rule in site.app.url_map.iter_rules():
        view = site.app.view_functions[rule.endpoint]
        if not rule.endpoint.startswith(ELSEWHERE) and is_entered(view):
            path = str(rule).replace("<user_id>", UNKNOWN_USER_ID).replace("<name>", "nothing")
            inner = dict(zip(view.__code__.co_freevars, view.__closure__, strict=True))
            open_to_managers = inner["allowed"].cell_contents(Role.CLIENT_MANAGER)
            found += [
                door(rule.endpoint, method, path, open_to_managers)
                for method in sorted(rule.methods - {"OPTIONS", "HEAD"})
            ]
    return found


def is_entered(view: object) -> bool:
    """Is that a view behind `guarded`?"""
    return {"allowed", "in_snapshot", "view"} <= set(view.__code__.co_freevars)


def door(endpoint: str, method: str, path: str, open_to_managers: bool) -> Probe:
    body = b"{" if method in ("POST", "PUT", "PATCH") else None

    def run(site: Site) -> None:
        answer = send(site, None, method, path, body)
        expect(answer.status == 401, answer)
        if not open_to_managers:
            answer = send(site, "moe", method, path, body)
            expect(answer.status == 403, answer)
        if method == "GET":
            answer = site.send(USERS[ROOT], asking(method, path, apikey="wrong"))
            expect(answer.status == 401, answer)

    return Probe(f"{method} {path} at the door", frozenset(("door", endpoint)), run)


def every_probe(site: Site) -> list[Probe]:
    return [
        *(reads(who, table) for table in RESOURCES for who in PEOPLE),
        *EMBEDS,
        *(writes(*row) for row in WRITES),
        *(given(*row) for row in GIVEN),
        *(calls(*row) for row in CALLS),
        *FOLLOWS,
        *OTHERS,
        *doors(site),
    ]


def killed(site: Site, probes: list[Probe], about: Iterable[str]) -> str | None:
    """The name of the first probe that a mutant fails, those about it first; None if it survives all."""
    wanted = set(about)
    site.load(cast_world())
    for probe in sorted(probes, key=lambda probe: -len(probe.about & wanted)):
        try:
            probe.run(site)
        except Killed:
            return probe.name
    try:
        for seed in ORACLE_SEEDS:
            travel(seed, site)
    except OracleDiffers as differs:
        return f"oracle: {str(differs).splitlines()[1]}"
    return None
