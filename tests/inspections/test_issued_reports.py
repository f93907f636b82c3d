"""Issued reports: who issues them, what is refused, amendments, and what is frozen."""

import base64
import dataclasses
import hashlib
import html
import json
import re
import threading
import zlib
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from inspections.reports.frozen import canonical_json
from tests.inspections.case_world import ELSEWHERE, FAILED, MISSING, MOMENT, SCHEDULED, finding
from tests.inspections.issuing import KINDS, content_of, issue, issued, show, withdraw
from tests.inspections.report_world import LEAD, OTHERS, ROUND_2, lead_reading, report_rows
from tests.support.photographs import photograph
from tests.support.storage import picture, storage_of

SERVICE_COLUMNS = ("classification", "time_is_by_order")
PNG = base64.b64encode(picture("signature", size=(300, 120))).decode()
DENIED = (403, "42501", "permission denied for this inspection")


@pytest.fixture
def reports(world: Callable) -> Callable:
    return world(report_rows(), MOMENT)


# Issuing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("who", ["root", "ada", "mia", "service"])
def test_report_is_issued_by_admins_and_the_inspector_of_the_visit(reports: Callable, who: str, kind: str) -> None:
    made = issued(reports, who, kind=kind)

    [row] = reports("root").get("/issued_reports").json
    assert made == {name: row[name] for name in ("id", "number", "sha256", "kind", "issued_at")}
    assert (row["number"], row["kind"], row["issued_at"]) == ("2026-000001", kind, MOMENT)
    assert (row["inspection_id"], row["client_id"], row["signed_name"]) == (LEAD, 1, "Ines Park")
    assert row["rule"] == ("federal" if kind == "lead" else None)
    person = {"ada": "Ada", "mia": "Mia", "root": "Root"}.get(who)
    name = (row["content"]["issued"]["person"] or {}).get("name")
    assert (name or "").startswith(person or "")
    assert (name is None) == (who == "service")
    assert row["issued_by"] == getattr(reports(who).person, "id", None)
    assert row["sha256"] == hashlib.sha256(canonical_json(row["content"]).encode()).hexdigest()


@pytest.mark.parametrize(
    ("who", "key", "refusal"),
    [
        ("moe", LEAD, DENIED),
        ("bob", FAILED, DENIED),
        ("moe", OTHERS, (404, "PT404", "Inspection not found")),
        ("mia", ELSEWHERE, (404, "PT404", "Inspection not found")),
        ("max", LEAD, (404, "PT404", "Inspection not found")),
        ("ada", MISSING, (404, "PT404", "Inspection not found")),
    ],
)
def test_others_issue_no_report(reports: Callable, who: str, key: int, refusal: tuple) -> None:
    assert issue(reports, who, key, "findings").refusal == refusal
    assert reports("root").get("/issued_reports").json == []


@pytest.mark.parametrize(
    ("key", "arguments", "status", "code", "details"),
    [
        (SCHEDULED, {}, 400, "23514", "issue_report_status_check"),
        (ROUND_2, {}, 400, "23514", "issue_report_status_check"),
        (LEAD, {"p_kind": "fire"}, 400, "22023", None),
        (LEAD, {"p_rule": "ME"}, 400, "22023", None),
        (LEAD, {"p_kind": "findings", "p_rule": "VA"}, 400, "22023", None),
        (LEAD, {"p_signed_name": ""}, 400, "22023", None),
        (LEAD, {"p_signed_name": "   "}, 400, "22023", None),
        (LEAD, {"p_signed_name": None}, 400, "22P02", None),
        (LEAD, {"p_signed_name": "x" * 201}, 400, "22023", None),
    ],
)
def test_refusals_of_an_issue(
    reports: Callable, key: int, arguments: dict, status: int, code: str, details: str | None
) -> None:
    refused = issue(reports, "ada", key, **arguments)

    assert (refused.status, refused.code, refused.json["details"]) == (status, code, details)
    assert reports("root").get("/issued_reports").json == []


def test_visit_has_one_report_of_a_kind(reports: Callable) -> None:
    issued(reports)

    again = issue(reports, "mia")

    message = 'duplicate key value violates unique constraint "issued_reports_active_key"'
    assert again.refusal == (409, "23505", message)
    assert issued(reports, kind="findings")["number"] == "2026-000002"


def test_report_with_gaps_needs_a_reason(world: Callable) -> None:
    rows = report_rows()
    rows["inspectors"][0]["license"] = None
    del rows["building_details"][0]["year_built"]
    reports = world(rows, MOMENT)

    refused = issue(reports)
    blank = issue(reports, p_gaps_reason=" ")
    made = issued(reports, p_gaps_reason="The owner has no papers <b>")

    assert (refused.status, refused.code) == (400, "23514")
    assert refused.json["details"] == "issue_report_gaps_check: year_built, inspector.license"
    assert blank.refusal == refused.refusal
    assert content_of(reports, made["id"])["issued"]["gaps_reason"] == "The owner has no papers <b>"
    page = show(reports, made["id"]).text
    assert page.index("<strong>Incomplete</strong>") < page.index(
        "Issued nevertheless: The owner has no papers &lt;b&gt;"
    )


def test_reason_is_not_kept_for_a_complete_report(reports: Callable) -> None:
    made = issued(reports, p_gaps_reason="Just in case")

    assert content_of(reports, made["id"])["issued"]["gaps_reason"] is None
    assert "Incomplete" not in show(reports, made["id"]).text


def test_rule_is_chosen_or_that_of_the_state(world: Callable) -> None:
    rows = report_rows()
    rows["buildings"][0]["state"] = "MI"
    rows["inspectors"][0]["license_state"] = "MI"
    reports = world(rows, MOMENT)

    by_state = issued(reports)
    withdraw(reports, by_state["id"])
    chosen = issued(reports, p_rule="federal")

    found = {each["id"]: each["rule"] for each in reports("ada").get("/issued_reports").json}
    assert found == {by_state["id"]: "MI", chosen["id"]: "federal"}


def test_content_is_complete_and_names_what_counted(reports: Callable) -> None:
    photo = photograph("the kitchen")
    assert storage_of(reports)("ada").upload(f"inspections/{LEAD}/kitchen.jpg", photo).status == 200

    content = content_of(reports, issued(reports, "mia")["id"])

    report = content["report"]
    assert (report["inspector"]["license"], report["inspector"]["firm"]) == ("LI-20417", "Park Inspections")
    assert (report["instruments"][0]["serial"], report["standard"]["from_value"]) == ("24093", 1.0)
    assert report["instruments"][0]["limits"][0].keys() >= {"negative_below", "positive_from", "limits_from"}
    assert (report["owner"]["name"], report["building"]["year_built"]) == ("Pier Street Trust", 1928)
    [file] = report["files"]
    assert file["sha256"] == hashlib.sha256(photo).hexdigest()
    image = base64.b64decode(content["thumbnails"][file["sha256"]])
    assert image.startswith(b"\xff\xd8")
    assert len(image) <= 40 << 10


def test_content_does_not_depend_on_the_issuer(reports: Callable) -> None:
    texts = []
    for who in ("mia", "ada", "root"):
        made = issued(reports, who)
        texts.append(canonical_json(content_of(reports, made["id"])["report"]))
        withdraw(reports, made["id"])

    assert texts == [texts[0]] * 3


def test_findings_report_has_the_findings_of_its_visit_alone(world: Callable) -> None:
    rows = report_rows()
    rows["inspections"][-2]["status"] = "completed"
    assert rows["inspections"][-2]["id"] == ROUND_2
    reports = world(rows, MOMENT)

    contents = [content_of(reports, issued(reports, key=key, kind="findings")["id"]) for key in (FAILED, ROUND_2)]

    found = [
        {each["id"] for group in content["report"]["severities"] for each in group["findings"]} for content in contents
    ]
    assert found == [{1, 2, 3, 4, 11}, {10}]
    assert contents[1]["report"]["by_status"] == {"open": 1, "fixed": 0, "verified": 0, "waived": 0}


# Signatures


def test_typed_signature_is_printed(reports: Callable) -> None:
    made = issued(reports, p_signed_name=" Ines O'Park ")

    content = content_of(reports, made["id"])
    assert (content["issued"]["signed_name"], content["issued"]["signature_sha256"]) == ("Ines O'Park", None)
    assert "<i>Ines O&#39;Park</i>" in show(reports, made["id"]).text


def test_drawn_signature_is_printed(reports: Callable) -> None:
    made = issued(reports, p_signature_png=PNG)

    [row] = reports("ada").get("/issued_reports").json
    stored = base64.b64decode(row["signature"])
    assert stored.startswith(b"\x89PNG")
    assert row["content"]["issued"]["signature_sha256"] == hashlib.sha256(stored).hexdigest()
    assert f'<img src="data:image/png;base64,{row["signature"]}" alt="Signature of Ines Park">' in (
        show(reports, made["id"]).text
    )


def test_text_chunks_of_a_signature_are_left_out(reports: Callable) -> None:
    data = base64.b64decode(PNG)
    said = b"tEXtComment\0<script>"
    chunk = (len(said) - 4).to_bytes(4, "big") + said + zlib.crc32(said).to_bytes(4, "big")

    issued(reports, p_signature_png=base64.b64encode(data[:33] + chunk + data[33:]).decode())

    [row] = reports("ada").get("/issued_reports").json
    assert b"script" not in base64.b64decode(row["signature"])


def hostile() -> dict[str, bytes]:
    good = base64.b64decode(PNG)
    return {
        "empty": b"",
        "text": b"<svg onload=alert(1)>",
        "JPEG": picture(kind="JPEG"),
        "cut": good[:-40],
        "head": good[:40],
        "too wide": picture(size=(1_201, 10)),
        "too high": picture(size=(10, 601)),
        "too long": good.ljust(65_537, b"\0"),
        "damaged": good[:60] + b"\xff\xff\xff\xff" + good[64:],
        "of no height": good[:20] + b"\0\0\0\0" + good[24:],
        "of a gigapixel": good[:16] + b"\x7f\xff\xff\xff\x7f\xff\xff\xff" + good[24:],
    }


@pytest.mark.parametrize("name", hostile())
def test_hostile_signatures_are_refused(reports: Callable, name: str) -> None:
    refused = issue(reports, p_signature_png=base64.b64encode(hostile()[name]).decode())

    message = "A signature is a PNG in base64 of at most 1200 x 600 pixels and 65536 bytes."
    assert refused.refusal == (400, "22023", message)
    assert reports("root").get("/issued_reports").json == []


@pytest.mark.parametrize("text", ["no base64!", "ü", "data:image/png;base64,AAAA", "AAA"])
def test_signatures_that_are_no_base64_are_refused(reports: Callable, text: str) -> None:
    assert issue(reports, p_signature_png=text).refusal[:2] == (400, "22023")


def test_names_are_escaped_in_the_page(world: Callable) -> None:
    rows = report_rows()
    bad = '<script>alert(1)</script>" onerror="x" src="signature:" src="thumbnail:' + "0" * 64 + '"'
    rows["buildings"][0]["name"] = rows["inspectors"][0]["name"] = rows["building_details"][0]["owner_name"] = bad
    rows["users"] = [{**each, "name": bad} for each in rows["users"]]
    rows["findings"] += [finding(30, LEAD, place=bad, description=bad)]
    reports = world(rows, MOMENT)
    caption = {"caption": bad}
    storage_of(reports)("ada").upload(f"inspections/{LEAD}/a.jpg", photograph("a"))
    assert reports("ada").patch(f"/files?inspection_id=eq.{LEAD}", caption).status == 204

    for kind in KINDS:
        made = issued(reports, kind=kind, p_signed_name=bad[:200], p_signature_png=PNG)
        page = show(reports, made["id"]).text
        assert "<script" not in page
        assert page.count('src="data:image/png') == 1
        assert page.count('src="data:image/jpeg') == 1
        assert not re.search(r'" onerror="|src="(?:signature|thumbnail):', page)
        assert bad[:200] in html.unescape(page)


def test_longest_names_are_stored(reports: Callable) -> None:
    made = issued(reports, p_signed_name="😀" * 200)

    assert reports("ada").get(f"/issued_reports?id=eq.{made['id']}&select=signed_name").json == [
        {"signed_name": "😀" * 200}
    ]


# The page and the JSON


def test_hidden_and_missing_reports_do_not_exist(reports: Callable) -> None:
    made = issued(reports)
    for accept in ("text/html", "application/json"):
        for who in ("bob", "max"):
            missing = show(reports, MISSING, who, accept)
            assert missing.refusal == (404, "PT404", "Report not found")
            assert show(reports, made["id"], who, accept).whole == missing.whole
    assert reports("ada").get("/reports/issued/x").refusal[:2] == (400, "22P02")
    assert reports("nobody").get(f"/reports/issued/{made['id']}").refusal[:2] == (401, "42501")


def test_json_is_canonical_and_has_frozen_things_only(reports: Callable) -> None:
    made = issued(reports)

    answer = show(reports, made["id"], "moe", "application/json")

    assert answer.text == canonical_json(answer.json)
    assert set(answer.json) == {"content", "number", "sha256"}
    assert (answer.json["number"], answer.json["sha256"]) == (made["number"], made["sha256"])


def test_page_says_number_person_and_how_to_verify(reports: Callable) -> None:
    made = issued(reports, "ada", p_signature_png=PNG)
    page = show(reports, made["id"], "moe")

    assert f"<b>Report {made['number']}</b>, issued 2026-11-20 14:05 by " in page.text
    assert "verify_report" in page.text
    assert "Draft" not in page.text
    assert made["sha256"] not in page.text
    [style] = re.findall(r"<style>(.*)</style>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert page.headers["Content-Security-Policy"] == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    )
    assert set(re.findall(r'src="([a-z]*:)', page.text)) == {"data:"}
    assert not re.search(r"<(script|link|iframe|object|form)|url\(|@import| style=| on[a-z]+=", page.text)


def test_an_unchanged_report_is_not_sent_again(reports: Callable) -> None:
    made = issued(reports)
    tags = {
        accept: show(reports, made["id"], accept=accept).headers["ETag"] for accept in ("text/html", "application/json")
    }

    assert len(set(tags.values())) == 2
    for accept, tag in tags.items():
        again = reports("ada").get(f"/reports/issued/{made['id']}", accept=accept, headers={"If-None-Match": tag})
        assert (again.status, again.text) == (304, "")


def test_drafts_say_so_on_the_page(reports: Callable) -> None:
    for kind in KINDS:
        page = reports("ada").get(f"/reports/inspections/{LEAD}?kind={kind}", accept="text/html").text
        assert '<p class="draft"><strong>Draft</strong>' in page


# Concurrency and work


def test_numbers_of_concurrent_issuers_have_no_holes(world: Callable) -> None:
    rows = report_rows()
    visits = [each["id"] for each in rows["inspections"] if each["building_id"] == 1 and each["id"] != ROUND_2]
    for each in rows["inspections"]:
        each["status"] = "completed"
    tasks = [(key, kind) for key in visits for kind in KINDS][:8]
    reports = world(rows, MOMENT)
    start, answers = threading.Barrier(8), []
    who = reports("root")
    who.patch("/clients?id=eq.1", {"phone": "+1"})  # the application of the threads is open

    def make(key: int, kind: str) -> None:
        start.wait()
        answers.append(issue(reports, "root", key, kind, p_gaps_reason="A test"))

    threads = [threading.Thread(target=make, args=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(each.json["number"] for each in answers) == [f"2026-{number:06}" for number in range(1, 9)]


def test_a_refused_or_rolled_back_issue_takes_no_number(reports: Callable) -> None:
    said = {"p_inspection_id": LEAD, "p_kind": "lead", "p_signed_name": "Ines"}
    assert reports("ada").rpc("issue_report", said, prefer="tx=rollback").status == 200
    assert issue(reports, p_kind="fire").status == 400

    assert issued(reports)["number"] == "2026-000001"


def test_statements_and_content_of_a_large_report_are_bounded(world: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = report_rows()
    rows["reports_lead"] += [lead_reading(key, reading_no=key) for key in range(10, 1_010)]
    reports = world(rows, MOMENT)
    store = storage_of(reports)("ada")
    few = issue_counting(reports, monkeypatch)
    withdraw(reports, few[0])
    for number in range(200):
        assert store.upload(f"inspections/{LEAD}/{number}.jpg", photograph(f"{number}", (64, 48))).status == 200

    many = issue_counting(reports, monkeypatch)

    assert many[1] <= few[1] + 2  # the content of the former report, which a server counts twice
    content = content_of(reports, many[0])
    assert (len(content["thumbnails"]), len(content["report"]["readings"])) == (200, 1_002)


def issue_counting(reports: Callable, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Issue a report; return its id, and the number of statements of the call."""
    found: list[str] = []
    stored = reports("root").database.app_for("POST", "/").extensions["walkthrough"]
    kinds = []
    for opened in (stored.reading, stored.writing):
        with opened() as transaction:
            kinds.append(type(transaction))
    with monkeypatch.context() as patched:
        for kind in dict.fromkeys(kinds):
            run = kind.run

            def record(self: object, sql: str, *parameters: object, run: Callable = run) -> object:
                found.append(sql)
                return run(self, sql, *parameters)

            patched.setattr(kind, "run", record)
        made = issued(reports, p_gaps_reason="Large")
    assert found
    return made["id"], len(found)


def test_rows_changed_meanwhile_are_not_left_out(reports: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspections.reports import issue as module

    read, found = module.read_issuable, []

    def read_another(*arguments: object) -> tuple:
        report, former = read(*arguments)
        found.append(report)
        return (report if len(found) == 1 else dataclasses.replace(report, made_on="2026-12-01")), former

    monkeypatch.setattr(module, "read_issuable", read_another)

    refused = issue(reports)

    assert (refused.status, refused.code, len(found)) == (503, "55P03", 2)
    assert json.loads(refused.text)["message"].startswith("The rows of the report were changed")
    assert reports("root").get("/issued_reports").json == []


def test_page_is_rendered_without_the_writer_lock(reports: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    from engine.interface.database import CURRENT
    from inspections.reports import frozen

    render, locked = frozen.RENDERERS["lead"], []

    def observe(*arguments: object) -> str:
        locked.append(CURRENT.get().writes)
        return render(*arguments)

    monkeypatch.setitem(frozen.RENDERERS, "lead", observe)

    made = issued(reports)

    assert locked == [False]
    assert made["number"] in reports("root").get(f"/reports/issued/{made['id']}").text


def test_images_that_cannot_be_shown_count_as_thumbnails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visit may have thousands of damaged photographs, each of which takes time."""
    from inspections.reports import frozen

    tried: list[object] = []
    monkeypatch.setitem(frozen.STORES, "files", lambda: None)
    monkeypatch.setattr(frozen, "small_thumbnail", lambda store, file: tried.append(file) or "")
    damaged = [SimpleNamespace(sha256=f"{number:064x}", mimetype="image/png") for number in range(500)]

    assert set(frozen.thumbnails_of(damaged).values()) == {""}
    assert len(tried) == frozen.THUMBNAILS_MAX
