"""Odd input in URLs, forms and cookies never causes a server error."""

import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote_from_bytes

import pytest

from engine.query.statement import Action
from routes.console.session.auth import COOKIE, FORM_TYPE, KIOSK_COOKIE, SIGN_IN_COOKIE
from tests.conftest import MIA, MOE
from tests.console.generic import generic_pages

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

TEXTS = [
    b"",
    b" ",
    b"//[",
    b"[]",
    b"\\",
    b"'\"",
    b"%",
    b"&=?#;",
    b"a=b=c",
    b"(,).*:!",
    b"eq.",
    b"in.(1",
    b"-1",
    b"1.5e999",
    b"9" * 30,
    b"9" * 5_000,
    b"x" * 3_000,
    "٣²".encode(),
    "é\u202e\ufffe😀".encode(),
    b"\r\n\t",
    b"a\0b",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"{{7*7}}<b>",
]
TEXTS_PER_NAME_DIVISOR = 4

LIST = ("q", "order", "offset", "select", "limit", "id", "or", "and", "columns", "from", "to", "name")  # fmt: skip
ADDRESSES = {
    "": (),
    "/": ("from", "to"),
    "/session": (),
    "/inspections": (*LIST, "status", "inspection_type", "date_visited", "from", "to", "sought.name"),
    "/inspections.csv": LIST,
    "/inspections/<int:key>": (),
    "/inspections/new": ("building_id",),
    "/inspections/<int:key>/edit": (),
    "/inspections/<int:key>/delete": (),
    "/<any(buildings, inspections):name>/<int:key>/access": ("person", "back"),
    "/inspections/<int:key>/report": ("kind", "rule"),
    "/inspections/<int:key>/issue": ("kind", "rule"),
    "/issued_reports": (*LIST, "state"),
    "/issued_reports/<int:key>/page": (),
    "/issued_reports/<int:key>/withdraw": (),
    "/verify": ("report",),
    "/inspections/<int:key>/start_visit": (),
    "/inspections/<int:key>/close_visit": (),
    "/inspections/<int:key>/reinspect": (),
    "/inspections/<int:key>/skip_occurrence": (),
    "/inspections/<int:key>/add/<table_name>": (),
    "/import/<target>": ("inspection_id", "building_id"),
    "/visits": (),
    "/findings": (*LIST, "status", "due_at"),
    "/findings/move/<kind>": ("ids", "back", "visit"),
    "/findings/letter": ("ids", "back"),
    "/findings/photographs": ("ids", "back"),
    "/notices/<int:key>/letter": (),
    "/notices/<int:key>/<any(serve, withdraw):step>": (),
    "/files/<key>/original": (),
    "/files/<key>/thumbnail/<int:width>": (),
    "/files/<key>/delete": (),
    "/inspections/change/<column>": ("ids", "back"),
    "/inspections/month": (*LIST, "month"),
    "/inspectors/<int:key>/hand_over": (),
    "/audit_log/<int:key>/undo": (),
    "/schedules/new": ("building_id", "every", "unit", "first_due"),
    "/schedules/<int:key>/end": (),
    "/schedules/apply": ("buildings", "every", "unit", "first_due"),
    "/reports_lead/new": (),
    "/reports_lead/<int:key>/edit": (),
    "/reports_lead/<int:key>/void": (),
    "/reports_lead/<int:key>/delete": (),
    "/buildings": LIST,
    "/buildings.csv": LIST,
    "/buildings/<int:key>": (),
    "/buildings/new": (),
    "/buildings/<int:key>/edit": (),
    "/buildings/<int:key>/delete": (),
    "/buildings/<int:key>/defect": (),
    "/account": (),
    "/account/own_password": (),
    "/waiting": (),
    "/account/api_keys": (),
    "/account/api_keys/<key_id>/revocation": (),
    "/people": (*LIST, "role"),
    "/people/<key>": (),
    "/people/<key>/api_keys": (),
    "/people/<key>/api_keys/<key_id>/revocation": (),
    "/people/<key>/deactivation": (),
    "/people/new": ("inspector",),
    "/people/<key>/edit": (),
    "/people/<key>/delete": (),
    "/access": ("role", "client", "person", "building", "q", "who", "people", "buildings"),
    "/why": ("person", "kind", "key"),
    "/devices": (),
    "/devices/<key>/revocation": (),
    "/kiosk": (),
    "/kiosk/board": (),
    "/kiosk/enter": (),
    "/sign-in": ("next",),
    "/static/<name>": (),
    "/<path:rest>": (),
}  # fmt: skip
ADDRESSES |= {
    page.rule.removeprefix("/console"): LIST if page.suffix in ("", ".csv") else ()
    for page in generic_pages()
    if page.rule.removeprefix("/console") not in ADDRESSES
}
ADDRESSES |= {
    f"{page.rule.removeprefix('/console')}/suggest": ("q", "within") for page in generic_pages() if page.suffix == ""
}
"""The console's pages, with the parameters that each reads beside what all of them do."""
EVERYWHERE = ("done", "signature", "undo")

INSPECTION = {
    "building_id": "1",
    "inspection_type": "fire",
    "date_visited": "2026-01-01",
    "status": "failed",
    "inspector_id": "1",
    "notes": "x",
}
BUILDING = {
    **dict.fromkeys(("name", "address", "city", "state", "zip", "building_type"), "x"),
    **dict.fromkeys(("floors", "units", "latitude", "longitude", "client_id"), "1"),
}
PERSON = {"name": "N", "email": "n@x.example", "role": "client_manager", "client_id": "1"}
READING = {"inspection_id": "1", "gun_id": "1", "result": "x"}
FINDING = dict.fromkeys(("place", "item", "description"), "x") | {"severity": "low"}
SCHEDULE = {
    "inspection_type": "fire",
    "title": "x",
    "every": "1",
    "unit": "year",
    "counted_from": "planned",
    "first_due": "2026-01-01",
}
SEEN = {"seen": "name=0123456789abcdef"}
FORMS = {
    "/sign-in": {"email": "a@x.example", "password": "", "next": "/console/"},
    "/sign-out": {},
    "/kiosk/enter": {"code": "ABCDEFGH"},
    "/kiosk/leave": {},
    "/import/<target>": {"date_format": "ymd", "csv": "name,city\nA,B\n", "check": "1"},
    "/inspections/new": INSPECTION,
    "/inspections/<int:key>/edit": INSPECTION | SEEN,
    "/inspections/<int:key>/status": {"status": "failed"} | SEEN,
    "/inspections/<int:key>/delete": {},
    "/<any(buildings, inspections):name>/<int:key>/access": {"person": MIA, "do": "give", "back": "/"},
    "/inspections/<int:key>/start_visit": {},
    "/inspections/<int:key>/close_visit": {"status": "failed", "date_visited": "2026-01-01", "notes": "x"},
    "/inspections/<int:key>/take_back": {},
    "/inspections/<int:key>/issue": {"signed_name": "x", "rule": "VA", "gaps_reason": "x", "signature_png": "x"},
    "/issued_reports/<int:key>/withdraw": {"note": "x"},
    "/inspections/<int:key>/reinspect": {"date_visited": "2026-01-01"},
    "/inspections/<int:key>/skip_occurrence": {"reason": "x"},
    "/inspections/<int:key>/add/findings": FINDING,
    "/inspections/<int:key>/add/<table_name>": FINDING,
    "/findings/new": FINDING | {"inspection_id": "1", "code": "x"},
    "/findings/move/<kind>": {"ids": "1,3", "back": "/findings", "visit": "", "note": "x", "due_at": ""},
    "/findings/letter": {"ids": "1,3", "back": "/findings", "to_name": "x", "to_address": "x"},
    "/notices/<int:key>/<any(serve, withdraw):step>": {"how": "post", "on": "2026-01-01", "note": "x"},
    "/<any(inspections, findings, buildings):bucket>/<int:key>/files": {"files": ""},
    "/files/<key>/delete": {},
    "/inspections/change/<column>": {"ids": "1,3", "back": "/inspections", "date": "2026-01-01", "days": ""},
    "/inspections/change/<column>/confirm": {"edit": "2025-03-01:2026-01-01:1", "back": "/inspections"},
    "/audit_log/<int:key>/undo": {},
    "/inspectors/<int:key>/hand_over": {"first_day": "2025-01-01", "last_day": "", "inspector_id": "2"},
    "/schedules/new": SCHEDULE | {"building_id": "1", "grace_days": "0", "preview": ""},
    "/schedules/<int:key>/end": {"ended_on": "2026-01-01"},
    "/schedules/apply": SCHEDULE | {"spread_days": "1"},
    "/schedules/apply/confirm": SCHEDULE | {"spread_days": "1", "ids": "1,2"},
    "/reports_lead/new": READING,
    "/reports_lead/<int:key>/edit": READING | SEEN,
    "/reports_lead/<int:key>/void": {"reason": "Wrong wall."},
    "/inspections/<int:key>/reclassify": {},
    "/reports_lead/<int:key>/delete": {},
    "/buildings/new": BUILDING,
    "/buildings/<int:key>/edit": BUILDING | SEEN,
    "/buildings/<int:key>/delete": {},
    "/buildings/<int:key>/defect": {"description": "A crack.", "severity": "low", "place": "", "item": ""},
    "/people/new": PERSON | {"password": "", "building": "1"},
    "/people/<key>/edit": PERSON | SEEN | {"password": ""},
    "/people/<key>/api_keys": {"name": "x", "rights": "read", "days": "30"},
    "/people/<key>/api_keys/<key_id>/revoke": {},
    "/people/<key>/disable": {},
    "/people/<key>/enable": {},
    "/people/<key>/delete": {},
    "/access": {"pair": f"{MOE}:2", "grant": f"{MOE}:2", "was": f"{MOE}:1", "all": "", "none": "", "back": "?q=x"},
    "/access/confirm": {"made": f"{MOE}:2", "gone": f"{MOE}:1", "back": "?q=x"},
    "/devices": {"name": "Hall", "person": MOE, "days": "30"},
    "/devices/<key>/revoke": {},
    "/account/api_keys": {"name": "x", "rights": "all", "days": "none"},
    "/account/api_keys/<key_id>/revoke": {},
    "/account/name": {"name": "Root"},
    "/account/calendar": {"link_name": "Phone"},
    "/account/password": {"current_password": "x", "password": "another one"},
    "/account/own_password": {"current_password": "x", "password": "another one"},
    "/account/sessions": {},
    "/account/sessions/<key>/end": {},
}  # fmt: skip
FORMS |= {
    page.rule.removeprefix("/console"): {"name": "x", "email": "x@x.example", "inspection_id": "1"} | SEEN
    for page in generic_pages()
    if page.action is not Action.READ and page.rule.removeprefix("/console") not in FORMS
}
"""The console's forms, each filled in as it may be."""
FILLED_IN = {"int:key": "1", "int:parent": "2", "key": MOE, "name": "console.css", "path:rest": "x"}  # fmt: skip
FILLED_IN |= {"key_id": MOE, "kind": "fixed", "table_name": "findings", "column": "date_visited", "target": "findings"}
FILLED_IN |= {"any(buildings, inspections):name": "inspections", "int:width": "160"}
FILLED_IN |= {"any(serve, withdraw):step": "serve"}
FILLED_IN |= {"any(inspections, findings, buildings):bucket": "inspections"}
PLACE = re.compile("<([^>]+)>")


def rules(app: object, method: str) -> set[str]:
    return {
        rule.rule.removeprefix("/console")
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/console") and method in rule.methods
    }


def test_every_view_is_covered(app: object) -> None:
    assert rules(app, "GET") == set(ADDRESSES)
    assert rules(app, "POST") == set(FORMS)


def path_of(rule: str) -> str:
    return "/console" + PLACE.sub(lambda place: FILLED_IN[place[1]], rule)


def spread(names: Iterable[str], rule: str) -> Iterator[tuple[str, bytes]]:
    """Yield each name of a page with a fourth of the texts. Each text comes once at least; pages differ in the fourths.

    The pages share the code that reads parameters and fields, so that together they cover each name with each text.
    """
    names = list(names)
    step = min(len(names), TEXTS_PER_NAME_DIVISOR)
    for place, name in enumerate(names, len(rule)):
        for text in TEXTS[place % step :: step]:
            yield name, text


def encoded(pairs: dict[str, bytes]) -> str:
    return "&".join(f"{name}={quote_from_bytes(text, safe='')}" for name, text in pairs.items())


@pytest.mark.parametrize("rule", ADDRESSES)
def test_odd_query_strings_do_not_fail(browse_shared: Callable, rule: str) -> None:
    root = browse_shared("root")
    for name, text in spread((*ADDRESSES[rule], *EVERYWHERE), rule):
        query = encoded({name: text})
        answer = root.get(f"{path_of(rule)}?{query}")
        assert answer.status_code < 500, (rule, query, answer.text)


@pytest.mark.parametrize("rule", [rule for rule in sorted({*ADDRESSES, *FORMS}) if "<" in rule])
def test_odd_paths_do_not_fail(browse_shared: Callable, rule: str) -> None:
    root = browse_shared("root")
    for text in TEXTS[len(rule) % TEXTS_PER_NAME_DIVISOR :: TEXTS_PER_NAME_DIVISOR]:
        path = "/console" + PLACE.sub(quote_from_bytes(text, safe=""), rule)
        for answer in (root.get(path), root.client.post(path)):
            assert answer.status_code < 500, (path, answer.text)


def fillings(rule: str, csrf: str) -> Iterator[dict[str, bytes]]:
    """Yield a form with an odd text in one field. The other fields are valid."""
    good = {name: text.encode() for name, text in {"csrf": csrf, **FORMS[rule]}.items()}
    for name, text in spread((*good, "nope"), rule):
        yield {**good, name: text}


@pytest.mark.parametrize("rule", FORMS)
def test_odd_form_values_do_not_fail(browse: Callable, rule: str) -> None:
    is_signed_in = rule not in ("/sign-in", "/kiosk/enter", "/kiosk/leave")
    person = browse("root" if is_signed_in else None)
    csrf = person.token("/console/" if is_signed_in else "/console/sign-in")
    for filled in fillings(rule, csrf):
        answer = person.client.post(path_of(rule), data=encoded(filled), content_type=FORM_TYPE)
        assert answer.status_code < 500, (rule, filled, answer.text)


@pytest.mark.parametrize("text", TEXTS, ids=[str(text[:12]) for text in TEXTS])
def test_odd_cookies_do_not_fail(app: object, text: bytes) -> None:
    client = app.test_client(use_cookies=False)
    value = text.decode("latin-1").translate(dict.fromkeys(map(ord, "\0\r\n;"), "_"))
    for path in ("/console/", "/console/kiosk", "/console/sign-in"):
        for name in (COOKIE, KIOSK_COOKIE, SIGN_IN_COOKIE):
            answer = client.get(path, headers={"Cookie": f"{name}={value}"})
            assert answer.status_code < 500, (path, name, answer.text)
