"""Signed links to files, and signed uploads: what they are for, how long, how often, and whose rights decide."""

from collections.abc import Callable

import pytest

from access.caller import Caller
from engine.interface.database import Transaction
from inspections.faults import InvalidLink, LinkExpired, LinkSpent, NoSuchFile
from inspections.files import links
from inspections.files.links import DOWNLOAD, UPLOAD, Link, LinkSigner, load_maker, spend
from inspections.files.records import find
from inspections.files.store import FileStore
from tests.conftest import ADA, MOE, ROOT
from tests.inspections.case_world import FAILED, MOMENT, case_rows
from tests.inspections.file_world import Files, key_of
from tests.support import tokens
from tests.support.set_clock import SetClock

KEY = key_of(f"inspections/{FAILED}/x.jpg")
KEYS = ["first key of the service, long enough", "second key of the service, long enough"]
SIGNER = LinkSigner(KEYS, tokens.SERVICE_KEY)
LATER = "2026-11-20T15:05:01+00:00"
"""An hour and a second after MOMENT, plus 5 minutes."""


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


@pytest.fixture
def files(case: Callable, tmp_path: object) -> Callable[[str], Files]:
    store = FileStore(tmp_path / "files")
    return lambda who: Files(case, store, who)


def sign(files: Files, use: str = DOWNLOAD, key: object = KEY, **options: object) -> str:
    return files.read(lambda transaction, caller: SIGNER.sign(transaction, caller, use, key, 3_600, **options))


def follow(files: Callable, token: str, use: str = DOWNLOAD, key: object = KEY) -> Caller:
    """Use a link without a credential of one's own, and return its maker."""

    def run(transaction: Transaction, nobody: Caller) -> Caller:
        return load_maker(transaction, SIGNER.read(transaction, token, use, key))

    maker: Caller = files("service").read(run)
    return maker


@pytest.mark.parametrize(("who", "maker"), [("ada", ADA), ("moe", MOE), ("root", ROOT), ("service", None)])
def test_link_has_the_rights_of_its_maker(files: Callable, who: str, maker: str | None) -> None:
    files("ada").put(KEY.path)
    caller = follow(files, sign(files(who)))

    assert caller.id == maker
    with files("service").transaction() as (transaction, _):
        assert find(transaction, caller, KEY).name == KEY.name


REVOCATIONS = {
    "grant": ("moe", "DELETE", "/client_manager_building_access?building_id=eq.1", None),
    "role": ("moe", "PATCH", f"/users?id=eq.{MOE}", {"role": "client_admin"}),
    "user": ("moe", "DELETE", f"/users?id=eq.{MOE}", None),
    "link of the inspector": ("mia", "PATCH", "/inspectors?id=eq.1", {"user_id": None}),
}


@pytest.mark.parametrize("what", [each for each in REVOCATIONS if each != "role"])
def test_link_ends_with_the_right_of_its_maker(files: Callable, case: Callable, what: str) -> None:
    who, method, path, body = REVOCATIONS[what]
    files("ada").put(KEY.path)
    token = sign(files(who))
    assert case("root").send(method, path, body).status == 204

    with pytest.raises(NoSuchFile), files("service").transaction() as (transaction, _):
        find(transaction, load_maker(transaction, SIGNER.read(transaction, token, DOWNLOAD, KEY)), KEY)


def test_link_ends_when_its_maker_is_disabled_or_signed_out_everywhere(files: Callable, case: Callable) -> None:
    files("ada").put(KEY.path)
    token = sign(files("moe"))
    database = files("ada").app.extensions["walkthrough"]
    for column, value in (("disabled_until", 2**40), ("tokens_since", database.clock() + 10)):
        with database.writing() as transaction:
            transaction.run("DELETE FROM credentials")
            transaction.run(f"INSERT INTO credentials (user_id, {column}) VALUES ('{MOE}', {int(value)})")
        with pytest.raises(NoSuchFile):
            follow(files, token)
    with database.writing() as transaction:
        transaction.run("DELETE FROM credentials")
    assert follow(files, token).id == MOE


def test_link_is_for_one_use_and_one_file(files: Callable) -> None:
    token = sign(files("ada"))
    other = key_of(f"inspections/{FAILED}/y.jpg")
    for use, key in ((UPLOAD, KEY), (DOWNLOAD, other), (DOWNLOAD, key_of(f"findings/{FAILED}/x.jpg"))):
        with pytest.raises(InvalidLink):
            follow(files, token, use, key)


@pytest.mark.parametrize(
    "change",
    [lambda token: token[:-1], lambda token: "A" + token[1:], lambda token: "", lambda token: token + "ü",
     lambda token: "x" * 9_000, lambda token: "a.b"],
)  # fmt: skip
def test_changed_link_is_refused(files: Callable, change: Callable[[str], str]) -> None:
    with pytest.raises(InvalidLink):
        follow(files, change(sign(files("ada"))))


def test_link_of_another_purpose_is_refused(files: Callable) -> None:
    """The same keys sign access tokens and cookies."""
    other = links.URLSafeSerializer(SIGNER.serializer.secret_keys, salt="other").dumps({"use": DOWNLOAD})
    lacking = SIGNER.serializer.dumps({"use": DOWNLOAD})
    for token in (other, lacking):
        with pytest.raises(InvalidLink):
            follow(files, token)


def test_link_expires(files: Callable) -> None:
    token = sign(files("ada"))
    files("ada").app.extensions["walkthrough"].clock = SetClock(LATER)

    with pytest.raises(LinkExpired):
        follow(files, token)


def test_all_keys_verify_and_the_last_one_signs(files: Callable) -> None:
    old, new = (LinkSigner(KEYS[:1], None), LinkSigner(KEYS[1:], None))
    token = files("ada").read(lambda transaction, caller: old.sign(transaction, caller, DOWNLOAD, KEY, 60))

    assert SIGNER.parse(token).path == KEY.path
    assert new.parse(sign(files("ada"))).path == KEY.path
    with pytest.raises(InvalidLink):
        new.parse(token)


def test_link_keeps_its_options(files: Callable) -> None:
    link = SIGNER.parse(sign(files("ada"), UPLOAD, upsert=True, width=640))

    assert (link.use, link.upsert, link.width, link.expires_at - link.issued_at) == (UPLOAD, True, 640, 3_600)


def test_signed_upload_works_once(files: Callable) -> None:
    token = sign(files("ada"), UPLOAD)

    def use(transaction: Transaction, nobody: Caller) -> None:
        link = SIGNER.read(transaction, token, UPLOAD, KEY)
        assert load_maker(transaction, link).id == ADA
        assert transaction.actor_id == ADA
        spend(transaction, link)

    files("service").write(use)
    for _ in range(2):
        with pytest.raises(LinkSpent):
            files("service").write(use)


def test_spent_link_is_forgotten_after_its_expiry(files: Callable) -> None:
    def use(id_: str, expires_at: int) -> Callable:
        link = Link(UPLOAD, KEY.path, ADA, None, None, None, 0, expires_at, id_)
        return lambda transaction, caller: spend(transaction, link)

    with files("ada").transaction() as (transaction, _):
        now = transaction.unix
    files("ada").write(use("old", now))
    files("ada").write(use("new", now + 10))
    with files("ada").transaction() as (transaction, _):
        assert transaction.all("SELECT id FROM spent_links ORDER BY id") == [("new",)]
