"""Due dates are computed, and equal those of counting from one to the next."""

import random
from datetime import date, timedelta

import pytest
from dateutil.relativedelta import relativedelta
from dateutil.rrule import DAILY, MONTHLY, WEEKLY, YEARLY, rrule

from inspections.recurrence import Occurrence, Recurrence

pytestmark = pytest.mark.one_engine

SCHEDULES = 2_000
UNITS = ("day", "week", "month", "year")
FREQUENCIES = {"day": DAILY, "week": WEEKLY, "month": MONTHLY, "year": YEARLY}


def recurrence(first_due: str, every: int, unit: str) -> Recurrence:
    return Recurrence(date.fromisoformat(first_due), every, unit)


def random_recurrence(dice: random.Random) -> Recurrence:
    """Return a recurrence. Half of them begin on a day that not every month has."""
    first_due = date(1990, 1, 1) + timedelta(days=dice.randrange(20_000))
    if dice.random() < 0.5:
        next_month = (first_due.replace(day=1) + timedelta(days=32)).replace(day=1)
        first_due = next_month - timedelta(days=dice.randint(1, 3))
    return Recurrence(first_due, dice.choice((1, 2, 3, 5, 6, 7, 12, 30, dice.randint(1, 1200))), dice.choice(UNITS))


def walk(recurrence: Recurrence, day: date) -> Occurrence:
    """Return the first occurrence after a day by counting up, as dateutil moves the first date."""
    number, due_on = 0, recurrence.first_due
    while due_on <= day:
        number += 1
        due_on = recurrence.first_due + relativedelta(**{f"{recurrence.unit}s": number * recurrence.every})
    return Occurrence(number, due_on)


def test_computed_due_dates_equal_counted_ones() -> None:
    dice = random.Random(47)
    for _ in range(SCHEDULES):
        drawn = random_recurrence(dice)
        day = drawn.first_due + timedelta(days=dice.randint(-400, 4_000))

        assert drawn.first_after(day) == walk(drawn, day), (drawn, day)


def test_due_dates_equal_recurrence_rules() -> None:
    """RFC 5545 leaves out a date that does not exist, so the first date is one that each month has."""
    dice = random.Random(48)
    for _ in range(SCHEDULES):
        drawn = random_recurrence(dice)
        drawn = Recurrence(drawn.first_due.replace(day=min(drawn.first_due.day, 28)), drawn.every, drawn.unit)
        rule = rrule(FREQUENCIES[drawn.unit], interval=drawn.every, dtstart=drawn.first_due, count=5)

        computed = [drawn.due_date(number) for number in range(5)]

        assert [each.date() for each in rule] == [each for each in computed if each is not None], drawn


def test_days_at_the_end_of_a_month() -> None:
    monthly = recurrence("2026-01-31", 1, "month")

    assert [str(monthly.due_date(number)) for number in range(5)] == [
        "2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31",
    ]  # fmt: skip


def test_leap_days() -> None:
    yearly = recurrence("2024-02-29", 1, "year")

    assert [str(yearly.due_date(number)) for number in range(5)] == [
        "2024-02-29", "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29",
    ]  # fmt: skip


def test_first_occurrence_is_the_one_after_an_early_day() -> None:
    assert recurrence("2026-01-31", 3, "month").first_after(date(1, 1, 1)) == Occurrence(0, date(2026, 1, 31))


@pytest.mark.parametrize("unit", UNITS)
def test_dates_end_with_the_year_9999(unit: str) -> None:
    last = recurrence("9999-12-31", 1, unit)

    assert last.due_date(0) == date.max
    assert last.due_date(1) is None
    assert last.due_date(2**31) is None
    assert last.first_after(date.max) is None
    assert last.next_done(Occurrence(0, date.max), date.max) is None
    assert recurrence("2026-01-31", 1200, unit).due_date(2**31) is None
