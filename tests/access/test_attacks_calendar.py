"""Attack catalogue, T18: calendar links. Each test has its number in the catalogue."""
# ruff: noqa: N802  (test names carry catalogue numbers)

import json
import logging
import pathlib
from collections.abc import Callable

import pytest

from access.accounts import throttle
from serving.logging import JsonLines
from tests.conftest import ADA
from tests.inspections.calendar_world import MOMENT, Feeds, calendar_rows


@pytest.fixture
def feeds(world: Callable) -> Feeds:
    return Feeds(world(calendar_rows(), MOMENT))


@pytest.mark.parametrize("token", ["x", "wtc_", "%00", "wtc_" + "A" * 10_000, "é"])
def test_T18_malformed_link_answers_as_an_unknown_one(feeds: Feeds, token: str) -> None:
    assert feeds.get(f"/calendar/{token}.ics").status in (400, 404)


def test_T18_token_of_a_link_opens_nothing_else(feeds: Feeds) -> None:
    token = feeds.link("ada").removeprefix("/calendar/").removesuffix(".ics")

    for headers in ({"apikey": token}, {"Authorization": f"Bearer {token}"}):
        answers = [feeds.api("nobody").get(path, headers=headers) for path in ("/inspections", "/auth/v1/user")]
        assert {each.status for each in answers} <= {401, 403}


def test_T18_api_key_and_token_open_no_calendar(feeds: Feeds) -> None:
    made = feeds.api("ada").post("/auth/v1/user/api_keys", {"name": "Script"}).json["key"]

    assert feeds.get(f"/calendar/{made}.ics").status == 404
    assert feeds.api("ada").get("/calendar/x.ics").status == 404


def test_T18_guesses_are_limited_by_their_origin(feeds: Feeds) -> None:
    link = feeds.link("ada")
    guesses = [feeds.get(f"/calendar/wtc_{number:043}.ics") for number in range(throttle.ORIGIN_ATTEMPTS_MAX)]
    assert {each.status for each in guesses} == {404}

    # The right link is refused, too: otherwise its answer would tell a guesser.
    refused = [feeds.get(link), feeds.get(f"/calendar/wtc_{'A' * 43}.ics")]

    assert {each.status for each in refused} == {429}
    assert int(refused[0].headers["Retry-After"]) > 0
    with feeds.stored.reading() as transaction:
        throttle.require_attempts_left(transaction, throttle.sign_in_attempt("ada@acme.example", "127.0.0.1", ADA))
    feeds.stored.clock.set("2026-03-10T12:16:00+00:00")
    assert feeds.get(link).status == 200


def test_T18_only_the_digest_is_stored(feeds: Feeds) -> None:
    token = feeds.link("ada").removeprefix("/calendar/").removesuffix(".ics")

    with feeds.stored.reading() as transaction:
        stored = str([transaction.all(f"SELECT * FROM {table}") for table in ("api_keys", "audit_log", "attempts")])

    assert token not in stored
    assert "create_api_key" in stored


def test_T18_log_and_archive_hold_no_token(
    feeds: Feeds, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    link = feeds.link("ada")
    secret = link.removeprefix("/calendar/wtc_").removesuffix(".ics")
    paths = (
        link,
        link.removesuffix(".ics"),
        f"{link}/",
        f"/rest/v1{link}",
        f"/site{link}",
        link.replace("_", "%5F", 1),
    )

    with caplog.at_level(logging.INFO, "walkthrough"):
        for path in paths:
            feeds.get(path)
            feeds.api("moe").post(path, {})
    archive = tmp_path / "export.json"
    assert feeds.app.test_cli_runner().invoke(args=["export", str(archive)]).exit_code == 0

    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert (lines[0]["path"], lines[0]["status"], lines[0]["user_id"]) == ("/calendar/wtc_….ics", 200, ADA)
    assert len(lines) == 2 * len(paths)
    with feeds.stored.reading() as transaction:
        audited = str(transaction.all("SELECT * FROM audit_log"))
    assert not any(part in str(lines) + audited + archive.read_text() for part in (secret, secret[:20], secret[-20:]))
