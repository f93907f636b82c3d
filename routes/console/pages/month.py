"""The visits of a month by day and by inspector. Each number leads to the list of its visits."""

from __future__ import annotations

import calendar
import datetime
from collections import Counter
from dataclasses import dataclass, replace

from flask import Response, request

from access.caller import Caller
from access.session import current_time
from engine.open import local_day
from engine.query.statement import Action
from models import Inspection
from models.vocabulary import CANCELLED
from routes.console.components import queries
from routes.console.components.display import titles_of
from routes.console.components.list_query import ListQuery, parse_list_query
from routes.console.components.lists import filters_in_words, labels_of_filters, listing_of, suggestions_of
from routes.console.components.page import render_page
from routes.console.components.row_choice import row_filters
from routes.console.components.tables import table_of
from routes.console.pages.inspections import MONTH, NAME, inspection_filters, month_url
from routes.console.session import auth
from routes.postgrest.payload import decode_pairs

DAYS = calendar.Calendar()  # its weeks begin on Monday
DATE, INSPECTOR = "date_visited", "inspector_id"


@dataclass(frozen=True, slots=True)
class Visits:
    """A number of visits, and the URL of their list."""

    number: int
    url: str


@dataclass(frozen=True, slots=True)
class Day:
    """A day of the table. The days of other months have no visits."""

    date: datetime.date
    visits: Visits | None


def requested_month() -> datetime.date:
    """Return the first day of the month of the URL, or of this month."""
    try:
        found = datetime.date.fromisoformat(f"{request.args.get(MONTH, '')}-01")
    except ValueError:
        found = local_day(current_time())
    return found.replace(day=1) if datetime.MINYEAR < found.year < datetime.MAXYEAR else datetime.date(2000, 1, 1)


@auth.requires(Action.READ, Inspection)
def show_month(caller: Caller) -> Response:
    """Show the visits of a month that are not cancelled, with the filters of the list but those of the date."""
    table, first = table_of(NAME), requested_month()
    pairs = [each for each in decode_pairs(request.query_string) if each[0] != MONTH]
    by_row, more = row_filters(table, caller), inspection_filters(caller)
    listing = listing_of(table, caller, by_row, more)
    query = parse_list_query(listing, pairs)
    query = replace(query, order=listing.order, filters=tuple(each for each in query.filters if each[0] != DATE))
    listed = query
    if not query.filters_by("status"):
        listed = replace(query, filters=(*query.filters, ("status", f"isdistinct.{CANCELLED}")))
    weeks = DAYS.monthdatescalendar(first.year, first.month)
    counts = count_visits(caller, listed, first)
    by_day: Counter[datetime.date] = Counter()
    for (day, _), number in counts.items():
        by_day[day] += number
    return render_page(
        "month.html",
        title=f"Visits in {first:%B %Y}",
        days=list(calendar.day_abbr),
        weeks=[[Day(each, visits_of(listed, by_day[each], each, each)) for each in week] for week in weeks],
        month=first.month,
        today=local_day(current_time()),
        ends=[f"{week[0].day}–{week[-1].day}" if len(week) > 1 else str(week[0].day) for week in weeks_of(first)],
        load=load_of(caller, listed, counts, weeks_of(first)),
        filters=filters_in_words(query, labels_of_filters(table, by_row, more), suggestions_of(by_row, more)),
        list_url=query.url(),
        others=[
            (f"{each:%B %Y}", month_url(query, each))
            for each in (first - datetime.timedelta(1), first + datetime.timedelta(31))
        ],
    )


def weeks_of(first: datetime.date) -> list[list[datetime.date]]:
    """Return the days of the month by week, from Monday to Sunday."""
    weeks = DAYS.monthdatescalendar(first.year, first.month)
    return [[day for day in week if day.month == first.month] for week in weeks]


def count_visits(caller: Caller, query: ListQuery, first: datetime.date) -> Counter[tuple[datetime.date, int | None]]:
    """Return the numbers of visits by day and inspector."""
    following = (first + datetime.timedelta(31)).replace(day=1)
    select = f"{DATE},{INSPECTOR},count(),buildings(),inspectors()"  # filters may name columns of the last two
    listing = replace(query.listing, select=select, order_in_api=f"{DATE}.asc", key=())
    days = ((DATE, f"gte.{first}"), (DATE, f"lt.{following}"))
    text = replace(query, listing=listing, filters=(*query.filters, *days)).text()
    rows = queries.select_rows(caller, NAME, text, limit=queries.NO_LIMIT).rows
    return Counter({(datetime.date.fromisoformat(row[DATE]), row[INSPECTOR]): row["count"] for row in rows})


def visits_of(
    query: ListQuery, number: int, first: datetime.date, last: datetime.date, *filters: tuple[str, str]
) -> Visits | None:
    days = ((DATE, f"gte.{first}"), (DATE, f"lte.{last}"))
    return Visits(number, query.narrowed_url(*filters, *days)) if number else None


def load_of(
    caller: Caller,
    query: ListQuery,
    counts: Counter[tuple[datetime.date, int | None]],
    weeks: list[list[datetime.date]],
) -> list[tuple[str, list[Visits | None], int]]:
    """Return for each inspector, the one with the most visits first: the name, the visits by week, and their number."""
    numbers: dict[int | None, Counter[datetime.date]] = {}
    for (day, inspector), number in counts.items():
        numbers.setdefault(inspector, Counter())[day] += number
    keys = [str(each) for each in numbers if each is not None]
    names = titles_of(table_of("inspectors"), caller, keys) if keys else {}
    load = []
    for inspector, by_day in numbers.items():
        value = f"eq.{inspector}" if inspector is not None else "is.null"
        by_week = [
            visits_of(query, sum(by_day[day] for day in days), days[0], days[-1], (INSPECTOR, value)) for days in weeks
        ]
        label = "No inspector" if inspector is None else names.get(str(inspector), "An inspector")
        load.append((label, by_week, by_day.total()))
    return sorted(load, key=lambda each: (-each[2], each[0]))
