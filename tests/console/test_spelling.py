"""Every kind of page spells statuses and types one way, and no name changes the direction of the text around it."""

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest

from models.finding_move import EVENT_KINDS, FINDING_STATUSES
from models.vocabulary import (
    COUNTED_FROM,
    INSPECTION_STATUSES,
    INSPECTION_TYPES,
    LEAD,
    OUTCOMES,
    READING_RESULTS,
    SEVERITIES,
    UNITS,
)
from tests.conftest import MIA, MOE
from tests.console.kinds_of_pages import PAGES

pytestmark = [pytest.mark.slow, pytest.mark.one_engine]

VOCABULARY = {
    word.replace("_", " "): word.replace("_", " ").capitalize()
    for words in (COUNTED_FROM, EVENT_KINDS, FINDING_STATUSES, INSPECTION_STATUSES, INSPECTION_TYPES, OUTCOMES,
                  READING_RESULTS, SEVERITIES, UNITS)
    for word in words
}  # fmt: skip
SMALL_TYPE = re.compile(rf"(?<!Sprinklers, )\b({'|'.join(each for each in INSPECTION_TYPES if each != LEAD)})\b")
TURN = "\u202e"
HEBREW = "\u05d1\u05d9\u05ea"
CONTROL = re.compile("[\u202a-\u202e\u2066\u2067]")
WHO = ("root", "ada", "moe")


class Texts(HTMLParser):
    """The texts of a page that people read, with the texts of its labels, tooltips and placeholders."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.without = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.without += tag in ("code", "textarea", "script")
        self.found += [value for name, value in attrs if name in ("aria-label", "title", "placeholder") and value]

    def handle_endtag(self, tag: str) -> None:
        self.without -= tag in ("code", "textarea", "script")

    def handle_data(self, data: str) -> None:
        if not self.without and data.strip():
            self.found.append(" ".join(data.split()))


def texts_of_pages(browse: Callable, who: str) -> Iterator[tuple[str, str]]:
    client = browse(who)
    for path in [*PAGES[who], *(["/console/visits"] if who == "mia" else [])]:
        answer = client.get(path)
        assert answer.status_code in (200, 404), path
        for text in Texts(answer.text).found:
            yield path, text


@pytest.fixture
def every_word(api: Callable) -> None:
    """Rows with each status and type, in the past and in the future."""
    root = api("root")
    kinds = enumerate((kind, status) for kind in INSPECTION_TYPES for status in INSPECTION_STATUSES)
    rows = {
        "inspections": [
            {"building_id": 1, "inspection_type": kind, "status": status, "date_visited": f"20{25 + key % 2 * 5}-01-05"}
            for key, (kind, status) in kinds
        ],
        "schedules": [
            {"building_id": 1, "inspection_type": kind, "every": 1, "unit": unit, "first_due": "2031-01-05"}
            for kind, unit in zip(INSPECTION_TYPES[1:], UNITS, strict=True)
        ],
        "findings": [
            {"inspection_id": 1, "item": "Door", "description": "It sticks.", "severity": each} for each in SEVERITIES
        ],
        "reports_lead": [{"inspection_id": 1, "result": each} for each in READING_RESULTS],
    }  # fmt: skip
    for table, body in rows.items():
        answer = root.post(f"/{table}", body)
        assert answer.status == 201, answer.text


@pytest.mark.parametrize("who", WHO)
def test_statuses_and_types_have_one_spelling(every_word: None, browse: Callable, who: str) -> None:
    wrong = [
        (path, text)
        for path, text in texts_of_pages(browse, who)
        if VOCABULARY.get(text.lower().replace("_", " "), text) != text or SMALL_TYPE.search(text)
    ]

    assert wrong == [], "\n".join(map(str, wrong))


@pytest.mark.parametrize("who", WHO)
def test_names_are_isolated_wherever_they_are_shown(browse: Callable, api: Callable, who: str) -> None:
    """A page holds no control that turns the text after it, and each Hebrew name stands between isolates."""
    turned = f"{HEBREW}{TURN}gpj.exe"
    root = api("root")
    for table, columns in {
        "clients": ("name",), "inspectors": ("name", "firm"), "buildings": ("name", "address", "city"),
        "inspections": ("inspection_type", "notes"), "schedules": ("title", "basis"),
        "findings": ("item", "place", "description"), "reports_lead": ("result",),
    }.items():  # fmt: skip
        assert root.patch(f"/{table}?id=gt.0", dict.fromkeys(columns, turned)).status == 204, table
    for user in (MIA, MOE):
        assert root.patch(f"/users?id=eq.{user}", {"name": turned}).status == 204

    seen = [(path, text) for path, text in texts_of_pages(browse, who) if HEBREW in text]
    assert len({path for path, _ in seen}) > 20
    wrong = [(path, text) for path, text in seen if CONTROL.search(text) or re.search(rf"(?<!\u2068){HEBREW}", text)]
    wrong += [(path, text) for path, text in seen if text.count("\u2068") != text.count("\u2069")]

    assert wrong == [], "\n".join(map(str, wrong))
