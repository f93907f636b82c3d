"""Figures of the documents equal the constants of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

import settings
from access import access_token, assignments
from access.accounts import api_key, kiosk_display, password, sign_in
from engine.interface import database
from engine.interface.database import VALUE_BYTES_MAX
from engine.query import statement
from engine.query.read import embed
from engine.storage import sqlite, wal
from postgres import database as replicas
from postgres import session
from serving import logging
from serving.start import checks
from serving.worker import connection

pytestmark = pytest.mark.one_engine

DOCS = Path(__file__).resolve().parents[2] / "docs"
DAY, MIB = 24 * 3_600, 1 << 20

FIGURES = [
    ("OPERATING", "up to {:,} connections", checks.CLIENTS_MAX),
    ("OPERATING", "a limit of open files below {:,}", checks.CLIENTS_MAX + checks.OTHER_DESCRIPTORS),
    ("OPERATING", "a limit of {} at least", checks.DESCRIPTORS_MIN),
    ("OPERATING", "{:,} lines wait", logging.LINES_MAX),
    ("OPERATING", "its code is valid for {} minutes", kiosk_display.CODE_SECONDS // 60),
    ("SAFETY", "checkpoints every {:,} pages", sqlite.CHECKPOINT_PAGES),
    ("SAFETY", "Above {} MiB it truncates the log", wal.LOG_BYTES_MAX // MIB),
    ("SCALING", "at most {} for each worker", database.CONNECTIONS_MAX),
    ("SCALING", "a session idle in a transaction | {} s", session.IDLE_MILLISECONDS_MAX // 1_000),
    ("SCALING", "noticed after {} s", replicas.CHECK_SECONDS_MAX),
    ("SCALING", "then left alone for {:g} s", replicas.BACK_OFF_SECONDS),
    ("SCALING", "a statement takes {:g} s", replicas.STATEMENT_SECONDS_MAX),
    ("SCALING", "lags more than {} s", access_token.SKEW_SECONDS_MAX),
    ("DIALECT", "accepted again for {} s", sign_in.REUSE_SECONDS),
    ("DIALECT", "ends {} days after its last use", sign_in.SESSION_SECONDS // DAY),
    ("DIALECT", "at most {:,} a user", sign_in.SESSIONS_MAX),
    ("DIALECT", "password: {} characters", password.PASSWORD_CHARACTERS_MIN),
    ("DIALECT", "to {:,} bytes", password.PASSWORD_BYTES_MAX),
    ("DIALECT", "a session younger than {} h", sign_in.RECENT_SIGN_IN_SECONDS // 3_600),
    ("DIALECT", "{} for an account", password.ACCOUNT_ATTEMPTS_MAX),
    ("DIALECT", "{} from an address", password.ORIGIN_ATTEMPTS_MAX),
    ("DIALECT", "in {} minutes, then 429", password.WINDOW_SECONDS // 60),
    ("DIALECT", "addresses that signed in within {} days", password.ORIGIN_KNOWN_SECONDS // DAY),
    ("DIALECT", "size of a response | {} MiB", VALUE_BYTES_MAX // MIB),
    ("DIALECT", "| {} MiB; 5 MiB; 16 KiB | 413", settings.JSON_BYTES_MAX // MIB),
    ("DIALECT", "MiB; {} MiB; 16 KiB | 413", settings.CSV_BYTES_MAX // MIB),
    ("DIALECT", "columns and embeds a level | {} |", embed.OUTPUTS_MAX),
    ("DIALECT", "arrays of spreads | {} |", embed.ARRAYS_MAX),
    ("DIALECT", "ids of a function's array | {:,} |", assignments.IDS_MAX),
    ("DIALECT", "request line | {:,} bytes", connection.REQUEST_LINE_BYTES_MAX),
    ("DIALECT", "headers | {} of", connection.HEADER_FIELDS_MAX),
    ("DIALECT", "of {:,} bytes | 431", connection.HEADER_BYTES_MAX),
    ("DIALECT", "is no [upload](FILES.md#limits) | {:g} s; 60 s", connection.HEAD_SECONDS_MAX),
    ("DIALECT", "is no [upload](FILES.md#limits) | 10 s; {:g} s", connection.REQUEST_SECONDS_MAX),
    ("DIALECT", "to take the answer | {:g} s", connection.REQUEST_SECONDS_MAX),
    ("DIALECT", "answers over 1 MiB at once, in each worker | {};", statement.SLOTS_MAX),
    ("DIALECT", "others wait {:g} s", statement.WAIT_SECONDS_MAX),
    ("DIALECT", "hash or wait to, in each worker | {},", password.QUEUE_MAX),
    ("DIALECT", "time of a read | {:g} s", database.READ_SECONDS_MAX),
    ("DIALECT", "wait for the writer lock | {:g} s", database.WRITE_WAIT_SECONDS_MAX),
    ("DIALECT", "time of a write after the wait | {:g} s", database.WRITE_SECONDS_MAX),
    ("ACCESS", "at most {} a user", api_key.KEYS_PER_USER_MAX),
    ("ACCESS", "at most {} a shown user", kiosk_display.DISPLAYS_PER_USER_MAX),
]


@pytest.mark.parametrize(("document", "phrase", "value"), FIGURES)
def test_figure_equals_its_constant(document: str, phrase: str, value: float) -> None:
    assert phrase.format(value) in (DOCS / f"{document}.md").read_text(encoding="utf-8")
