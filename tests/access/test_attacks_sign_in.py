"""Attack catalogue, group L to L06: sign-in. Marks name the entries."""

import pathlib
import statistics
import threading
import time
from collections.abc import Iterator

import pytest

from access.accounts import password
from tests.conftest import MIA, MOE, Response
from tests.support.applications import open_app
from tests.support.signin import EMAILS, ORIGIN, OTHER_ORIGIN, PASSWORDS, Service, error, reused_service

pytestmark = pytest.mark.slow

ADMIN = "/auth/v1/admin/users"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


def same(*responses: Response) -> bool:
    return len({(each.status, each.text) for each in responses}) == 1


# L01: responses do not reveal which users exist


@pytest.mark.attack(entry="L01")
def test_wrong_password_has_one_response_for_known_unknown_disabled_and_passwordless_users(service: Service) -> None:
    service.api("root").put(f"{ADMIN}/{MIA}", {"ban_duration": "1h"})

    answers = [
        service.try_password(email, "wrong")
        for email in (EMAILS["moe"], EMAILS["mia"], EMAILS["max"], "ghost@acme.example")
    ]

    assert same(*answers)
    assert error(answers[0]) == (400, "invalid_credentials")
    assert answers[0].json["message"] == "Invalid login credentials"


@pytest.mark.attack(entry="L01")
def test_unknown_user_costs_one_hash_like_a_known_one(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    verify = password.HASHER.verify
    monkeypatch.setattr(
        password,
        "HASHER",
        type("Counted", (), {"verify": lambda self, kept, given: hashed.append(kept) or verify(kept, given)})(),
    )

    for email in (EMAILS["moe"], EMAILS["max"], "ghost@acme.example"):
        service.try_password(email, "wrong")

    costs = {kept.rsplit("$", 2)[0] for kept in hashed}
    assert len(hashed) == 3
    assert len(costs) == 1


@pytest.mark.attack(entry="L01")
def test_known_and_unknown_take_the_same_processor_time(service: Service) -> None:
    """A leak shows in every round, unlike other load of the machine."""
    assert any(difference_of_medians(service) <= 0.10 for _ in range(4))


def difference_of_medians(service: Service) -> float:
    """Return the difference of the medians of 50 alternating attempts each."""
    taken: dict[str, list[float]] = {EMAILS["moe"]: [], "ghost@acme.example": []}
    for _ in range(50):
        service.sql("DELETE FROM attempts")
        for email, times in taken.items():
            began = time.process_time()
            assert service.try_password(email, "wrong").status == 400
            times.append(time.process_time() - began)
    known, unknown = (statistics.median(times) for times in taken.values())
    return abs(known - unknown) / known


# L02, L03, L04, L05, L06: guessing


@pytest.mark.attack(entry="L02")
def test_one_hash_at_a_time_and_reads_continue_meanwhile(service: Service) -> None:
    with password.HASHING_SLOTS:
        waiting = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(waiting) == (429, "over_request_rate_limit")


@pytest.mark.attack(entry="L03")
def test_limit_of_10_failures_survives_a_restart_and_expires(service: Service) -> None:
    for _ in range(10):
        assert service.try_password(EMAILS["moe"], "wrong").status == 400
    restarted = Service(open_app(service.file), service.file)

    refused = restarted.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    restarted.age(901)
    restarted.sign_in("moe")
    assert restarted.sql("SELECT count(*) FROM attempts") == [(0,)]


@pytest.mark.attack(entry="L03")
def test_unknown_account_is_limited_with_the_same_response(service: Service) -> None:
    for email, origin in ((EMAILS["moe"], ORIGIN), ("ghost@acme.example", OTHER_ORIGIN)):
        for _ in range(10):
            service.try_password(email, "wrong", origin)

    known = service.try_password(EMAILS["moe"], "wrong", ORIGIN)
    invented = service.try_password("ghost@acme.example", "wrong", OTHER_ORIGIN)

    assert known.status == 429
    assert same(known, invented)


@pytest.mark.attack(entry="L03")
def test_101st_failure_from_an_origin_is_refused(service: Service) -> None:
    service.sql(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
        " INSERT INTO attempts (kind, subject, origin, at)"
        " SELECT 'sign_in', i, ?, unixepoch() FROM n",
        ORIGIN,
    )

    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"], ORIGIN).status == 429
    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"], OTHER_ORIGIN).status == 200


@pytest.mark.attack(entry="L04")
def test_40_concurrent_attempts_on_two_workers_cause_10_hashes(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two applications on one file stand for two workers (figure 27).

    On a busy machine some of the 10 attempts exceed the deadline of the hash queue and are refused as well.
    """
    hashed: list[str] = []
    verify = password.PasswordHashing.verify

    def counted(turn: password.PasswordHashing, kept: str | None, given: str) -> bool:
        hashed.append(given)
        return verify(turn, kept, given)

    monkeypatch.setattr(password.PasswordHashing, "verify", counted)
    workers = [service, Service(open_app(service.file), service.file)]
    statuses: list[int] = []

    def guess(number: int) -> None:
        answer = workers[number % 2].try_password(EMAILS["moe"], f"guess {number}", f"192.0.2.{number}")
        statuses.append(answer.status)

    guesses = [threading.Thread(target=guess, args=(number,)) for number in range(40)]
    for each in guesses:
        each.start()
    for each in guesses:
        each.join()

    assert 1 <= len(hashed) <= 10
    assert sorted(statuses) == [400] * len(hashed) + [429] * (40 - len(hashed))
    assert service.sql("SELECT count(*) FROM attempts") == [(len(hashed),)]


@pytest.mark.parametrize(
    "written",
    ["MOE@acme.example", " moe@acme.example", "moe@acme.example\t", "ｍｏｅ@acme.example", "moe＠acme.example"],
)
@pytest.mark.attack(entry="L05")
def test_all_spellings_of_an_email_share_one_limit(service: Service, written: str) -> None:
    for _ in range(10):
        service.try_password(written, "wrong")

    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"]).status == 429


@pytest.mark.attack(entry="L05")
def test_forged_forwarded_addresses_share_one_limit(service: Service) -> None:
    for number in range(10):
        service.token(
            "password",
            {"email": EMAILS["moe"], "password": "wrong"},
            ORIGIN,
            **{"X-Forwarded-For": f"6.6.6.{number}", "X-Real-IP": f"6.6.6.{number}"},
        )

    assert service.sql("SELECT DISTINCT origin FROM attempts") == [(ORIGIN,)]
    assert service.try_password(EMAILS["moe"], "wrong").status == 429


@pytest.mark.parametrize("given", ["", "x" * 1_025, "é" * 513, "x" * 15_000])
@pytest.mark.attack(entry="L06")
def test_invalid_password_is_refused_before_it_is_hashed(
    service: Service, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("hashed")

    monkeypatch.setattr(password.PasswordHashing, "verify", never)
    monkeypatch.setattr(password.PasswordHashing, "hash", never)

    assert service.try_password(EMAILS["moe"], given).status == 400
    body = {"password": given}
    assert service.api("root").put(f"{ADMIN}/{MOE}", body).status == 422
    assert service.api("root").post(ADMIN, {"email": "e@x.example", "role": "super_admin", **body}).status == 422


@pytest.mark.attack(entry="L06")
def test_new_hash_parameters_apply_at_the_next_sign_in(service: Service) -> None:
    weak = password.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORDS["moe"])
    service.sql("UPDATE credentials SET password_hash = ? WHERE user_id = ?", weak, MOE)

    service.try_password(EMAILS["moe"], "wrong")
    assert service.sql("SELECT 1 FROM credentials WHERE password_hash = ?", weak) == [(1,)]
    service.sign_in("moe")

    assert service.sql("SELECT 1 FROM credentials WHERE password_hash = ?", weak) == []
