"""Rate limits: attempts on an account, attempts from an origin, and disclosures of taken e-mails."""

import pathlib
from collections.abc import Iterator

import pytest

from access.accounts import administration, password
from access.accounts.password import RateLimitExceeded, SignInAttempt, account_digest, sign_in_attempt
from access.caller import SERVICE_CALLER, Caller
from access.roles import GRANT_PROFILES, Role
from engine.open import database
from tests.conftest import ADA, MOE
from tests.support.signin import ORIGIN, OTHER_ORIGIN, Service, open_service


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    opened = open_service(tmp_path)
    with opened.app.app_context():
        yield opened


def count(guess: SignInAttempt) -> int:
    with database().writing() as transaction:
        return password.record_sign_in_attempt(transaction, guess)


def delete_attempt(attempt: int) -> None:
    with database().writing() as transaction:
        password.delete_attempt(transaction, attempt)


def is_refused(guess: SignInAttempt) -> bool:
    try:
        delete_attempt(count(guess))
    except RateLimitExceeded:
        return True
    return False


def guess(origin: str = ORIGIN, email: str = "moe@acme.example", user_id: str | None = MOE) -> SignInAttempt:
    return sign_in_attempt(email, origin, user_id)


# Accounts


@pytest.mark.parametrize(
    "written",
    ["moe@acme.example", "MOE@ACME.EXAMPLE", " moe@acme.example\t", "ｍｏｅ@acme.example", "moe＠acme.example"],
)
def test_account_digest_ignores_case_width_and_space(written: str) -> None:
    assert account_digest(written) == account_digest("Moe@Acme.Example")


def test_account_digest_does_not_contain_the_email() -> None:
    assert "moe" not in account_digest("moe@acme.example")
    assert account_digest("moe@acme.example") != account_digest("mia@acme.example")


# An account


def test_11th_attempt_is_refused_until_the_first_is_15_minutes_old(service: Service) -> None:
    for _ in range(10):
        count(guess())

    with pytest.raises(RateLimitExceeded) as refused:
        count(guess())
    assert 890 <= refused.value.retry_after_seconds <= 900

    service.age(895)
    assert is_refused(guess())
    service.age(6)
    assert not is_refused(guess())


def test_refused_attempt_is_not_counted(service: Service) -> None:
    for _ in range(10):
        count(guess())
    for _ in range(5):
        assert is_refused(guess())

    assert service.sql("SELECT count(*) FROM attempts") == [(10,)]


def test_successful_attempt_is_deleted(service: Service) -> None:
    for _ in range(30):
        delete_attempt(count(guess()))

    assert service.sql("SELECT count(*) FROM attempts") == [(0,)]


def test_attempts_on_an_account_count_across_origins(service: Service) -> None:
    for place in range(10):
        count(guess(f"192.0.2.{place}"))

    assert is_refused(guess("203.0.113.1"))
    assert not is_refused(guess("203.0.113.1", "mia@acme.example", None))


def test_attempts_on_an_unknown_account_are_counted(service: Service) -> None:
    for _ in range(10):
        count(guess(email="ghost@nowhere.example", user_id=None))

    assert is_refused(guess(email=" GHOST@nowhere.example", user_id=None))


def test_known_origin_has_its_own_count(service: Service) -> None:
    with database().writing() as transaction:
        password.remember_origin(transaction, MOE, ORIGIN)
    for _ in range(10):
        count(guess(OTHER_ORIGIN))

    assert is_refused(guess(OTHER_ORIGIN))
    assert not is_refused(guess(ORIGIN))
    for _ in range(10):
        count(guess(ORIGIN))
    assert is_refused(guess(ORIGIN))


@pytest.mark.parametrize("tries_here", [1, 5, 9])
def test_limit_does_not_reveal_known_origins(service: Service, tries_here: int) -> None:
    """Nor whether there is the account: it is refused as one that was invented."""
    with database().writing() as transaction:
        password.remember_origin(transaction, MOE, ORIGIN)
    for whom in ({}, {"email": "ghost@nowhere.example", "user_id": None}):
        for place in [ORIGIN] * tries_here + [OTHER_ORIGIN] * (10 - tries_here):
            count(guess(place, **whom))

        assert is_refused(guess(OTHER_ORIGIN, **whom))


def test_origin_is_known_for_30_days_and_for_its_own_account_only(service: Service) -> None:
    with database().writing() as transaction:
        password.remember_origin(transaction, ADA, ORIGIN)
        password.remember_origin(transaction, MOE, ORIGIN)
    service.age(30 * 24 * 3_600 + 1)
    with database().writing() as transaction:
        password.remember_origin(transaction, ADA, OTHER_ORIGIN)
    for _ in range(10):
        count(guess("203.0.113.1"))

    assert is_refused(guess(ORIGIN))
    assert service.sql("SELECT count(*) FROM origins WHERE user_id = ?", ADA) == [(1,)]


# An address


def test_101st_attempt_from_an_origin_is_refused_for_any_account(service: Service) -> None:
    for place in range(100):
        count(guess(ORIGIN, f"user{place}@nowhere.example", None))

    assert is_refused(guess(ORIGIN, "another@nowhere.example", None))
    assert not is_refused(guess(OTHER_ORIGIN, "another@nowhere.example", None))


def test_expired_attempts_are_deleted(service: Service) -> None:
    for place in range(20):
        count(guess(ORIGIN, f"user{place}@nowhere.example", None))
    service.age(901)

    count(guess())

    assert service.sql("SELECT count(*) FROM attempts") == [(1,)]


# Disclosures of taken e-mails


def administrator(user_id: str) -> Caller:
    return Caller(user_id, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])


def disclose(caller: Caller) -> None:
    with database().writing() as transaction:
        administration.require_disclosures_left(transaction, caller)
        administration.record_disclosure(transaction, caller)


def test_taken_email_is_disclosed_20_times_an_hour_to_a_caller(service: Service) -> None:
    for _ in range(20):
        disclose(administrator(ADA))

    with pytest.raises(RateLimitExceeded) as refused:
        disclose(administrator(ADA))
    assert 3_590 <= refused.value.retry_after_seconds <= 3_600
    disclose(administrator(MOE))
    disclose(SERVICE_CALLER)

    service.age(3_601)
    disclose(administrator(ADA))


def test_sign_in_attempts_and_email_disclosures_have_separate_limits(service: Service) -> None:
    for _ in range(20):
        disclose(administrator(MOE))

    assert not is_refused(guess())
    with pytest.raises(RateLimitExceeded), database().reading() as transaction:
        administration.require_disclosures_left(transaction, administrator(MOE))
