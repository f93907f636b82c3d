"""Signed links to files, and signed uploads. At use, the rights of the maker as they are now decide.

A link names the use, the file, the maker, the credential that the maker used, and the expiry. It ends with any of them.
A signed upload works once: its id is stored at use.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import sqlalchemy as sa
from itsdangerous import BadData, Signer, URLSafeSerializer

from access.access_token import Claims, RefusedClaims
from access.caller import SERVICE_CALLER, Caller
from access.roles import Role
from access.session import InvalidApiKey, KeyId, look_up_caller, look_up_key, read_person
from engine.interface.database import Transaction
from inspections.faults import InvalidLink, LinkExpired, LinkSpent, NoSuchFile
from inspections.files.records import FileKey
from models.credential import SpentLink

DOWNLOAD: Final = "download"
UPLOAD: Final = "upload"
UPLOAD_SECONDS: Final = 7_200
DOWNLOAD_SECONDS_MAX: Final = 365 * 24 * 3_600
SALT, SERVICE_SALT = "walkthrough.files", "walkthrough.files.service"
TOKEN_CHARACTERS_MAX = 8_192


@dataclass(frozen=True, slots=True)
class Link:
    """A signed link. Times are Unix seconds.

    `maker` is None for the service key; `service` is then a MAC of the key. A link of a token without a session has
    neither `session_id` nor `api_key_id`.
    """

    use: str
    path: str
    maker: str | None
    session_id: str | None
    api_key_id: str | None
    service: str | None
    issued_at: int
    expires_at: int
    id: str
    upsert: bool = False
    width: int | None = None
    """The width of the thumbnail that a link shows; None for the file itself."""


class LinkSigner:
    """The keys of SECRET_KEY. The last one signs, and all verify. Links of the service key end with `service_key`."""

    def __init__(self, keys: Sequence[str], service_key: str | None) -> None:
        self.serializer = URLSafeSerializer(list(keys), salt=SALT)
        self.service_key = service_key
        self.services = Signer(list(keys), salt=SERVICE_SALT, key_derivation="hmac", digest_method=hashlib.sha256)

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
        now, id_ = transaction.unix, secrets.token_urlsafe(12)
        service = self.services.get_signature(self.named_service_key(id_)).decode() if caller.id is None else None
        maker = (caller.id, caller.session_id, caller.api_key_id, service)
        return str(self.serializer.dumps(asdict(Link(use, key.path, *maker, now, now + seconds, id_, upsert, width))))

    def named_service_key(self, link_id: str) -> bytes:
        """Return the text whose MAC a link of the service key carries: two links do not carry the same."""
        return f"{link_id} {self.service_key or ''}".encode()

    def read(self, transaction: Transaction, token: str, use: str, key: FileKey) -> Link:
        """Return a link of this use and file. Raise InvalidLink, LinkExpired, or NoSuchFile for an old service key."""
        link = self.parse(token)
        if (link.use, link.path) != (use, key.path):
            raise InvalidLink
        if link.expires_at <= transaction.unix:
            raise LinkExpired
        if link.maker is None and not self.is_of_service_key(link):
            raise NoSuchFile
        return link

    def is_of_service_key(self, link: Link) -> bool:
        """Return whether the service key of now made a link."""
        mac = (link.service or "").encode()
        return bool(self.service_key) and self.services.verify_signature(self.named_service_key(link.id), mac)

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

    Raise NoSuchFile if the maker is gone or disabled, or if the credential that made the link has ended.
    """
    maker = look_up_maker(transaction, link)
    if transaction.writes:
        transaction.set_actor(maker.id)
    return maker


def look_up_maker(transaction: Transaction, link: Link) -> Caller:
    if link.maker is None:
        return SERVICE_CALLER
    try:
        if link.api_key_id is not None:
            return look_up_key(transaction, KeyId(link.api_key_id))
        person = read_person(transaction, link.maker)
        if person is None:
            raise NoSuchFile
        role, client_id = Role(person["role"]), person["client_id"]
        claims = Claims(link.maker, role, client_id, link.issued_at, None, link.expires_at, None)
        # A new password, a global sign-out and another role end also a link whose session goes on.
        maker = look_up_caller(transaction, claims)
        if link.session_id is None:
            return maker
        return look_up_caller(transaction, replace(claims, session_id=link.session_id))
    except (RefusedClaims, InvalidApiKey) as error:
        raise NoSuchFile from error


def is_spent(transaction: Transaction, link: Link) -> bool:
    """Return whether a signed upload was used."""
    spent = sa.select(SpentLink.id).where(SpentLink.id == link.id)
    return transaction.execute(spent).first() is not None


def spend(transaction: Transaction, link: Link) -> None:
    """Note that a signed upload is used, and forget expired ones. Raise LinkSpent. The caller writes the file."""
    if is_spent(transaction, link):
        raise LinkSpent
    transaction.execute(sa.delete(SpentLink).where(SpentLink.expires_at <= transaction.unix))
    transaction.execute(sa.insert(SpentLink).values(id=link.id, expires_at=link.expires_at))
