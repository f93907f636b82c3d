"""Signed links to files, and signed uploads. At use, the rights of the maker as they are now decide.

A link names the use, the file, the maker and the expiry. A signed upload works once: its id is stored at use.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa
from itsdangerous import BadData, URLSafeSerializer

from access.access_token import Claims, RefusedClaims
from access.caller import SERVICE_CALLER, Caller
from access.roles import Role
from access.session import look_up_caller, parameters, person_statement
from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement, parameter
from inspections.faults import InvalidLink, LinkExpired, LinkSpent, NoSuchFile
from inspections.files.keys import FileKey
from models.credential import SPENT_LINKS
from models.types import Bound

DOWNLOAD: Final = "download"
UPLOAD: Final = "upload"
UPLOAD_SECONDS: Final = 7_200
DOWNLOAD_SECONDS_MAX: Final = 365 * 24 * 3_600
SALT = "walkthrough.files"
TOKEN_CHARACTERS_MAX = 8_192


@dataclass(frozen=True, slots=True)
class Link:
    """A signed link. Times are Unix seconds. `maker` is None for the service key."""

    use: str
    path: str
    maker: str | None
    issued_at: int
    expires_at: int
    id: str
    upsert: bool = False
    width: int | None = None
    """The width of the thumbnail that a link shows; None for the file itself."""


class LinkSigner:
    """The keys of SECRET_KEY. The last one signs, and all verify."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.serializer = URLSafeSerializer(list(keys), salt=SALT)

    def sign(
        self,
        transaction: Transaction,
        caller: Caller,
        use: str,
        key: FileKey,
        seconds: int,
        *,
        upsert: bool = False,
        width: int | None = None,
    ) -> str:
        """Return the token of a new link, which the caller makes. The caller checked their rights."""
        now = transaction.unix
        link = Link(use, key.path, caller.id, now, now + seconds, secrets.token_urlsafe(12), upsert, width)
        return str(self.serializer.dumps(asdict(link)))

    def read(self, transaction: Transaction, token: str, use: str, key: FileKey) -> Link:
        """Return a link of this use and file. Raise InvalidLink or LinkExpired."""
        link = self.parse(token)
        if (link.use, link.path) != (use, key.path):
            raise InvalidLink
        if link.expires_at <= transaction.unix:
            raise LinkExpired
        return link

    def parse(self, token: str) -> Link:
        if len(token) > TOKEN_CHARACTERS_MAX or not token.isascii():
            raise InvalidLink
        try:
            payload: Mapping[str, Any] = self.serializer.loads(token)
            return Link(**payload)
        except (BadData, TypeError) as error:
            raise InvalidLink from error


def load_maker(transaction: Transaction, link: Link) -> Caller:
    """Return the maker of a link with their rights as of this transaction, and make them the actor of its writes.

    Raise NoSuchFile if the maker is gone or disabled, or has ended all sessions since.
    """
    maker = look_up_maker(transaction, link)
    if transaction.writes:
        transaction.set_actor(maker.id)
    return maker


def look_up_maker(transaction: Transaction, link: Link) -> Caller:
    if link.maker is None:
        return SERVICE_CALLER
    statement = person_statement(transaction.dialect.name)
    person = transaction.one(statement.sql, parameters(statement, link.maker, None))
    if person is None:
        raise NoSuchFile
    claims = Claims(link.maker, Role(person[0]), person[1], link.issued_at, None, link.expires_at, None)
    try:
        return look_up_caller(transaction, claims)
    except RefusedClaims as error:
        raise NoSuchFile from error


def is_spent(transaction: Transaction, link: Link) -> bool:
    """Return whether a signed upload was used."""
    statement = find_statement(transaction.dialect.name)
    return transaction.value(statement.sql, statement.bind(Binding(parameters={"link_id": link.id}))) is not None


def spend(transaction: Transaction, link: Link) -> None:
    """Note that a signed upload is used, and forget expired ones. Raise LinkSpent. The caller writes the file."""
    if is_spent(transaction, link):
        raise LinkSpent
    for statement in (forget_statement, spend_statement):
        compiled = statement(transaction.dialect.name)
        values: dict[str, Bound] = {"link_id": link.id, "link_expires_at": link.expires_at, "now": transaction.unix}
        transaction.run(compiled.sql, compiled.bind(Binding(parameters=values)))


@cache
def find_statement(database: str) -> Statement:
    statement = sa.select(SPENT_LINKS.c.id).where(SPENT_LINKS.c.id == parameter("link_id", sa.Text))
    return compile_statement(statement, DIALECTS[database].sa_dialect)


@cache
def forget_statement(database: str) -> Statement:
    statement = sa.delete(SPENT_LINKS).where(SPENT_LINKS.c.expires_at <= parameter("now", sa.BigInteger))
    return compile_statement(statement, DIALECTS[database].sa_dialect)


@cache
def spend_statement(database: str) -> Statement:
    values = {"id": parameter("link_id", sa.Text), "expires_at": parameter("link_expires_at", sa.BigInteger)}
    return compile_statement(sa.insert(SPENT_LINKS).values(values), DIALECTS[database].sa_dialect)
