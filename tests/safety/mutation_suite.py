"""The test suite that must kill every policy mutant.

Probes written by hand from docs/ACCESS.md run over one small world. Random requests against the oracle follow. The tags
of a probe decide which probes run first for a mutant.
"""

from collections.abc import Iterable

from access.roles import GrantProfile, Role
from tests.conftest import ROOT, UNKNOWN_USER_ID
from tests.safety.probe import PEOPLE, USERS, Probe, ProbeFailed, cast_world, expect, send
from tests.safety.probes_of_changes import GRANT_CASCADE_PROBES, OTHER_PROBES
from tests.safety.probes_of_closed_visits import CLOSED_VISIT_PROBES
from tests.safety.probes_of_files import FILE_PROBES
from tests.safety.probes_of_lead import LEAD_PROBES
from tests.safety.probes_of_locks import LOCK_PROBES
from tests.safety.probes_of_reports import REPORT_PROBES
from tests.safety.probes_of_rows import (
    AFTER_ROOT_WRITES,
    CALLS,
    EMBEDS,
    IMPORT,
    OWN_VISIT_WRITES,
    REINSPECTION,
    WRITES,
    after_root_write,
    calls,
    own_visit_write,
    reads_matrix_rows,
    writes,
)
from tests.safety.service_instances import ServiceInstance, make_request
from tests.safety.test_random_requests import OracleDiffers, run_against_oracle
from tests.support.columns import MODELLED_TABLES

ORACLE_SEEDS = (1, 2, 3, 4)  # 300 requests
UNPROBED_ENDPOINTS = ("rest_", "console.")
"""Prefixes of endpoints without probes: aliases of other endpoints, and the console, which tests/console covers."""


# ── routes: API key, token, privilege ────────────────────────────────────────────────────────────────────


def route_probes(instance: ServiceInstance) -> list[Probe]:
    """Return probes of each guarded route: it refuses requests without a token, and roles without the privilege."""
    probes = []
    for rule in instance.app.url_map.iter_rules():
        view = instance.app.view_functions[rule.endpoint]
        if not rule.endpoint.startswith(UNPROBED_ENDPOINTS) and is_guarded_view(view):
            path = str(rule).replace("<user_id>", UNKNOWN_USER_ID).replace("<name>", "nothing")
            closure = dict(zip(view.__code__.co_freevars, view.__closure__, strict=True))
            open_to_managers = closure["allowed"].cell_contents(GrantProfile(Role.CLIENT_MANAGER))
            probes += [
                route_probe(rule.endpoint, method, path, open_to_managers)
                for method in sorted(rule.methods - {"OPTIONS", "HEAD"})
            ]
    return probes


def is_guarded_view(view: object) -> bool:
    """Return whether `guarded` decorates a view."""
    return {"allowed", "in_snapshot", "view"} <= set(view.__code__.co_freevars)


def route_probe(endpoint: str, method: str, path: str, open_to_managers: bool) -> Probe:
    body = b"{" if method in ("POST", "PUT", "PATCH") else None

    def run(instance: ServiceInstance) -> None:
        response = send(instance, None, method, path, body)
        expect(response.status == 401, response)
        if not open_to_managers:
            response = send(instance, "moe", method, path, body)
            expect(response.status == 403, response)
        if method == "GET":
            response = instance.send(USERS[ROOT], make_request(method, path, apikey="wrong"))
            expect(response.status == 401, response)

    return Probe(f"{method} {path} requires authentication", frozenset(("route", endpoint)), run)


def all_probes(instance: ServiceInstance) -> list[Probe]:
    return [
        *(reads_matrix_rows(who, table) for table in MODELLED_TABLES for who in PEOPLE),
        *EMBEDS,
        *(writes(*row) for row in WRITES),
        *(after_root_write(*row) for row in AFTER_ROOT_WRITES),
        *(own_visit_write(*row) for row in OWN_VISIT_WRITES),
        *(calls(*row) for row in CALLS),
        REINSPECTION,
        IMPORT,
        *LEAD_PROBES,
        *FILE_PROBES,
        *CLOSED_VISIT_PROBES,
        *LOCK_PROBES,
        *REPORT_PROBES,
        *GRANT_CASCADE_PROBES,
        *OTHER_PROBES,
        *route_probes(instance),
    ]


def first_failing_probe(instance: ServiceInstance, probes: list[Probe], tags: Iterable[str]) -> str | None:
    """Return the name of the first probe that fails, or None. Probes with tags of the mutant run first."""
    wanted = set(tags)
    instance.load(cast_world())
    for probe in sorted(probes, key=lambda probe: -len(probe.tags & wanted)):
        try:
            probe.run(instance)
        except ProbeFailed:
            return probe.name
    try:
        for seed in ORACLE_SEEDS:
            run_against_oracle(seed, instance)
    except OracleDiffers as differs:
        return f"oracle: {str(differs).splitlines()[1]}"
    return None
