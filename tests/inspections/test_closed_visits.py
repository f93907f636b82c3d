"""Rows of a closed visit: managers write none of them, whatever way the write takes; administrators correct them."""

from collections.abc import Callable

import pytest

from access.policy import POLICIES, WRITES_CLOSED_VISITS, permits
from access.roles import GrantProfile, Role
from engine.query.statement import Action
from models import RESOURCES
from models.inspection import CLOSED_CHECK
from models.locks import has_refusal
from models.vocabulary import CLOSED_STATUSES, INSPECTION_STATUSES
from tests.conftest import Response
from tests.inspections.case_world import (
    ELSEWHERE,
    FAILED,
    FIXED,
    FOUND_AT,
    MISSING,
    MOMENT,
    OPEN,
    VERIFIED,
    WAIVED,
    case_rows,
    finding,
    inspection,
    times,
)
from tests.inspections.file_world import image_bytes
from tests.support.storage import Storage

OTHER, OTHER_ROW = 1949, 79
"""An open visit, and the number of its rows."""

VISITS = {status: 1940 + place for place, status in enumerate(INSPECTION_STATUSES)}
ROWS = {status: 70 + place for place, status in enumerate(INSPECTION_STATUSES)}
"""The visit of each status, and the number of its rows."""

CHECK = {"gun_id": 77, "taken_at": "2026-11-20T10:00:00+00:00", "first": 1, "second": 1, "third": 1}
NEW: dict[str, dict] = {
    "reports_lead": {"gun_id": 77, "lead_mg_cm2": 5.0, "substrate": "wood"},
    "calibration_checks": CHECK,
    "findings": {"description": "No smoke alarm.", "severity": "moderate"},
}
CHANGE: dict[str, dict] = {
    "reports_lead": {"lead_mg_cm2": 0.1},
    "calibration_checks": {"note": "n"},
    "findings": {"description": "A smoke alarm."},
}
MERGE = "resolution=merge-duplicates"
REFUSED = (400, "23514")
MESSAGE = "The visit is closed. An administrator may take its result back."


def ref(number: int) -> str:
    return f"7b1c1c1e-0000-4000-8000-{number:012}"


def visit_rows() -> dict:
    """Return rows with a visit of each status, and with a reading, a check and a finding of each."""
    rows = case_rows()
    numbers = {OTHER: OTHER_ROW, **{VISITS[status]: ROWS[status] for status in VISITS}}
    rows["inspections"] += [inspection(key, 1, status, "2026-11-19") for status, key in VISITS.items()]
    rows["inspections"].append(inspection(OTHER, 1, "in_progress", "2026-11-19"))
    rows["findings"] += [finding(number, key, ref=ref(number)) for key, number in numbers.items()]
    common = {"reports_lead": {"updated_at": MOMENT}, "calibration_checks": times()}
    for table, values in common.items():
        rows[table] = [
            {"id": number, "inspection_id": key, "ref": ref(number), **NEW[table], **values}
            for key, number in numbers.items()
        ]
    return rows


def writes(table: str, status: str) -> dict[str, Callable]:
    """Return a request to a row of the visit of a status, or that would become one, by the way that it takes."""
    visit, row = VISITS[status], ROWS[status]
    new, change, path = {"inspection_id": visit, **NEW[table]}, CHANGE[table], f"/{table}"
    header, line = ",".join(new), ",".join(map(str, new.values()))
    whole, by_ref, merge = {**new, "ref": ref(row)}, f"{path}?on_conflict=ref", f"{MERGE},tx=rollback"
    undone = "tx=rollback"
    return {
        "insert": lambda who: who.post(path, new, prefer=undone),
        "insert of several": lambda who: who.post(path, [{**new, "inspection_id": OTHER}, new], prefer=undone),
        "insert of CSV": lambda who: who.post(path, f"{header}\n{line}\n", content_type="text/csv", prefer=undone),
        "upsert by reference": lambda who: who.post(by_ref, whole, prefer=merge),
        "upsert of a new row": lambda who: who.post(by_ref, {**new, "ref": ref(1)}, prefer=merge),
        "upsert that moves the row out": lambda who: who.post(by_ref, {**whole, "inspection_id": OTHER}, prefer=merge),
        "update": lambda who: who.patch(f"{path}?id=eq.{row}", change, prefer=undone),
        "update of several": lambda who: who.patch(f"{path}?inspection_id=in.({visit},{OTHER})", change, prefer=undone),
        "move out": lambda who: who.patch(f"{path}?id=eq.{row}", {"inspection_id": OTHER}, prefer=undone),
        "move in": lambda who: who.patch(f"{path}?id=eq.{OTHER_ROW}", {"inspection_id": visit}, prefer=undone),
        "delete": lambda who: who.delete(f"{path}?id=eq.{row}", prefer=undone),
        "delete of several": lambda who: who.delete(f"{path}?inspection_id=in.({visit},{OTHER})", prefer=undone),
    }


WAYS = [(table, way) for table in NEW for way in writes(table, "completed")]


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(visit_rows(), MOMENT)


def stored(case: Callable) -> list:
    return [case("root").get(f"/{table}?order=id").json for table in (*NEW, "finding_events", "files")]


@pytest.mark.parametrize(("table", "way"), WAYS, ids=[f"{table}, {way}" for table, way in WAYS])
def test_managers_write_rows_of_open_visits_only(case: Callable, table: str, way: str) -> None:
    before = stored(case)
    for status in INSPECTION_STATUSES:
        write = writes(table, status)[way]
        refused: Response = write(case("mia"))

        if status in CLOSED_STATUSES:
            assert (refused.status, refused.code) == REFUSED, (status, refused.text)
            assert refused.json["message"] == MESSAGE
            assert refused.json["details"].endswith("inspections_closed_check")
        else:
            assert refused.status in (200, 201, 204), (status, refused.text)
        for who in ("ada", "root", "service"):
            assert write(case(who)).status in (200, 201, 204), (who, status)
    assert stored(case) == before


@pytest.mark.parametrize("table", NEW)
def test_repeated_insert_of_an_offline_client_is_ignored_after_the_closing(case: Callable, table: str) -> None:
    row = {"inspection_id": VISITS["completed"], **NEW[table], "ref": ref(ROWS["completed"])}
    before = stored(case)

    answer = case("mia").post(f"/{table}?on_conflict=ref", row, prefer="resolution=ignore-duplicates")

    assert answer.status in (200, 201), answer.text
    assert stored(case) == before


def test_every_table_that_managers_write_knows_closed_visits() -> None:
    """A new table that refers to inspections has to say what a closed one refuses."""
    assert [role for role, writes_closed in WRITES_CLOSED_VISITS.items() if not writes_closed] == [Role.CLIENT_MANAGER]
    inspector = GrantProfile(Role.CLIENT_MANAGER, is_inspector=True)
    written = {
        model
        for model in POLICIES
        for action in (Action.INSERT, Action.UPDATE, Action.DELETE)
        if permits(inspector, action, model) and "inspection_id" in model.__table__.c
    }

    assert {model for model in RESOURCES.values() if has_refusal(model, CLOSED_CHECK)} == written
    assert written >= {RESOURCES[table] for table in NEW}


def test_managers_change_no_files_of_closed_visits(case: Callable) -> None:
    visit, row = VISITS["in_progress"], ROWS["in_progress"]
    of_visit, of_finding = f"inspections/{visit}/a.jpg", f"findings/{row}/a.jpg"
    mia, ada = Storage(case("mia")), Storage(case("ada"))
    assert [mia.upload(path, image_bytes()).status for path in (of_visit, of_finding)] == [200, 200]
    closed = {"p_inspection_id": visit, "p_status": "failed"}
    assert case("mia").rpc("close_visit", closed).status == 200
    before = stored(case)

    refused = [
        mia.upload(f"inspections/{visit}/b.jpg", image_bytes()),
        mia.send("PUT", f"/storage/v1/object/{of_visit}", image_bytes("PNG"), Content_Type="image/png"),
        mia.send("DELETE", f"/storage/v1/object/{of_visit}"),
        mia.send("DELETE", f"/storage/v1/object/{of_finding}"),
        mia.send("DELETE", "/storage/v1/object/findings", {"prefixes": [f"{row}/a.jpg"]}),
        mia.send("POST", "/storage/v1/object/move", moved(of_visit, f"inspections/{OTHER}/a.jpg")),
        mia.send("POST", "/storage/v1/object/move", moved(of_finding, f"findings/{OTHER_ROW}/a.jpg")),
        case("mia").patch("/files?bucket=in.(inspections,findings)", {"caption": "c"}),
    ]

    assert [answer.status for answer in refused] == [400] * len(refused), list(refused)
    assert ["The visit is closed." in str(answer.json) for answer in refused] == [True] * len(refused), [
        answer.json for answer in refused
    ]
    assert stored(case) == before
    assert mia.upload(f"findings/{row}/proof.jpg", image_bytes()).status == 200  # the finding is open
    assert ada.send("DELETE", f"/storage/v1/object/{of_visit}").status == 200


def test_proof_is_added_until_the_finding_is_verified(case: Callable) -> None:
    """Findings of a failed visit, uploaded by its inspector. Ada may add to each."""
    for who, statuses in (("mia", [200, 200, 400, 400]), ("ada", [200] * 4)):
        sender = Storage(case(who))
        sent = [sender.upload(f"findings/{key}/{who}.jpg", image_bytes()) for key in (OPEN, FIXED, VERIFIED, WAIVED)]
        assert [each.status for each in sent] == statuses
    refused = Storage(case("mia")).send(
        "POST", "/storage/v1/object/copy", {**moved(f"findings/{OPEN}/mia.jpg", f"findings/{VERIFIED}/c.jpg")}
    )
    assert refused.status == 400, refused.body


def test_upload_to_a_closed_visit_is_refused_before_its_bytes_and_repeated_if_stored(case: Callable) -> None:
    mia, path = Storage(case("mia")), f"inspections/{VISITS['in_progress']}/a.jpg"
    assert mia.upload(path, image_bytes()).status == 200
    case("mia").rpc("close_visit", {"p_inspection_id": VISITS["in_progress"], "p_status": "failed"})

    signed = mia.send("POST", f"/storage/v1/object/upload/sign/inspections/{VISITS['in_progress']}/b.jpg", {})
    repeated = mia.upload(path, image_bytes(), x_upsert="true")

    assert signed.status == 400
    assert signed.refusal[2].startswith(MESSAGE)
    assert repeated.status == 200, repeated.body


OTHER_VALUES: dict[str, dict] = {
    "reports_lead": {"lead_mg_cm2": 0.7},
    "calibration_checks": {"taken_at": "2026-11-20T11:00:00+00:00"},
    "findings": {"description": "No light."},
}
"""What tells the rows of a file from those that are there."""


def imported(case: Callable, who: str, table: str, visits: list[int], **arguments: object) -> dict:
    """Return the answer to an import of a row for each visit, which is rolled back."""
    values = {**NEW[table], **OTHER_VALUES[table]}
    lines = [",".join(map(str, (visit, *values.values()))) for visit in visits]
    asked = {"p_target": table, "p_csv": "\n".join((",".join(("inspection_id", *values)), *lines)), **arguments}
    answer = case(who).rpc("import_csv", asked, prefer="tx=rollback")
    assert answer.status == 200, answer.text
    return answer.json


@pytest.mark.parametrize("table", NEW)
def test_dry_run_names_the_lines_of_closed_visits_that_an_import_refuses(case: Callable, table: str) -> None:
    visits, before = [*VISITS.values(), ELSEWHERE, MISSING], stored(case)
    closed = [(line, "23514") for line, status in enumerate(VISITS, start=2) if status in CLOSED_STATUSES]
    hidden = [(line, "42501") for line, visit in enumerate(visits, start=2) if visit in (ELSEWHERE, MISSING)]

    asked = imported(case, "mia", table, visits)
    refused = imported(case, "mia", table, visits, p_dry_run=False)

    assert asked == refused
    assert [(each["line"], each["code"]) for each in asked["errors"]] == [*closed, *hidden]
    assert asked["errors"][0]["message"].startswith(MESSAGE)
    assert {each["column"] for each in asked["errors"]} == {"inspection_id"}
    assert asked["to_insert"] == len(VISITS) - len(closed)
    for who in ("ada", "root", "service"):
        written = imported(case, who, table, [*VISITS.values()], p_dry_run=False)
        assert (written["errors"], written["inserted"]) == ([], len(VISITS)), who
    assert stored(case) == before


@pytest.mark.parametrize("table", NEW)
def test_rows_that_exist_are_no_errors_after_the_closing(case: Callable, table: str) -> None:
    again = imported(case, "mia", table, [VISITS["failed"]], p_key=["inspection_id"])

    assert (again["errors"], again["already"], again["to_insert"]) == ([], 1, 0)


def test_lines_that_an_import_leaves_out_are_no_errors_of_closed_visits(case: Callable) -> None:
    text = "NOVDescription,Severity,CurrentStatus\nNo light,low,VIOLATION CLOSED\n"
    asked = {"p_target": "findings", "p_csv": text, "p_defaults": {"inspection_id": VISITS["failed"]}}

    skipped = case("mia").rpc("import_csv", {**asked, "p_closed": "skip"}).json
    verified = case("mia").rpc("import_csv", {**asked, "p_closed": "verified"}).json

    assert (skipped["errors"], skipped["skipped_total"]) == ([], 1)
    assert [each["code"] for each in verified["errors"]] == ["23514"]


def moved(source: str, target: str) -> dict[str, str]:
    bucket, source_key = source.split("/", 1)
    return {"bucketId": bucket, "sourceKey": source_key, "destinationKey": target.split("/", 1)[1]}


def test_findings_of_closed_visits_are_moved(case: Callable) -> None:
    fixed = case("mia").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed", "p_note": "Replaced."})

    assert fixed.json == {"moved": 1, "already": 0}


def test_manager_does_not_classify_readings_of_closed_visits(world: Callable) -> None:
    rows = visit_rows()
    for row in rows["reports_lead"]:
        row["classification"] = "negative"
    case = world(rows, MOMENT)
    visit = VISITS["completed"]
    answers = [case(who).rpc("reclassify_readings", {"p_inspection_id": visit}) for who in ("mia", "ada")]

    assert [(answer.status, answer.code) for answer in answers[:1]] == [REFUSED], answers[0].text
    assert answers[1].status == 200, answers[1].text


@pytest.mark.parametrize("who", ["mia", "ada", "root", "service"])
def test_finding_that_was_moved_is_not_deleted(case: Callable, who: str) -> None:
    """Its visit is open."""
    row = ROWS["in_progress"]
    moving = {"p_finding_ids": [row], "p_to": "fixed"}
    assert case("ada").rpc("move_findings", moving).status == 200
    before = stored(case)

    answers = [case(who).delete(f"/findings?id=eq.{row}"), case(who).delete(f"/findings?id=in.({row},{OTHER_ROW})")]

    assert [(answer.status, answer.code) for answer in answers] == [REFUSED] * 2, answers[0].text
    assert stored(case) == before
    assert case(who).delete(f"/findings?id=eq.{OTHER_ROW}").status == 204


def test_finding_that_was_imported_as_verified_is_deleted_until_it_is_moved(case: Callable) -> None:
    text = "NOVDescription,Severity,CurrentStatus\nNo light,low,VIOLATION CLOSED\nNo heat,low,VIOLATION CLOSED\n"
    asked = {"p_target": "findings", "p_csv": text, "p_defaults": {"inspection_id": OTHER}, "p_closed": "verified"}
    assert case("mia").rpc("import_csv", {**asked, "p_dry_run": False}).json["inserted"] == 2
    rows = case("ada").get("/findings?description=in.(No light,No heat)&select=id&order=id").json
    light, heat = (row["id"] for row in rows)
    reopening = {"p_finding_ids": [heat], "p_to": "open", "p_note": "It is cold."}
    assert case("mia").rpc("move_findings", reopening).json == {"moved": 1, "already": 0}

    refused = case("mia").delete(f"/findings?id=in.({light},{heat})")

    assert (refused.status, refused.code) == REFUSED, refused.text
    assert case("mia").delete(f"/findings?id=eq.{light}").status == 204


def test_finding_that_was_verified_after_it_was_made_is_not_deleted(world: Callable) -> None:
    rows = visit_rows()
    steps = {"made": FOUND_AT, "verified": MOMENT}
    rows["finding_events"] = [
        {"id": number, "finding_id": OTHER_ROW, "kind": kind, "at": at, **times()}
        for number, (kind, at) in enumerate(steps.items(), start=1)
    ]

    refused = world(rows, MOMENT)("mia").delete(f"/findings?id=eq.{OTHER_ROW}")

    assert (refused.status, refused.code) == REFUSED, refused.text


def test_inspection_takes_moved_findings_along(case: Callable) -> None:
    case("ada").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed"})

    assert case("ada").delete(f"/inspections?id=eq.{FAILED}").status == 204
    assert case("ada").get(f"/findings?inspection_id=eq.{FAILED}").json == []
