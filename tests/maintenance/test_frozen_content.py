"""The content of issued reports is the same text after an export with an import, and after a copy to either engine."""

import io
import json
import pathlib
import random

import pytest
from PIL import Image

from engine.open import database
from engine.query.statement import UNRESTRICTED
from engine.rows import insert_rows, read_rows
from inspections.reports.frozen import canonical_json, filled_page, next_number, reduced, sha256_of
from models.types import JSON, InvalidInput
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service, open_service

CONTENT = {
    "report": {
        "b": 1.0,
        "a": [0.1 + 0.2, 1e-7, 1e22, -3, 10**15],
        "name": 'Größe "x" \\ \u2028 😀 \x1f /',
        "none": None,
    },
    "thumbnails": {"0" * 64: "AAAA"},
    "page": f'<p>src=&#34;signature:&#34;</p><img src="thumbnail:{"0" * 64}"><img src="signature:">',
    "issued": {"is_new": True, "empty": {}, "list": []},
}
TEXT = canonical_json(CONTENT)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    """A service with one issued report of inspection 1, which has CONTENT."""
    made = open_service(tmp_path)
    store_report(made.app)
    return made


def store_report(app: object, inspection_id: int = 1) -> str:
    """Store a report with CONTENT without its function, and return its number."""
    with app.app_context(), database().writing() as transaction:
        transaction.set_actor(None)
        number = next_number(transaction, "issued_reports", 1)
        row = {
            "inspection_id": inspection_id, "client_id": 1, "kind": "findings", "number": number, "content": CONTENT,
            "sha256": sha256_of(TEXT), "signed_name": "Ines Vega",
        }  # fmt: skip
        insert_rows(transaction, "issued_reports", [row])
    return number


def stored(app: object) -> list[str]:
    with app.app_context(), database().reading() as transaction:
        rows = read_rows(transaction, UNRESTRICTED, "issued_reports", ("content",))
    return [row["content"] for row in rows]


def test_canonical_json_sorts_keys_without_blanks() -> None:
    assert canonical_json({"b": [1.5, "ü"], "a": {"d": None, "c": True}}) == '{"a":{"c":true,"d":null},"b":[1.5,"ü"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})


def test_text_is_stored_byte_for_byte(service: Service) -> None:
    assert stored(service.app) == [TEXT]


def test_api_prints_an_object(service: Service) -> None:
    root = service.api("root")

    assert root.get("/issued_reports?select=content").json == [{"content": CONTENT}]
    assert root.get("/issued_reports?select=content->issued->is_new").json == [{"is_new": True}]
    assert root.get("/issued_reports?select=id&content=eq.1").refusal[:2] == (404, "42883")
    assert root.post("/issued_reports", {"content": CONTENT}).status == 403


def test_export_and_import_keep_the_text(service: Service, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "all.json"
    assert service.app.test_cli_runner().invoke(args=["export", str(file)]).exit_code == 0
    imported = open_app(tmp_path / "imported.db")

    done = imported.test_cli_runner().invoke(args=["import", str(file)])

    assert done.exit_code == 0, done.output
    assert json.loads(file.read_text(encoding="utf-8"))["issued_reports"][0]["content"] == CONTENT
    assert stored(imported) == [TEXT]


def test_an_archive_with_another_json_value_is_refused(service: Service, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "all.json"
    service.app.test_cli_runner().invoke(args=["export", str(file)])
    archive = json.loads(file.read_text(encoding="utf-8"))
    archive["issued_reports"][0]["content"] = "text"
    file.write_text(json.dumps(archive), encoding="utf-8")

    done = open_app(tmp_path / "imported.db").test_cli_runner().invoke(args=["import", str(file)])

    assert done.exit_code == 1
    assert 'column content: invalid input syntax for type json: "text"' in done.output


def test_copies_keep_the_text(service: Service, tmp_path: pathlib.Path) -> None:
    """On the server's run this is a copy to PostgreSQL and one back to a file."""
    there, back = tmp_path / "there.db", f"sqlite:///{tmp_path / 'back.db'}"

    assert service.app.test_cli_runner().invoke(args=["copy", "--to", databases.url(there)]).exit_code == 0
    copied = open_app(there)
    done = copied.test_cli_runner().invoke(args=["copy", "--to", back])

    assert done.exit_code == 0, done.output
    assert stored(copied) == [TEXT]
    assert stored(open_app(tmp_path / "back.db", DATABASE_URL=back)) == [TEXT]


def test_numbers_follow_each_other_for_each_client(service: Service) -> None:
    assert [store_report(service.app, key)[4:] for key in (2, 9)] == ["-000002", "-000003"]
    with service.app.app_context(), database().writing() as transaction:
        assert next_number(transaction, "issued_reports", 2).endswith("-000001")


def test_page_is_filled_in_attributes_only() -> None:
    page = filled_page(CONTENT, "UE5H")

    assert page == (
        '<p>src=&#34;signature:&#34;</p><img src="data:image/jpeg;base64,AAAA"><img src="data:image/png;base64,UE5H">'
    )


def test_filters_refuse_json() -> None:
    with pytest.raises(InvalidInput):
        JSON.read_text("{}")


@pytest.mark.parametrize("size", [(640, 480), (640, 2_560), (1, 1)])
def test_thumbnails_have_at_most_40_kib(size: tuple[int, int]) -> None:
    noise = Image.frombytes("RGB", size, random.Random(1).randbytes(size[0] * size[1] * 3))
    made = io.BytesIO()
    noise.save(made, "JPEG", quality=90)

    small = reduced(made.getvalue())

    assert len(small) <= 40 << 10
    assert (small == made.getvalue()) == (len(made.getvalue()) <= 40 << 10)
    with Image.open(io.BytesIO(small)) as image:
        assert image.size[0] / image.size[1] == pytest.approx(size[0] / size[1], rel=0.02)
