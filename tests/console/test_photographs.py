"""Photographs in the console: the form, the gallery, the page and the bytes of each file, and who sees them."""

import hashlib
import html
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import MOE
from tests.console.conftest import Form, FormClient
from tests.console.inspection_rows import FIXED, LATE, LATE_VISIT, add_findings, add_visits, set_clock
from tests.support.photographs import LATITUDE, TAKEN_TEXT, photograph
from tests.support.storage import PDF

pytestmark = pytest.mark.one_engine

VISIT, FINDING, BUILDING = f"/console/inspections/{LATE_VISIT}", f"/console/findings/{LATE}", "/console/buildings/1"
MISSING = "/console/files/00000000-0000-4000-8000-000000000000"
PAGES = ("", "/original", "/thumbnail/160", "/thumbnail/640")
LINK = re.compile(r'href="(/console/files/[0-9a-f-]{36})"')
DOOR = photograph("door")


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)
    add_findings(api)


def send(client: FormClient, page: str, *files: tuple[str, bytes], shown: str | None = None, **headers: str) -> object:
    """Submit the form of a page with files. A field without a file has an empty name."""
    fields = Form(client.page(page) if shown is None else shown, f"{page}/files").with_({})
    sent = [(io.BytesIO(body), name, "application/octet-stream") for name, body in files or [("", b"")]]
    return client.client.post(f"{page}/files", data={**fields, "file": sent}, headers=headers)


def stored(client: FormClient, page: str, *files: tuple[str, bytes]) -> list[str]:
    """Store files, and return the pages of all files of the row."""
    answer = send(client, page, *files)
    assert answer.status_code == 303, answer.text
    assert answer.headers["Location"] == f"{page}#photographs"
    return links(client, page)


def fetch(client: FormClient, path: str, **headers: str) -> object:
    """Return the whole response; its file is closed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(path, headers=named, buffered=True)


def links(client: FormClient, page: str) -> list[str]:
    return [*dict.fromkeys(LINK.findall(client.page(page)))]


def names(api: Callable) -> list[str]:
    return [row["name"] for row in api("service").get("/files?order=name").json]


def temporaries(app: object) -> list[Path]:
    folder = app.extensions["walkthrough.files"].incoming
    return [each for each in folder.iterdir() if not each.name.startswith(".")] if folder.exists() else []


@pytest.mark.parametrize(("who", "page"), [("mia", VISIT), ("mia", FINDING), ("ada", FINDING), ("root", BUILDING)])
def test_photograph_is_stored_and_shown_as_it_was_taken(browse: Callable, app: object, who: str, page: str) -> None:
    person = browse(who)

    [url] = stored(person, page, ("front door.jpg", DOOR))

    shown, gallery = person.page(url), person.page(page)
    original = fetch(person, f"{url}/original")
    assert original.data == DOOR
    assert hashlib.sha256(DOOR).hexdigest() in shown
    assert TAKEN_TEXT in shown
    assert "front door.jpg" in shown
    assert f'href="{page}"' in shown
    assert f'src="{url}/thumbnail/640"' in gallery
    small = fetch(person, f"{url}/thumbnail/160")
    assert small.content_type == "image/jpeg"
    assert b"Exif" not in small.data
    assert temporaries(app) == []


def test_bytes_have_the_headers_of_storage(browse: Callable) -> None:
    mia = browse("mia")
    [url] = stored(mia, FINDING, ("a.jpg", DOOR))

    for path, size in ((f"{url}/original", len(DOOR)), (f"{url}/thumbnail/160", None)):
        answer = fetch(mia, path)
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.headers["Content-Disposition"].startswith("inline; filename=\"a.jpg\"; filename*=UTF-8''a.jpg")
        assert size in (None, answer.content_length)
        assert fetch(mia, path, If_None_Match=answer.headers["ETag"]).status_code == 304
        part = fetch(mia, path, Range="bytes=2-5")
        assert (part.status_code, part.data) == (206, answer.data[2:6])


def test_several_files_are_stored_at_once_under_names_of_their_own(browse: Callable, api: Callable) -> None:
    """A telephone gives every photograph the same name."""
    mia = browse("mia")

    answer = send(mia, FINDING, ("image.jpg", DOOR), ("image.jpg", photograph("wall")), ("Tür #1.pdf", PDF))

    assert answer.status_code == 303
    assert names(api) == [f"{LATE}/Tür -1.pdf", f"{LATE}/image 2.jpg", f"{LATE}/image.jpg"]
    page = mia.page(FINDING)
    assert "3 files stored." in page
    assert len(links(mia, FINDING)) == 3
    assert page.count("/thumbnail/") == 2
    assert ">PDF<" in page


def test_repeated_form_stores_nothing_twice_and_other_files_are_stored(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    shown = mia.page(FINDING)

    for body in (DOOR, DOOR, photograph("wall")):
        assert send(mia, FINDING, ("image.jpg", body), shown=shown).status_code == 303

    assert names(api) == [f"{LATE}/image 2.jpg", f"{LATE}/image.jpg"]


def test_form_of_a_script_has_no_page_as_its_answer(browse: Callable) -> None:
    mia = browse("mia")

    answer = send(mia, FINDING, ("image.jpg", DOOR), Accept="application/json")

    assert (answer.status_code, answer.data, "Location" in answer.headers) == (204, b"", False)
    assert "Stored." in mia.page(FINDING)


@pytest.mark.parametrize(
    ("files", "status", "text"),
    [
        ((), 400, "Choose a photograph or a document first."),
        ((("a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>"),), 415, "Files are JPEG, PNG, WebP, HEIC or PDF."),
        ((("a.jpg", b""),), 400, "A file has at least one byte."),
        ((("a.jpg", DOOR), ("b.txt", b"words")), 415, "Nothing was stored."),
        ((("a.jpg", DOOR + bytes(60_000)),), 413, "The file is too large: a file has at most 48 KiB."),
    ],
)
def test_refused_files_leave_nothing(
    browse: Callable, api: Callable, app: object, files: tuple, status: int, text: str
) -> None:
    app.config["FILE_BYTES_MAX"] = 50_000

    answer = send(browse("mia"), FINDING, *files)

    app.config["FILE_BYTES_MAX"] = 20 << 20
    assert (answer.status_code, text in answer.text) == (status, True), answer.text
    assert 'type="file"' in answer.text
    assert names(api) == []
    assert temporaries(app) == []


def test_larger_form_than_the_limit_is_refused(browse: Callable, app: object) -> None:
    app.config["FILE_BYTES_MAX"] = 1_000

    answer = send(browse("mia"), FINDING, ("a.jpg", DOOR + bytes(200_000)))

    app.config["FILE_BYTES_MAX"] = 20 << 20
    assert answer.status_code == 413
    assert temporaries(app) == []


def test_form_without_its_token_stores_nothing(browse: Callable, api: Callable, app: object) -> None:
    mia = browse("mia")
    sent = {"csrf": "x", "file": [(io.BytesIO(DOOR), "a.jpg")]}

    answer = mia.client.post(f"{FINDING}/files", data=sent)
    foreign = send(mia, FINDING, ("a.jpg", DOOR), **{"Sec-Fetch-Site": "cross-site"})

    assert (answer.status_code, foreign.status_code) == (403, 403)
    assert names(api) == []
    assert temporaries(app) == []


def test_only_who_may_write_has_the_form_and_the_place(browse: Callable, api: Callable) -> None:
    [url] = stored(browse("mia"), FINDING, ("a.jpg", DOOR))
    [of_building] = {*stored(browse("ada"), BUILDING, ("b.jpg", photograph("house")))} - {url}

    for who, page, link, is_writer in (
        ("mia", FINDING, url, True), ("ada", FINDING, url, True), ("moe", FINDING, url, False),
        ("mia", BUILDING, of_building, False), ("moe", BUILDING, of_building, False),
        ("ada", BUILDING, of_building, True),
    ):  # fmt: skip
        person = browse(who)
        gallery, shown = person.page(page), person.page(link)
        assert ('type="file"' in gallery) is (is_writer or page == FINDING), (who, page)
        assert (f"{link}/delete" in gallery) is is_writer, (who, page)
        assert (f"{link}/edit" in shown, f"{link}/delete" in shown) == (is_writer, is_writer), (who, page)
        assert (str(LATITUDE) in shown) is is_writer, (who, page)
        assert fetch(person, f"{link}/original").status_code == 200


def test_refused_person_stores_and_deletes_nothing(browse: Callable, api: Callable) -> None:
    [url] = stored(browse("mia"), FINDING, ("a.jpg", DOOR))
    shown = browse("mia").page(FINDING)
    moe = browse("moe")
    csrf = moe.token("/console/account")

    answers = [
        moe.client.post(f"{FINDING}/files", data={"csrf": csrf, "file": [(io.BytesIO(photograph("x")), "x.jpg")]}),
        moe.get(f"{url}/delete"),
        moe.client.post(f"{url}/delete", data={"csrf": csrf}),
    ]

    assert 'type="file"' in shown
    assert [each.status_code for each in answers] == [403, 403, 403]
    assert names(api) == [f"{LATE}/a.jpg"]


def test_caption_is_edited_and_returns_to_the_gallery(browse: Callable) -> None:
    mia = browse("mia")
    [url] = stored(mia, FINDING, ("a.jpg", DOOR))
    form = html.unescape(re.search(rf'href="({url}/edit[^"]*)"', mia.page(FINDING))[1])

    answer = mia.fill_in(form, {"caption": "The door sticks."})

    assert answer.headers["Location"].startswith(FINDING)
    assert "The door sticks." in mia.page(FINDING)
    assert "The door sticks." in mia.page(f"/console/inspections/{LATE_VISIT}")


def test_deletion_asks_and_removes_one_file(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    urls = stored(mia, FINDING, ("a.jpg", DOOR), ("b.jpg", photograph("wall")))
    gone = next(each for each in urls if "a.jpg" in mia.page(each))

    asked = mia.page(f"{gone}/delete")
    assert names(api) == [f"{LATE}/a.jpg", f"{LATE}/b.jpg"]
    answer = mia.client.post(f"{gone}/delete", data=Form(asked, f"{gone}/delete").with_({}))

    assert "a.jpg" in asked
    assert answer.headers["Location"] == f"{FINDING}#photographs"
    assert "a.jpg deleted." in mia.page(FINDING)
    assert names(api) == [f"{LATE}/b.jpg"]
    again = mia.client.post(f"{gone}/delete", data=Form(asked, f"{gone}/delete").with_({}))
    assert again.status_code == 303
    assert names(api) == [f"{LATE}/b.jpg"]


def test_who_loses_the_grant_sees_the_page_of_what_never_was(browse: Callable, api: Callable) -> None:
    root = api("service")
    [url] = stored(browse("ada"), FINDING, ("a.jpg", DOOR))
    moe = browse("moe")
    etag = fetch(moe, f"{url}/original").headers["ETag"]
    assert [fetch(moe, url + each).status_code for each in PAGES] == [200] * len(PAGES)
    assert links(moe, FINDING) == [url]

    for table in ("client_manager_building_access", "client_manager_inspection_access"):
        assert root.delete(f"/{table}?manager_id=eq.{MOE}").status == 204

    for gone, never in ((FINDING, "/console/findings/9999"), *((url + each, MISSING + each) for each in PAGES)):
        for headers in ({}, {"If_None_Match": etag}):
            hidden, missing = fetch(moe, gone, **headers), fetch(moe, never, **headers)
            assert (hidden.status_code, hidden.text) == (404, missing.text)
            assert {*hidden.headers} == {*missing.headers}
    csrf = moe.token("/console/account")
    for gone, never in ((f"{FINDING}/files", "/console/findings/9999/files"), (f"{url}/delete", f"{MISSING}/delete")):
        hidden, missing = (moe.client.post(each, data={"csrf": csrf}) for each in (gone, never))
        assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)
    assert names(api) == [f"{LATE}/a.jpg"]


def test_unknown_widths_and_documents_have_no_thumbnail(browse: Callable) -> None:
    mia = browse("mia")
    [url] = stored(mia, FINDING, ("a.pdf", PDF))

    assert mia.get(f"{url}/thumbnail/200").status_code == 404
    assert mia.get(f"{url}/thumbnail/160").status_code == 400
    assert "thumbnail" not in mia.page(url)
    assert mia.get("/console/files/nonsense/original").status_code == 404


# The reports


def test_findings_report_prints_photographs_with_time_and_hash(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    [of_visit] = stored(mia, VISIT, ("b.jpg", photograph("street")))
    [url] = stored(mia, FINDING, ("a.jpg", DOOR))
    stored(mia, FINDING, ("certificate.pdf", PDF))

    page = mia.page(f"{VISIT}/report?kind=findings")
    sent = api("service").get(f"/reports/inspections/{LATE_VISIT}?kind=findings")

    assert re.findall(r'<img src="([^"]+)"', page) == [f"{url}/thumbnail/640", f"{of_visit}/thumbnail/640"]
    assert [each[:23] for each in re.findall(r'<img src="([^"]+)"', sent.text)] == ["data:image/jpeg;base64,"] * 2
    assert "img-src data:;" in sent.headers["Content-Security-Policy"]
    for text in (page, sent.text):
        assert text.count(f"SHA-256 {hashlib.sha256(DOOR).hexdigest()}") == 1
        assert text.count(f"Taken {TAKEN_TEXT}") == 2
        assert "certificate.pdf (application/pdf)" in " ".join(text.split())


def test_lead_report_prints_the_photographs_of_the_inspection(browse: Callable) -> None:
    mia = browse("mia")
    [url] = stored(mia, VISIT, ("a.jpg", DOOR))

    assert f'<img src="{url}/thumbnail/640"' in mia.page(f"{VISIT}/report?kind=lead")


def test_report_as_json_lists_files_by_finding(browse: Callable, api: Callable) -> None:
    stored(browse("mia"), FINDING, ("a.jpg", DOOR))
    path = f"/reports/inspections/{LATE_VISIT}?kind=findings"

    seen = api("service").get(path, headers={"Accept": "application/json"}).json
    [finding] = [each for group in seen["severities"] for each in group["findings"] if each["files"]]

    assert [(each["name"], each["sha256"]) for each in finding["files"]] == [
        (f"{LATE}/a.jpg", hashlib.sha256(DOOR).hexdigest())
    ]
    assert seen["files"] == []


def test_report_without_the_bytes_of_a_photograph_has_its_text(browse: Callable, api: Callable, app: object) -> None:
    stored(browse("mia"), FINDING, ("a.jpg", DOOR))
    app.extensions["walkthrough.files"].path(hashlib.sha256(DOOR).hexdigest()).unlink()

    text = api("service").get(f"/reports/inspections/{LATE_VISIT}?kind=findings").text

    assert "<img" not in text
    assert hashlib.sha256(DOOR).hexdigest() in text


def test_ticked_findings_are_printed_with_their_photographs(browse: Callable) -> None:
    mia = browse("mia")
    [url] = stored(mia, FINDING, ("a.jpg", DOOR))
    path = f"/console/findings/photographs?ids={LATE},{FIXED},9999"

    page = mia.page(path)

    assert f'src="{url}/thumbnail/640"' in page
    assert f"SHA-256 {hashlib.sha256(DOOR).hexdigest()}" in page
    assert (page.count("No photographs."), page.count("<section")) == (1, 2)
    assert "/console/findings/photographs" in mia.page("/console/findings")
    assert mia.get("/console/findings/photographs").headers["Location"] == "/console/findings"
