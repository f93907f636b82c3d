"""The setting FINDING_DEADLINES of earlier versions becomes everybody's rows of deadline_rules, once."""

import logging
import pathlib
from collections.abc import Callable, Iterator

import pytest

from models import DeadlineRule
from tests.support import databases
from tests.support.applications import open_app
from tests.support.signin import Service

SETTING = "life_threatening=12h,severe=24h,moderate=21d,low=45d"
LATER = SETTING.replace("45", "50")
TAKEN_OVER = "FINDING_DEADLINES of this deployment"
IGNORED = "FINDING_DEADLINES is ignored: the rows of deadline_rules differ, and decide"
COLUMNS = "severity,amount,unit,basis"
SHIPPED = [(rule["severity"], rule["amount"], rule["unit"], rule["basis"]) for rule in DeadlineRule.shipped]
ADOPTED = [
    ("life_threatening", 12, "h", TAKEN_OVER),
    SHIPPED[1],
    ("moderate", 21, "d", TAKEN_OVER),
    ("low", 45, "d", TAKEN_OVER),
]

Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: pathlib.Path) -> Iterator[Start]:
    """`start(deadlines)` starts the service over the same database, with or without the setting."""
    file = tmp_path / "walkthrough.db"
    opened = []

    def again(deadlines: str | None = None) -> Service:
        for each in opened:
            each.extensions["walkthrough"].close()
            databases.unregister_app(each, file)
        opened[:] = [open_app(file, FINDING_DEADLINES=deadlines)]
        return Service(opened[0], file)

    yield again
    for each in opened:
        each.extensions["walkthrough"].close()
    if databases.SERVER is not None:
        databases.discard(file)


def rules(service: Service) -> list[tuple]:
    """Return everybody's rules."""
    found = databases.sql(service.file, f"SELECT {COLUMNS} FROM deadline_rules WHERE client_id IS NULL ORDER BY id")
    return [tuple(each) for each in found]


def test_a_start_takes_the_setting_over_and_the_next_one_keeps_it(start: Start) -> None:
    assert rules(start()) == SHIPPED

    assert rules(start(SETTING)) == ADOPTED
    assert rules(start(SETTING)) == ADOPTED
    assert rules(start()) == ADOPTED


def test_a_new_database_takes_the_setting_over(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    assert rules(start(SETTING)) == ADOPTED
    assert [each for each in caplog.messages if "FINDING_DEADLINES" in each] == []


def test_a_later_setting_overwrites_no_row(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    start(SETTING)

    with caplog.at_level(logging.WARNING):
        assert rules(start(LATER)) == ADOPTED

    assert IGNORED in caplog.messages


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE deadline_rules SET amount = 59 WHERE severity = 'low'",
        "UPDATE deadline_rules SET basis = 'The contract of the city' WHERE severity = 'low'",
        "UPDATE deadline_rules SET valid_from = '2026-01-01' WHERE severity = 'low'",
        "UPDATE deadline_rules SET inspection_type = 'fire' WHERE severity = 'low'",
        "DELETE FROM deadline_rules WHERE severity = 'low'",
    ],
)
def test_the_setting_overwrites_no_rule_of_a_person(
    start: Start, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    service = start()
    databases.sql(service.file, change)
    before = rules(service)

    with caplog.at_level(logging.WARNING):
        assert rules(start(SETTING)) == before

    assert IGNORED in caplog.messages


def test_a_setting_that_says_what_the_rules_say_changes_nothing(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    same = ",".join(f"{severity}={amount}{unit}" for severity, amount, unit, _ in SHIPPED)

    assert rules(start(same)) == SHIPPED
    assert [each for each in caplog.messages if "FINDING_DEADLINES" in each] == []
