"""Attack catalogue, group L: signing in, and users by the sign-in's door. A test's number is the catalogue's."""
# ruff: noqa: N802  (a test carries its catalogue number as it is written there)

import json
import logging
import pathlib
import statistics
import threading
import time

import pytest

from access import password
from tests import tokens
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT
from tests.conftest import Response
from tests.conftest import open_app
from tests.signin import EMAILS
from tests.signin import HERE
from tests.signin import PASSWORDS
from tests.signin import THERE
from tests.signin import Service
from tests.signin import error
from tests.signin import open_service

ADMIN = "/auth/v1/admin/users"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


def same(*responses: Response) -> bool:
    return len({(each.status, each.text) for each in responses}) == 1


# L01: nobody learns who exists


def test_L01_wrong_password_is_one_answer_for_known_unknown_disabled_and_passwordless(
    service: Service,
) -> None:
    service.api("root").put(f"{ADMIN}/{MIA}", {"ban_duration": "1h"})

    answers = [
        service.try_password(email, "wrong")
        for email in (EMAILS["moe"], EMAILS["mia"], EMAILS["max"], "ghost@acme.example")
    ]

    assert same(*answers)
    assert error(answers[0]) == (400, "invalid_credentials")
    assert answers[0].json["message"] == "Invalid login credentials"


def test_L01_nobody_is_hashed_for_as_somebody_is(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    verify = password.HASHER.verify
    monkeypatch.setattr(
        password,
        "HASHER",
        type(
            "Counted",
            (),
            {"verify": lambda self, kept, given: hashed.append(kept) or verify(kept, given)},
        )(),
    )

    for email in (EMAILS["moe"], EMAILS["max"], "ghost@acme.example"):
        service.try_password(email, "wrong")

    costs = {kept.rsplit("$", 2)[0] for kept in hashed}
    assert len(hashed) == 3
    assert len(costs) == 1


def test_L01_known_and_unknown_take_the_same_time(service: Service) -> None:
    """Figure 26, its commit tier: a leak is there in every round, a busy machine is not."""
    assert any(apart(service) <= 0.10 for _ in range(4))


def apart(service: Service) -> float:
    """How far the medians of 50 tries each, taken in turn, lie apart."""
    taken: dict[str, list[float]] = {EMAILS["moe"]: [], "ghost@acme.example": []}
    for _ in range(50):
        service.sql("DELETE FROM attempts")
        for email, times in taken.items():
            began = time.perf_counter()
            assert service.try_password(email, "wrong").status == 400
            times.append(time.perf_counter() - began)
    known, unknown = (statistics.median(times) for times in taken.values())
    return abs(known - unknown) / known


# L02, L03, L04, L05, L06: guessing


def test_L02_one_hash_at_a_time_and_an_answer_within_three_seconds(service: Service) -> None:
    with password.TURNS:
        began = time.monotonic()
        waiting = service.try_password(EMAILS["moe"], PASSWORDS["moe"])
        assert time.monotonic() - began < 3

    assert error(waiting) == (429, "over_request_rate_limit")


def test_L03_eleventh_failure_is_refused_survives_a_restart_and_ends_by_itself(
    service: Service,
) -> None:
    for _ in range(10):
        assert service.try_password(EMAILS["moe"], "wrong").status == 400
    restarted = Service(open_app(service.file), service.file)

    refused = restarted.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    restarted.age(901)
    restarted.sign_in("moe")
    assert restarted.sql("SELECT count(*) FROM attempts") == [(0,)]


def test_L03_invented_account_is_throttled_with_the_same_answer(service: Service) -> None:
    for email, origin in ((EMAILS["moe"], HERE), ("ghost@acme.example", THERE)):
        for _ in range(10):
            service.try_password(email, "wrong", origin)

    known = service.try_password(EMAILS["moe"], "wrong", HERE)
    invented = service.try_password("ghost@acme.example", "wrong", THERE)

    assert known.status == 429
    assert same(known, invented)


def test_L03_hundred_and_first_failure_from_an_address_is_refused(service: Service) -> None:
    service.sql(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
        " INSERT INTO attempts (kind, subject, origin, at)"
        " SELECT 'sign_in', i, ?, unixepoch() FROM n",
        HERE,
    )

    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"], HERE).status == 429
    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"], THERE).status == 200


def test_L04_forty_guesses_at_once_over_two_workers_are_ten_hashes(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figure 27: two applications over one file are what two workers are to it."""
    hashed: list[str] = []
    verify = password.Hashing.verify

    def counted(turn: password.Hashing, kept: str | None, given: str) -> bool:
        hashed.append(given)
        return verify(turn, kept, given)

    monkeypatch.setattr(password.Hashing, "verify", counted)
    workers = [service, Service(open_app(service.file), service.file)]
    statuses: list[int] = []

    def guess(number: int) -> None:
        answer = workers[number % 2].try_password(
            EMAILS["moe"], f"guess {number}", f"192.0.2.{number}"
        )
        statuses.append(answer.status)

    guesses = [threading.Thread(target=guess, args=(number,)) for number in range(40)]
    for each in guesses:
        each.start()
    for each in guesses:
        each.join()

    assert len(hashed) == 10
    assert sorted(statuses) == [400] * 10 + [429] * 30


@pytest.mark.parametrize(
    "written",
    [
        "MOE@acme.example",
        " moe@acme.example",
        "moe@acme.example\t",
        "ｍｏｅ@acme.example",
        "moe＠acme.example",
    ],
)
def test_L05_account_is_counted_however_it_is_written(service: Service, written: str) -> None:
    for _ in range(10):
        service.try_password(written, "wrong")

    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"]).status == 429


def test_L05_forged_forwarded_addresses_are_one_address(service: Service) -> None:
    for number in range(10):
        service.token(
            "password",
            {"email": EMAILS["moe"], "password": "wrong"},
            HERE,
            **{"X-Forwarded-For": f"6.6.6.{number}", "X-Real-IP": f"6.6.6.{number}"},
        )

    assert service.sql("SELECT DISTINCT origin FROM attempts") == [(HERE,)]
    assert service.try_password(EMAILS["moe"], "wrong").status == 429


@pytest.mark.parametrize("given", ["", "x" * 1_025, "é" * 513, "x" * 15_000])
def test_L06_impossible_password_is_refused_before_it_is_hashed(
    service: Service, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("hashed")

    monkeypatch.setattr(password.Hashing, "verify", never)
    monkeypatch.setattr(password.Hashing, "hash", never)

    assert service.try_password(EMAILS["moe"], given).status == 400
    body = {"password": given}
    assert service.api("root").put(f"{ADMIN}/{MOE}", body).status == 422
    assert (
        service.api("root")
        .post(ADMIN, {"email": "e@x.example", "role": "super_admin", **body})
        .status
        == 422
    )


def test_L06_better_parameters_rehash_at_the_next_sign_in(service: Service) -> None:
    weak = password.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORDS["moe"])
    service.sql("UPDATE credentials SET password_hash = ? WHERE user_id = ?", weak, MOE)

    service.try_password(EMAILS["moe"], "wrong")
    assert service.sql("SELECT 1 FROM credentials WHERE password_hash = ?", weak) == [(1,)]
    service.sign_in("moe")

    assert service.sql("SELECT 1 FROM credentials WHERE password_hash = ?", weak) == []


# L07: nobody is there from the start


def test_L07_new_database_has_nobody_and_the_first_comes_by_command(tmp_path: pathlib.Path) -> None:
    empty = Service(open_app(tmp_path / "new.db"), tmp_path / "new.db")
    assert empty.sql("SELECT count(*) FROM users") == [(0,)]
    for email, guess in (("admin@example.org", "admin"), ("root", "root"), ("admin", "password")):
        assert empty.try_password(email, guess).status == 400

    made = empty.app.test_cli_runner().invoke(
        args=[
            "create-user",
            "Root@example.org",
            "--role",
            "super_admin",
            "--password",
            "root's own",
        ]
    )

    assert made.exit_code == 0, made.output
    session = empty.try_password("root@example.org", "root's own").json
    assert session["user"]["app_metadata"] == {"role": "super_admin"}


# L08: administrators and their reach


def test_L08_client_admin_lists_their_client(service: Service) -> None:
    listed = service.api("ada").get(ADMIN)

    assert {user["id"] for user in listed.json["users"]} == {ADA, MOE, MIA}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("hidden", [MAX, BOB, ROOT])
def test_L08_hidden_user_is_not_there(service: Service, method: str, hidden: str) -> None:
    body = {"user_metadata": {"name": "Planted"}, "password": "brand new"}

    answers = [service.api("ada").send(method, f"{ADMIN}/{who}", body) for who in (hidden, NO_ONE)]

    assert same(*answers)
    assert error(answers[0]) == (404, "user_not_found")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_L08_own_fellow_admin_and_oneself_are_seen_and_not_touched(
    service: Service, method: str
) -> None:
    body = {"app_metadata": {"role": "client_admin", "client_id": 1}, "password": "fellow's own"}
    eva = service.api("root").post(ADMIN, {"email": "eva@acme.example", **body}).json["id"]

    for who in (eva, ADA):
        assert service.api("ada").get(f"{ADMIN}/{who}").status == 200
        refused = service.api("ada").send(method, f"{ADMIN}/{who}", {"password": "brand new"})
        assert error(refused) == (403, "not_admin")
    assert service.try_password("eva@acme.example", "fellow's own").status == 200


REACHES = [
    pytest.param({"id": NO_ONE}, id="id"),
    pytest.param({"id": MAX}, id="id-of-somebody"),
    pytest.param({"role": "client_admin"}, id="role-at-the-top"),
    pytest.param({"role": "super_admin"}, id="super-admin-at-the-top"),
    pytest.param({"app_metadata": {"role": "client_admin"}}, id="role"),
    pytest.param({"app_metadata": {"role": "super_admin", "client_id": None}}, id="super-admin"),
    pytest.param({"app_metadata": {"client_id": 2}}, id="client"),
    pytest.param({"app_metadata": {"client_id": 999}}, id="client-that-is-none"),
    pytest.param({"app_metadata": {"client_id": None}}, id="no-client"),
    pytest.param({"client_id": 2}, id="client-at-the-top"),
]


@pytest.mark.parametrize("more", REACHES)
def test_L08_client_admin_makes_managers_of_their_own_client_only(
    service: Service, more: dict
) -> None:
    before = service.sql("SELECT * FROM users")

    refused = service.api("ada").post(ADMIN, {"email": "eva@acme.example", **more})

    assert error(refused) == (403, "not_admin")
    assert service.sql("SELECT * FROM users") == before


@pytest.mark.parametrize("more", REACHES)
def test_L08_client_admin_changes_managers_into_nothing_else(service: Service, more: dict) -> None:
    before = service.sql("SELECT * FROM users")

    refused = service.api("ada").put(f"{ADMIN}/{MOE}", {"password": "brand new", **more})

    assert error(refused) == (403, "not_admin")
    assert service.sql("SELECT * FROM users") == before
    service.sign_in("moe")


def test_L08_hidden_client_and_one_that_is_none_are_one_answer(service: Service) -> None:
    answers = [
        service.api("ada").post(
            ADMIN, {"email": "eva@acme.example", "app_metadata": {"client_id": client}}
        )
        for client in (2, 999)
    ]

    assert same(*answers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("POST", ""),
        ("GET", f"/{MOE}"),
        ("PUT", f"/{MOE}"),
        ("DELETE", f"/{MIA}"),
        ("GET", "/x"),
    ],
)
def test_L08_manager_is_no_administrator_and_nobody_has_to_say_who_they_are(
    service: Service, method: str, path: str
) -> None:
    assert error(service.api("moe").send(method, ADMIN + path, {})) == (403, "not_admin")
    assert error(service.api("nobody").send(method, ADMIN + path, {})) == (401, "no_authorization")


@pytest.mark.parametrize("who", ["root", "service"])
@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("DELETE", None),
        ("PUT", {"ban_duration": "24h"}),
        ("PUT", {"app_metadata": {"role": "client_admin", "client_id": 1}}),
    ],
)
def test_L08_last_super_admin_stays(
    service: Service, who: str, method: str, body: dict | None
) -> None:
    refused = service.api(who).send(method, f"{ADMIN}/{ROOT}", body)

    assert error(refused) == (400, "23514")
    service.sign_in("root")


def test_L08_super_admin_may_go_while_another_enabled_one_stays(service: Service) -> None:
    body = {"email": "r2@example.org", "app_metadata": {"role": "super_admin"}}
    second = service.api("root").post(ADMIN, body).json["id"]
    service.api("root").put(f"{ADMIN}/{second}", {"ban_duration": "1h"})
    assert error(service.api("root").delete(f"{ADMIN}/{ROOT}")) == (400, "23514")
    service.api("root").put(f"{ADMIN}/{second}", {"ban_duration": "none"})

    assert service.api("root").delete(f"{ADMIN}/{ROOT}").status == 200


# O07: the one answer that tells of a hidden row


def test_O07_taken_email_is_told_twenty_times_and_then_no_email_is_told_of(
    service: Service,
) -> None:
    ada = service.api("ada")

    answers = [ada.post(ADMIN, {"email": EMAILS["max"]}) for _ in range(20)]

    assert same(*answers)
    assert error(answers[0]) == (422, "email_exists")
    assert answers[0].json["details"] is None
    taken, free = (ada.post(ADMIN, {"email": email}) for email in (EMAILS["max"], "free@x.example"))
    assert error(taken) == (429, "over_request_rate_limit")
    assert same(taken, free)
    assert 1 <= int(taken.headers["Retry-After"]) <= 3_600
    assert ada.put(f"{ADMIN}/{MOE}", {"email": EMAILS["max"]}).status == 429
    assert ada.put(f"{ADMIN}/{MOE}", {"user_metadata": {"name": "Moses"}}).status == 200
    assert service.api("bob").post(ADMIN, {"email": EMAILS["moe"]}).status == 422
    service.age(3_601)
    assert ada.post(ADMIN, {"email": "free@x.example"}).status == 200


def test_O07_who_sees_everybody_is_told_as_often_as_they_ask(service: Service) -> None:
    body = {"email": EMAILS["max"], "app_metadata": {"role": "super_admin"}}

    for who in ("root", "service"):
        answers = [service.api(who).post(ADMIN, body).status for _ in range(22)]
        assert answers == [422] * 22


# L09, L10, L11


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"role": "super_admin"}, id="role"),
        pytest.param({"client_id": 2}, id="client"),
        pytest.param({"app_metadata": {"role": "super_admin", "client_id": 2}}, id="app-metadata"),
        pytest.param(
            {"data": {"role": "super_admin", "client_id": 2, "email": "x@y.example"}}, id="data"
        ),
        pytest.param({"email": "x@y.example"}, id="email"),
        pytest.param({"email": EMAILS["max"]}, id="email-of-another"),
        pytest.param({"id": ROOT, "sub": ROOT, "ban_duration": "none"}, id="id"),
    ],
)
def test_L09_user_changes_neither_their_rights_nor_their_email(
    service: Service, body: dict
) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    before = service.sql("SELECT id, email, role, client_id FROM users")

    moe.put("/auth/v1/user", body)

    assert service.sql("SELECT id, email, role, client_id FROM users") == before
    assert moe.get("/buildings?select=id").json == [{"id": 1}]
    assert moe.get("/auth/v1/user").json["app_metadata"] == {
        "role": "client_manager",
        "client_id": 1,
    }


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "signup"),
        ("POST", "recover"),
        ("POST", "invite"),
        ("POST", "otp"),
        ("POST", "magiclink"),
        ("POST", "verify"),
        ("POST", "resend"),
        ("POST", "admin/generate_link"),
        ("POST", "sso"),
        ("GET", "authorize"),
        ("GET", "callback"),
    ],
)
def test_L10_there_is_no_other_way_in(service: Service, method: str, path: str) -> None:
    body = {"email": "eva@acme.example", "password": "eva's password", "data": {}}
    before = service.sql("SELECT * FROM users"), service.sql("SELECT * FROM sessions")

    for who in ("nobody", "moe", "service"):
        refused = service.api(who).send(method, f"/auth/v1/{path}", body)
        assert refused.status in (404, 422)
        assert refused.headers["Content-Type"].startswith("application/json")

    assert (service.sql("SELECT * FROM users"), service.sql("SELECT * FROM sessions")) == before


def test_L11_no_secret_in_any_answer_or_log_line(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    session = service.sign_in("moe")
    moe = service.api(token=session["access_token"])
    answers = [
        service.try_password(EMAILS["moe"], "canary-password"),
        service.token("password", {"email": 5, "password": "canary-password"}),
        service.token("password", '{"password": "canary-password"'),
        service.refresh("canary-refresh"),
        moe.get("/auth/v1/user"),
        moe.put("/auth/v1/user", {"password": "canary", "current_password": "canary-password"}),
        moe.put("/auth/v1/user", {"password": "canary-password"}),
        service.api("root").put(f"{ADMIN}/{MIA}", {"password": "canary-password"}),
        service.api("root").get(ADMIN),
        service.api("root").get("/users"),
        service.api(token="canary.to.ken").get("/auth/v1/user"),
        service.api("moe").get("/auth/v1/user", headers={"apikey": "canary-key"}),
    ]

    told = "\n".join(answer.text + str(answer.headers) for answer in answers) + caplog.text

    secrets = [tokens.SECRET_KEY, tokens.SERVICE_KEY, tokens.ANON_KEY, "argon2", "canary"]
    secrets += [PASSWORDS["moe"], session["refresh_token"], session["access_token"]]
    secrets += [salt for (salt,) in service.sql("SELECT salt FROM sessions")]
    assert [secret for secret in secrets if secret in told] == []


def test_L11_export_holds_no_secret(service: Service) -> None:
    service.sign_in("moe")

    exported = service.app.test_cli_runner().invoke(args=["export"]).output

    assert set(json.loads(exported)["users"][0]) == {
        "id",
        "email",
        "name",
        "role",
        "client_id",
        "created_at",
        "updated_at",
    }
    assert "argon2" not in exported
