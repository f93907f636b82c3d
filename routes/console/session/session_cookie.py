"""What the console hands to a browser and takes back: signed texts that name a session, and nothing else.

Knows no Flask and no clock. A seal is no right: whoever it names is looked up in the database at every
request (access/session.py), so a seal that outlives its session opens nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from itsdangerous import BadData
from itsdangerous import Signer
from itsdangerous import URLSafeSerializer

from access.accounts.access_token import Claims
from access.caller import Role

IDLE_SECONDS_MAX = 12 * 3_600  # a working day without a click ends it
AGE_SECONDS_MAX = 7 * 24 * 3_600  # and a week in any case
RENEWED_AFTER_SECONDS = 600
NAME_CHARACTERS_MAX = 80  # browsers drop a cookie of more than 4,096 bytes without a word
SIGNING = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


@dataclass(frozen=True, slots=True)
class Seal:
    """Who signed in, in which session, when it began and when it was last renewed."""

    session_id: str
    user_id: str
    role: Role
    client_id: int | None
    name: str
    began: int
    renewed: int

    def claims(self) -> Claims:
        """The same, as the look-up of a token's caller takes it."""
        return Claims(
            self.user_id,
            self.role,
            self.client_id,
            self.began,
            None,
            self.began + AGE_SECONDS_MAX,
            self.session_id,
        )

    def is_in_force(self, now: int) -> bool:
        return self.renewed + IDLE_SECONDS_MAX > now and self.began + AGE_SECONDS_MAX > now

    def is_due(self, now: int) -> bool:
        """Whether it is time to hand out a younger one."""
        return self.renewed + RENEWED_AFTER_SECONDS <= now


class Seals:
    """The keys, oldest first: the newest signs, all verify."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.sessions = URLSafeSerializer(list(keys), salt="console session", signer_kwargs=SIGNING)
        self.forms = Signer(list(keys), salt="console form", **SIGNING)  # type: ignore[arg-type]

    def write(self, seal: Seal) -> str:
        fields = [
            seal.session_id,
            seal.user_id,
            seal.role.value,
            seal.client_id,
            seal.name[:NAME_CHARACTERS_MAX],
            seal.began,
            seal.renewed,
        ]
        return str(self.sessions.dumps(fields))

    def read(self, text: str) -> Seal | None:
        """What a text of ours says; None for any other."""
        try:
            session_id, user_id, role, client_id, name, began, renewed = self.sessions.loads(text)
            return Seal(session_id, user_id, Role(role), client_id, name, began, renewed)
        except (BadData, ValueError, TypeError):
            return None

    def form_token(self, holder: str) -> str:
        """What every form of this holder carries: a session's id, or a sign-in page's nonce."""
        return self.forms.get_signature(holder.encode()).decode()

    def is_form_token(self, token: str, holder: str) -> bool:
        return self.forms.verify_signature(holder.encode(), token.encode("utf-8", "replace"))
