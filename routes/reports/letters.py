"""GET /reports/notices/<id>: a letter as it was issued, as a page to print or as JSON: the same bytes always.

The page stands in the stored content, without its images. Its style is what its policy allows, whatever later versions
print.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from flask import Blueprint, Response, render_template

from access.caller import Caller
from access.decorators import requires
from access.predicates import required_parameter
from engine.interface.clock import in_zone
from engine.open import database, reading
from engine.query.statement import Action
from engine.rows import read_rows
from inspections.faults import NoSuchRow
from inspections.reports.content import ReportedFile
from inspections.reports.frozen import RENDERERS
from inspections.reports.letter import Letter
from inspections.reports.notices import NOUN
from models import Notice
from models.types import BIGINT
from routes.postgrest.preferences import MediaType
from routes.reports.views import accepted_media, frozen_answer

bp = Blueprint("letters", __name__, template_folder="templates")

END_OF_DAY: Final = "23:59"
NOTICE_ID: Final = required_parameter(BIGINT)


def render_letter(letter: Letter, issued: Mapping[str, Any], image: Callable[[ReportedFile], str]) -> str:
    """Return the page of a letter with placeholders for its images."""
    return render_template(
        "letter.html", letter=letter, issued=issued, image=image, at=day_and_time, last_minute=last_minute
    )


def day_and_time(text: str) -> tuple[str, str]:
    """Return the day and the minute of a timestamp in TIMEZONE."""
    moment = in_zone(text, database().time_zone)
    return f"{moment:%Y-%m-%d}", f"{moment:%H:%M}"


def last_minute(due_at: str) -> str:
    """Return the day of a deadline, with its time if it is not the end of the day."""
    day, minute = day_and_time(due_at)
    return day if minute == END_OF_DAY else f"{day} {minute}"


@bp.get("/reports/notices/<notice_id>")
@requires(Action.READ, Notice)
def show_letter(caller: Caller, notice_id: str) -> Response:
    media = accepted_media()
    return letter_answer(caller, NOTICE_ID.deserialize(notice_id), media)


def letter_answer(caller: Caller, notice_id: int, media: MediaType) -> Response:
    """Return a visible letter. Raise NoSuchRow."""
    columns = ("number", "content", "sha256")
    with reading() as transaction:
        rows = read_rows(transaction, caller, Notice.__tablename__, columns, id=notice_id)
    if not rows:
        raise NoSuchRow(NOUN)
    return frozen_answer(media, **rows[0])


RENDERERS["notice"] = render_letter
