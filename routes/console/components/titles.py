"""What pages call inspections, findings, schedules and people: in headings, links, titles of pages and questions.

A row has the name of its building only where the caller reads the building. This module does not use Flask.
"""

from __future__ import annotations

from typing import Any, Final

from routes.console.components.template_filters import long_day, name, short, type_name

Row = dict[str, Any]


def inspection_title(row: Row) -> str:
    """Return such as "Annual at Elm Street 5, 28 Nov 2026"."""
    return f"{visit_title(row)}, {long_day(row['date_visited'])}"


def visit_title(row: Row) -> str:
    """Return the title of an inspection where its date is beside it."""
    return at_building(type_name(row["inspection_type"]), row)


def type_cell(row: Row) -> tuple[str, str]:
    return type_name(row["inspection_type"]), ""


def finding_title(row: Row) -> str:
    """Return such as "Smoke alarm, 3D bathroom at Elm Street 5"."""
    what = ", ".join(short(each) for each in (row["item"] or row["description"], row["place"]) if each)
    return at_building(what, row.get("inspections") or {})


def schedule_title(row: Row) -> str:
    """Return such as "Fire, Sprinklers at Elm Street 5"."""
    return at_building(schedule_name(row), row)


def schedule_name(row: Row) -> str:
    """Return the title of a schedule on the page of its building."""
    return ", ".join((type_name(row["inspection_type"]), *([short(row["title"])] if row["title"] else [])))


def at_building(what: str, row: Row) -> str:
    return f"{what} at {name(row['buildings']['name'])}" if row.get("buildings") else what


def person_title(user: str, inspector: str) -> str:
    """Return the names of a user and of their inspector, which may differ.

    >>> person_title("Ann Lee", "A. Lee"), person_title("Ann Lee", "Ann Lee")
    ('Ann Lee (inspector: A. Lee)', 'Ann Lee')
    """
    return name(user) if user == inspector else f"{name(user)} (inspector: {name(inspector)})"


def user_title(row: Row) -> str:
    """Return the name of a user, with that of the inspector as whom they sign in. A deactivated user looks it."""
    both = person_title(row["name"], row["inspectors"]["name"] if row.get("inspectors") else row["name"])
    return f"{both} (deactivated)" if row.get("is_deactivated") else both


def inspector_title(row: Row) -> str:
    """Return the name of an inspector, with that of their user if the caller reads it."""
    return person_title(row["users"]["name"] if row.get("users") else row["name"], row["name"])


TITLES: Final = (inspection_title, visit_title, finding_title, user_title)
"""The functions that templates use as filters under their own names."""
