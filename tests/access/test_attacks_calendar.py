"""Attack catalogue, T18: calendar links. Marks name the entries."""

import json
import logging
import pathlib
from collections.abc import Callable

import pytest

from access.accounts import password
from serving.logging import JsonLines
from tests.conftest import ADA, CAST, MIA, MOE
from tests.inspections.calendar_world import INES, IVO, MOMENT, UMA, Feeds, calendar_rows


@pytest.fixture
def feeds(world: Callable) -> Feeds:
    return Feeds(world(calendar_rows(), MOMENT))


@pytest.mark.parametrize("token", ["x", "wtc_", "%00", "wtc_" + "A" * 10_000, "é"])
@pytest.mark.attack(entry="T18")
def test_malformed_link_answers_as_an_unknown_one(feeds: Feeds, token: str) -> None:
    assert feeds.get(f"/calendar/{token}.ics").status in (400, 404)


@pytest.mark.attack(entry="T18")
def test_token_of_a_link_opens_nothing_else(feeds: Feeds) -> None:
    token = feeds.link("ada").removeprefix("/calendar/").removesuffix(".ics")

    for headers in ({"apikey": token}, {"Authorization": f"Bearer {token}"}):
        answers = [feeds.api("nobody").get(path, headers=headers) for path in ("/inspections", "/auth/v1/user")]
        assert {each.status for each in answers} <= {401, 403}


@pytest.mark.attack(entry="T18")
def test_api_key_and_token_open_no_calendar(feeds: Feeds) -> None:
    made = feeds.api("ada").post("/auth/v1/user/api_keys", {"name": "Script"}).json["key"]

    assert feeds.get(f"/calendar/{made}.ics").status == 404
    assert feeds.api("ada").get("/calendar/x.ics").status == 404


@pytest.mark.attack(entry="T18")
def test_guesses_are_limited_by_their_origin(feeds: Feeds) -> None:
    link = feeds.link("ada")
    guesses = [feeds.get(f"/calendar/wtc_{number:043}.ics") for number in range(password.ORIGIN_ATTEMPTS_MAX)]
    assert {each.status for each in guesses} == {404}

    refused = feeds.get(f"/calendar/wtc_{'A' * 43}.ics")

    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert feeds.get(link).status == 200
    feeds.stored.clock.set("2026-03-10T12:16:00+00:00")
    assert feeds.get(f"/calendar/wtc_{'A' * 43}.ics").status == 404


@pytest.mark.attack(entry="T18")
def test_only_the_digest_is_stored(feeds: Feeds) -> None:
    token = feeds.link("ada").removeprefix("/calendar/").removesuffix(".ics")

    with feeds.stored.reading() as transaction:
        stored = str([transaction.all(f"SELECT * FROM {table}") for table in ("tokens", "audit_log", "attempts")])

    assert token not in stored
    assert "create_api_key" in stored


@pytest.mark.attack(entry="T18")
def test_log_and_archive_hold_no_token(feeds: Feeds, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
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


@pytest.mark.parametrize("other_user", [None, MOE])
@pytest.mark.attack(entry="T18")
def test_link_ends_when_its_inspector_is_unlinked(feeds: Feeds, other_user: str | None) -> None:
    link, of_admin = feeds.link("mia", is_inspector=True), feeds.link("ada")
    assert feeds.get(link).status == 200

    assert feeds.api("root").patch(f"/inspectors?user_id=eq.{MIA}", {"user_id": other_user}).status == 204

    assert feeds.get(link).refusal == feeds.get(f"/calendar/wtc_{'A' * 43}.ics").refusal
    assert feeds.get(link).status == 404
    assert feeds.get(of_admin).status == 200


def unlink(feeds: Feeds) -> None:
    assert feeds.api("root").patch(f"/inspectors?user_id=eq.{MIA}", {"user_id": None}).status == 204


def upsert_unlinked(feeds: Feeds) -> None:
    row = {"id": IVO, "name": "Ivo", "user_id": None}
    made = feeds.api("root").post("/inspectors", [row], prefer="resolution=merge-duplicates")
    assert made.status == 200, made.text


def link_another(feeds: Feeds) -> None:
    assert feeds.api("root").patch(f"/inspectors?user_id=eq.{MIA}", {"user_id": MOE}).status == 204
    assert feeds.api("root").patch(f"/inspectors?id=eq.{IVO}", {"user_id": None}).status == 204


def delete_inspector(feeds: Feeds) -> None:
    root = feeds.api("root")
    assert root.patch(f"/inspections?inspector_id=eq.{IVO}", {"inspector_id": None}).status == 204
    assert root.delete(f"/inspectors?id=eq.{IVO}").status == 204


@pytest.mark.parametrize("end", [unlink, upsert_unlinked, link_another, delete_inspector])
@pytest.mark.attack(entry="T18")
def test_linking_the_user_again_revives_no_old_link(feeds: Feeds, end: Callable[[Feeds], None]) -> None:
    link, of_admin = feeds.link("mia", is_inspector=True), feeds.link("ada")

    end(feeds)
    assert feeds.api("root").patch(f"/inspectors?id=eq.{INES}", {"user_id": MIA}).status == 204

    assert feeds.get(link).status == 404
    assert feeds.get(of_admin).status == 200
    assert feeds.get(feeds.link("mia", is_inspector=True)).status == 200


@pytest.mark.attack(entry="T18")
def test_link_stays_with_other_changes_of_its_inspector(feeds: Feeds) -> None:
    link = feeds.link("mia", is_inspector=True)

    assert feeds.api("root").patch(f"/inspectors?id=eq.{IVO}", {"name": "Ivo", "user_id": MIA}).status == 204
    assert feeds.api("root").delete(f"/inspectors?id=eq.{UMA}").status in (204, 409)

    assert feeds.get(link).status == 200


@pytest.mark.parametrize("who", ["mia", "ada"])
@pytest.mark.attack(entry="T18")
def test_link_is_suspended_with_its_owner(feeds: Feeds, who: str) -> None:
    link = feeds.link(who, is_inspector=who == "mia")
    owner = f"/auth/v1/admin/users/{CAST[who].id}"

    assert feeds.api("root").put(owner, {"ban_duration": "24h"}).status == 200

    assert feeds.get(link).status == 404
