"""Users with their credentials as plain values: reads, writes, and the changes that a request may make.

Nothing here checks permissions. Role, client and name are columns of the user's row, and the API never stores them in
the metadata. routes/gotrue removes them from the metadata of a request, and adds them to those of a response. An import
stores metadata unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from string import ascii_lowercase, ascii_uppercase

import email_validator
import sqlalchemy as sa

from access.access_token import AUDIENCE, TokenSigner
from access.accounts.password import hash_new_password
from access.roles import Role
from engine.interface.database import Transaction
from engine.query.catalog import CheckViolation, ForeignKeyViolation, UniqueViolation
from engine.query.write import row_layout
from models.credential import Credential, Session
from models.types import AccountFault, Bound, Fault, new_uuid, read_string
from models.user import User

METADATA_BYTES_MAX = 16_384
EMAIL_CHARACTERS_MAX = 254  # RFC 5321

# A kiosk without a network may use a domain such as `kiosk.local`.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

Metadata = Mapping[str, object]


class Unset(Enum):
    """The type of UNSET, the value of a field that a request omits. None is the value null."""

    UNSET = "unset"


UNSET = Unset.UNSET


class NoSuchUser(Fault):
    """No user has the e-mail."""


class InvalidUserAccount(AccountFault):
    """Values that no user can have: an unknown role, or a client that does not fit the role."""


class InvalidEmail(InvalidUserAccount, status=400):
    """The e-mail is malformed, or missing."""


class EmailTaken(AccountFault, code="email_exists"):
    """Another user has the e-mail, visible to the caller or not."""


class IdTaken(AccountFault, code="user_already_exists"):
    """Another user has the id."""


@dataclass(frozen=True, slots=True)
class UserAccount:
    """A user with their credentials."""

    id: str
    email: str
    name: str
    role: Role
    client_id: int | None
    created_at: str
    updated_at: str
    password_hash: str | None
    app_metadata: Metadata
    user_metadata: Metadata
    disabled_until: int
    tokens_since: int
    last_sign_in_at: str | None
    is_temporary: int

    @property
    def has_temporary_password(self) -> bool:
        return self.is_temporary == 1

    def is_disabled(self, now: int) -> bool:
        return self.disabled_until > now


@dataclass(frozen=True, slots=True)
class NewUserAccount:
    """A user to insert. Without a password they cannot sign in."""

    email: str
    name: str | None
    role: Role
    client_id: int | None
    id: str = field(default_factory=new_uuid)
    password_hash: str | None = None
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int = 0
    has_temporary_password: bool = False

    def display_name(self) -> str:
        """Return the name, or by default the local part of the e-mail."""
        return self.name if self.name is not None else self.email.partition("@")[0]


@dataclass(frozen=True, slots=True)
class UserChanges:
    """The changes of a user. None and UNSET leave a field as it is. Metadata are merged."""

    email: str | None = None
    name: str | None = None
    role: Role | None = None
    client_id: int | Unset | None = UNSET
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int | None = None


# Values


def read_email(text: str) -> str:
    """Return an e-mail as GoTrue stores it: stripped and in lower case. Raise InvalidEmail if it is malformed."""
    email = text.strip().lower()
    if not is_email(email):
        raise InvalidEmail("Unable to validate email address: invalid format")
    return read_string(email)


def is_email(text: str) -> bool:
    """Return whether a text is an e-mail address. No name server is asked.

    >>> is_email("ines@kiosk.local"), is_email("<a@c.org>"), is_email("x@y..z")
    (True, False, False)
    """
    if len(text) > EMAIL_CHARACTERS_MAX:
        return False
    try:
        email_validator.validate_email(text, check_deliverability=False, globally_deliverable=False)
    except email_validator.EmailNotValidError:
        return False
    return True


def read_role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        roles = ", ".join(each.value for each in Role)
        raise InvalidUserAccount(f"role is one of {roles}") from None


def write_metadata(metadata: Metadata) -> str:
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise InvalidUserAccount(f"Metadata hold at most {METADATA_BYTES_MAX} bytes")
    return text


def row_of(person: UserAccount) -> dict[str, str | int | None]:
    return {"email": person.email, "name": person.name, "role": person.role.value, "client_id": person.client_id}


def changed_row(person: UserAccount, changes: UserChanges) -> dict[str, str | int | None]:
    """Return the user's row with the changes applied, without its id and times."""
    return {
        "email": person.email if changes.email is None else changes.email,
        "name": person.name if changes.name is None else read_string(changes.name),
        "role": person.role.value if changes.role is None else changes.role.value,
        "client_id": person.client_id if changes.client_id is UNSET else changes.client_id,
    }


def merge_metadata(old: Metadata, more: Metadata) -> Metadata:
    """Return the old metadata updated with the new. A null removes its key, as in GoTrue."""
    return {key: value for key, value in {**old, **more}.items() if value is not None}


EMAIL_KEY = "users_email_key"
"""The only constraint that reveals a possibly hidden row: e-mails are unique."""
EMAIL_CHECK = "users_email_check"
ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Reading


ACCOUNTS = sa.select(
    User,
    Credential.password_hash,
    sa.func.coalesce(Credential.app_metadata, "{}").label("app_metadata"),
    sa.func.coalesce(Credential.user_metadata, "{}").label("user_metadata"),
    sa.func.coalesce(Credential.disabled_until, 0).label("disabled_until"),
    sa.func.coalesce(Credential.tokens_since, 0).label("tokens_since"),
    sa.func.coalesce(Credential.is_temporary, 0).label("is_temporary"),
    Credential.last_sign_in_at,
).outerjoin_from(User, Credential, Credential.user_id == User.id)
"""The columns of `UserAccount`."""
LOWER_EMAIL = sa.func.lower(User.email)
LOWERED, FOLDED = sa.bindparam("lowered", type_=sa.Text), sa.bindparam("folded", type_=sa.Text)
# With parameters, as every sign-in runs these: SQLAlchemy then hashes the columns once, not at each call.
BY_ID = ACCOUNTS.where(User.id == sa.bindparam("user_id"))
BY_EMAIL = ACCOUNTS.where(LOWER_EMAIL.in_((LOWERED, FOLDED))).order_by(sa.desc(LOWERED == LOWER_EMAIL))


def by_id(transaction: Transaction, user_id: str) -> UserAccount | None:
    return read_account(transaction.execute(BY_ID, {"user_id": user_id}).first())


def by_email(transaction: Transaction, email: str) -> UserAccount | None:
    """Return the user who signs in with an e-mail, in any case; None if there is none.

    The database's `lower` changes ASCII letters only, and `read_email` lowers all letters, so both forms are searched.
    `require_unique_emails` ensures that at most one user matches.
    """
    stripped = email.strip()
    emails = {"lowered": stripped.translate(ASCII_LOWER), "folded": stripped.lower()}
    return read_account(transaction.execute(BY_EMAIL, emails).first())


def require_unique_emails(transaction: Transaction, emails: Iterable[str]) -> None:
    """Raise UniqueViolation or CheckViolation unless each e-mail, just written, identifies one user in any case.

    The database's unique index lowers ASCII letters only, so it accepts two e-mails that differ in the case of others.
    A text that is no address is refused. With space around it, `by_email` would never find it.
    """
    for email in emails:
        if not is_email(email):
            raise CheckViolation(EMAIL_CHECK)
        if not email.isascii():
            lowered = email.translate(ASCII_LOWER)
            users = sa.select(User.id).where(LOWER_EMAIL.in_((lowered, email.lower()))).limit(2)
            if len(transaction.execute(users).all()) > 1:
                raise UniqueViolation(EMAIL_KEY)
            if lowered != email.lower():
                # A capital beyond ASCII: the query would not find it for a later e-mail in small letters.
                raise CheckViolation(EMAIL_CHECK)


def is_any(transaction: Transaction) -> bool:
    """Return whether there is any user."""
    return transaction.value("SELECT 1 FROM users LIMIT 1") is not None


def disabled_users(transaction: Transaction, user_ids: Iterable[str]) -> set[str]:
    """Return the ids of those users who are disabled now."""
    disabled = sa.select(Credential.user_id).where(Credential.disabled_until > transaction.unix)
    return {*transaction.execute(disabled).scalars()} & {*user_ids}


def read_account(row: sa.Row[object] | None) -> UserAccount | None:
    """Return the account of a row of ACCOUNTS, or None."""
    if row is None:
        return None
    columns = {each.name: getattr(row, each.name) for each in fields(UserAccount)}
    metadata = {name: json.loads(columns[name]) for name in ("app_metadata", "user_metadata")}
    return UserAccount(**columns | metadata | {"role": Role(row.role)})


# Inserting


def create_user_with_password(
    transaction: Transaction, email: str, name: str | None, role: str, client_id: int | None, password: str | None
) -> str:
    """Insert a user from the options of a command; return the id."""
    password_hash = hash_new_password(password) if password is not None else None
    new = NewUserAccount(read_email(email), name, read_role(role), client_id, password_hash=password_hash)
    return insert_user(transaction, new)


def insert_user(transaction: Transaction, new: NewUserAccount) -> str:
    """Insert a user; return the id. Raise EmailTaken, IdTaken or InvalidUserAccount."""
    try:
        transaction.execute(
            sa.insert(User).values(
                id=new.id,
                email=new.email,
                name=read_string(new.display_name()),
                role=new.role.value,
                client_id=new.client_id,
                created_at=transaction.now,
                updated_at=transaction.now,
            )
        )
        require_unique_emails(transaction, [new.email])
    except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
        raise user_fault(violation, new.role.value, new.client_id) from violation
    # A deleted user of the same id leaves its `tokens_since` (schema.sql).
    set_credentials(
        transaction,
        new.id,
        password_hash=new.password_hash,
        app_metadata=write_metadata(new.app_metadata),
        user_metadata=write_metadata(new.user_metadata),
        disabled_until=new.disabled_until,
        is_temporary=int(new.has_temporary_password),
    )
    return new.id


def user_fault(violation: Fault, role: object, client_id: object) -> Fault:
    """Return the fault for a constraint of the users table that a user of the role and client violates."""
    if isinstance(violation, UniqueViolation):
        if violation.constraint == EMAIL_KEY:
            return EmailTaken("A user with this email address has already been registered")
        return IdTaken("A user with this id has already been registered")
    if isinstance(violation, ForeignKeyViolation):
        return InvalidUserAccount("There is no client of that client_id")
    if isinstance(violation, CheckViolation) and violation.constraint == "users_check":
        return InvalidUserAccount(
            f"A {role} needs a client: set client_id to its number"
            if client_id is None
            else f"A {role} has no client: leave out client_id"
        )
    return violation


# Changing


def update_user(transaction: Transaction, person: UserAccount, changes: UserChanges) -> None:
    """Write the changes of a user. Triggers end grants, sessions and tokens if role or client change (schema.sql)."""
    row = changed_row(person, changes)
    if row != row_of(person):
        try:
            changed = sa.update(User).where(User.id == person.id).values(**row, updated_at=transaction.now)
            transaction.execute(changed)
            require_unique_emails(transaction, [str(row["email"])])
        except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
            raise user_fault(violation, row["role"], row["client_id"]) from violation
    for name, metadata, more in (
        ("app_metadata", person.app_metadata, changes.app_metadata),
        ("user_metadata", person.user_metadata, changes.user_metadata),
    ):
        if more:
            set_credentials(transaction, person.id, **{name: write_metadata(merge_metadata(metadata, more))})
    if changes.disabled_until is not None:
        set_credentials(transaction, person.id, disabled_until=changes.disabled_until)
        disabled = changes.disabled_until > transaction.unix
        record_credential_event(transaction, "disable" if disabled else "enable", person.id)


def replace_password(
    transaction: Transaction,
    user_id: str,
    password_hash: str,
    kept_session: str | None = None,
    *,
    is_temporary: bool = False,
) -> None:
    """Set a password. End all sessions except one, and all tokens without a session."""
    set_credentials(transaction, user_id, password_hash=password_hash, is_temporary=int(is_temporary))
    end_other_sessions(transaction, user_id, kept_session)
    end_tokens(transaction, user_id)
    record_credential_event(transaction, "password", user_id)


def record_credential_event(transaction: Transaction, action: str, user_id: str) -> None:
    """Record a change of a user's credentials in the audit log, without their values."""
    person = by_id(transaction, user_id)
    row_layout.record_entry(
        transaction,
        action,
        "users",
        actor_id=transaction.actor_id,
        client_id=person.client_id if person is not None else None,
        row_key=user_id,
    )


def end_other_sessions(transaction: Transaction, user_id: str, kept_session: str | None) -> int:
    """End a user's sessions, except one if given; return how many ended."""
    others = sa.delete(Session).where(Session.user_id == user_id, Session.id != (kept_session or ""))
    return transaction.execute(others).rowcount


def end_tokens(transaction: Transaction, user_id: str) -> None:
    """End all tokens without a session that were issued until now.

    `iat` counts whole seconds, so tokens of the current second end too and later ones count from the next second
    (decision 0014). A second call within one second moves this to the second after that.
    """
    set_credentials(transaction, user_id, tokens_since=next_tokens_since(transaction))


def next_tokens_since(transaction: Transaction) -> sa.ColumnElement[int]:
    """Return the second from which tokens without a session count, once those issued until now end.

    It is later than before: tokens issued since another end in this second have its `tokens_since` as `iat`.
    """
    since = transaction.unix + 1
    return sa.case((Credential.tokens_since < since, since), else_=Credential.tokens_since + 1)


def set_credentials(transaction: Transaction, user_id: str, **columns: Bound | sa.ColumnElement[int]) -> None:
    """Set columns of a user's credentials. Insert the row if there is none."""
    change = sa.update(Credential).where(Credential.user_id == user_id).values(columns)
    if not transaction.execute(change).rowcount:
        transaction.execute(sa.insert(Credential).values(user_id=user_id))
        transaction.execute(change)  # an UPDATE, which is what the triggers of `disabled_until` expect


# Tokens


def claims_for(person: UserAccount, now: int, seconds: int, session_id: str | None = None) -> dict[str, object]:
    """Return the claims of an access token for a user. `now` is in Unix seconds."""
    # A token without a session counts only from `tokens_since` on.
    issued_at = now if session_id is not None else max(now, person.tokens_since)
    claims: dict[str, object] = {
        "sub": person.id,
        "role": person.role.value,
        "client_id": person.client_id,
        "aud": AUDIENCE,
        "iat": issued_at,
        "exp": issued_at + seconds,
        "session_id": session_id,
        "email": person.email,
        "aal": "aal1",
    }
    return {name: value for name, value in claims.items() if value is not None}


def issue_token(transaction: Transaction, signers: TokenSigner, email: str, seconds: int) -> str:
    """Return an access token without a session for the user of an e-mail; raise NoSuchUser."""
    return signers.issue(claims_for(require_user(transaction, email), transaction.unix, seconds))


def require_user(transaction: Transaction, email: str) -> UserAccount:
    """Return the user of an e-mail; raise NoSuchUser."""
    person = by_email(transaction, email)
    if person is None:
        raise NoSuchUser(f'there is no user "{email}"')
    return person
