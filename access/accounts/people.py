"""Read and write users with their credentials. This module does not check permissions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from string import ascii_lowercase, ascii_uppercase

import sqlalchemy as sa

from access.access_token import AUDIENCE, TokenSigner
from access.accounts.password import hash_new_password
from access.accounts.person import (
    EmailTaken,
    IdTaken,
    InvalidUserAccount,
    Metadata,
    NewUserAccount,
    NoSuchUser,
    UserAccount,
    UserChanges,
    changed_row,
    is_email,
    merge_metadata,
    read_email,
    read_role,
    row_of,
    write_metadata,
)
from access.roles import Role
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.constraints import CheckViolation, ForeignKeyViolation, UniqueViolation
from engine.query.statement import parameter
from engine.query.write import audit
from models.credential import CREDENTIALS, SESSIONS
from models.errors import Fault
from models.types import UUID, read_string
from models.user import User

EMAIL_KEY = "users_email_key"
"""The only constraint that reveals a possibly hidden row: e-mails are unique."""
EMAIL_CHECK = "users_email_check"
ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Reading


def by_id(transaction: Transaction, user_id: str) -> UserAccount | None:
    return read_account(BY_ID.one(transaction, user_id=user_id))


def by_email(transaction: Transaction, email: str) -> UserAccount | None:
    """Return the user who signs in with an e-mail, in any case; None if there is none.

    The database's `lower` changes ASCII letters only, and `read_email` lowers all letters, so both forms are searched.
    `require_unique_emails` ensures that at most one user matches.
    """
    stripped = email.strip()
    lowered = stripped.translate(ASCII_LOWER)
    return read_account(BY_EMAIL.one(transaction, lowered=lowered, folded=stripped.lower()))


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
            users = SAME_EMAIL.all(transaction, lowered=lowered, folded=email.lower())
            if len(users) > 1:
                raise UniqueViolation(EMAIL_KEY)
            if lowered != email.lower():
                # A capital beyond ASCII: SAME_EMAIL would not find it for a later e-mail in small letters.
                raise CheckViolation(EMAIL_CHECK)


def is_any(transaction: Transaction) -> bool:
    """Return whether there is any user."""
    return transaction.value("SELECT 1 FROM users LIMIT 1") is not None


def disabled_users(transaction: Transaction, user_ids: Iterable[str]) -> set[str]:
    """Return the ids of those users who are disabled now."""
    return {str(user_id) for (user_id,) in DISABLED.all(transaction, now=transaction.unix)} & set(user_ids)


def read_account(row: tuple[object, ...] | None) -> UserAccount | None:
    """Return the account of a row of COLUMNS, or None."""
    if row is None:
        return None
    id_, email, name, role, client_id, created_at, updated_at = row[:7]
    password_hash, app_metadata, user_metadata, disabled_until, tokens_since, last = row[7:13]
    return UserAccount(
        str(id_),
        str(email),
        str(name),
        Role(str(role)),
        client_id if isinstance(client_id, int) else None,
        str(created_at),
        str(updated_at),
        password_hash if isinstance(password_hash, str) else None,
        read_metadata(app_metadata),
        read_metadata(user_metadata),
        disabled_until if isinstance(disabled_until, int) else 0,
        tokens_since if isinstance(tokens_since, int) else 0,
        last if isinstance(last, str) else None,
    )


def read_metadata(text: object) -> Metadata:
    metadata: Metadata = json.loads(text) if isinstance(text, str) else {}
    return metadata


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
        INSERT_USER.run(
            transaction,
            user_id=new.id,
            email=new.email,
            name=read_string(new.display_name()),
            role=new.role.value,
            client_id=new.client_id,
            now=transaction.now,
        )
        require_unique_emails(transaction, [new.email])
    except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
        raise user_fault(violation, new.role.value, new.client_id) from violation
    # A deleted user of the same id leaves its `tokens_since` (schema.sql).
    ENSURE_CREDENTIALS.run(transaction, user_id=new.id)
    SET_CREDENTIALS.run(
        transaction,
        user_id=new.id,
        password_hash=new.password_hash,
        app_metadata=write_metadata(new.app_metadata),
        user_metadata=write_metadata(new.user_metadata),
        disabled_until=new.disabled_until,
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
            UPDATE_USER.run(transaction, user_id=person.id, now=transaction.now, **row)
            require_unique_emails(transaction, [str(row["email"])])
        except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
            raise user_fault(violation, row["role"], row["client_id"]) from violation
    for column, metadata, more in (
        (CREDENTIALS.c.app_metadata, person.app_metadata, changes.app_metadata),
        (CREDENTIALS.c.user_metadata, person.user_metadata, changes.user_metadata),
    ):
        if more:
            set_credential(transaction, person.id, column, write_metadata(merge_metadata(metadata, more)))
    if changes.disabled_until is not None:
        set_credential(transaction, person.id, CREDENTIALS.c.disabled_until, changes.disabled_until)
        disabled = changes.disabled_until > transaction.unix
        record_credential_event(transaction, "disable" if disabled else "enable", person.id)


def replace_password(
    transaction: Transaction, user_id: str, password_hash: str, kept_session: str | None = None
) -> None:
    """Set a password. End all sessions except one, and all tokens without a session."""
    set_credential(transaction, user_id, CREDENTIALS.c.password_hash, password_hash)
    end_other_sessions(transaction, user_id, kept_session)
    end_tokens(transaction, user_id)
    record_credential_event(transaction, "password", user_id)


def record_credential_event(transaction: Transaction, action: str, user_id: str) -> None:
    """Record a change of a user's credentials in the audit log, without their values."""
    person = by_id(transaction, user_id)
    audit.record_entry(
        transaction,
        action,
        "users",
        actor_id=transaction.actor_id,
        client_id=person.client_id if person is not None else None,
        row_key=user_id,
    )


def end_other_sessions(transaction: Transaction, user_id: str, kept_session: str | None) -> int:
    """End a user's sessions, except one if given; return how many ended."""
    return DELETE_SESSIONS.run(transaction, user_id=user_id, session_id=kept_session or "")


def end_tokens(transaction: Transaction, user_id: str) -> None:
    """End all tokens without a session that were issued until now.

    `iat` counts whole seconds, so tokens of the current second end too and later ones count from the next second
    (decision 0014). A second call within one second moves this to the second after that.
    """
    ENSURE_CREDENTIALS.run(transaction, user_id=user_id)
    END_TOKENS.run(transaction, user_id=user_id, since=transaction.unix + 1)


def set_credential(transaction: Transaction, user_id: str, column: sa.Column[object], value: str | int | None) -> None:
    """Set one column of a user's credentials. Insert the row if there is none."""
    ENSURE_CREDENTIALS.run(transaction, user_id=user_id)
    UPDATE_CREDENTIAL[column.name].run(transaction, user_id=user_id, value=value)


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
    person = by_email(transaction, email)
    if person is None:
        raise NoSuchUser(f'there is no user "{email}"')
    return signers.issue(claims_for(person, transaction.unix, seconds))


# Statements

USERS = User.__table__
COLUMNS: tuple[sa.ColumnElement[object], ...] = (
    USERS.c.id,
    USERS.c.email,
    USERS.c.name,
    USERS.c.role,
    USERS.c.client_id,
    USERS.c.created_at,
    USERS.c.updated_at,
    CREDENTIALS.c.password_hash,
    CREDENTIALS.c.app_metadata,
    CREDENTIALS.c.user_metadata,
    CREDENTIALS.c.disabled_until,
    CREDENTIALS.c.tokens_since,
    CREDENTIALS.c.last_sign_in_at,
)
"""The columns that `read_account` reads, in order."""
USERS_WITH_CREDENTIALS = USERS.outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == USERS.c.id)

BY_ID = PreparedStatement(
    sa.select(*COLUMNS).select_from(USERS_WITH_CREDENTIALS).where(USERS.c.id == parameter("user_id", UUID.storage))
)
DISABLED = PreparedStatement(
    sa.select(CREDENTIALS.c.user_id).where(CREDENTIALS.c.disabled_until > parameter("now", sa.BigInteger))
)
LOWER_EMAIL = sa.func.lower(USERS.c.email)
ASCII_LOWERED = parameter("lowered", sa.Text)
BY_EMAIL = PreparedStatement(
    sa.select(*COLUMNS)
    .select_from(USERS_WITH_CREDENTIALS)
    .where(LOWER_EMAIL.in_((ASCII_LOWERED, parameter("folded", sa.Text))))
    .order_by((LOWER_EMAIL == ASCII_LOWERED).desc())
)
SAME_EMAIL = PreparedStatement(
    sa.select(USERS.c.id).where(LOWER_EMAIL.in_((parameter("lowered", sa.Text), parameter("folded", sa.Text)))).limit(2)
)
INSERT_USER = PreparedStatement(
    sa.insert(User).values(
        id=parameter("user_id"),
        email=parameter("email"),
        name=parameter("name"),
        role=parameter("role"),
        client_id=parameter("client_id"),
        created_at=parameter("now"),
        updated_at=parameter("now"),
    )
)
SET_CREDENTIALS = PreparedStatement(
    sa.update(CREDENTIALS)
    .where(CREDENTIALS.c.user_id == parameter("user_id"))
    .values(
        password_hash=parameter("password_hash"),
        app_metadata=parameter("app_metadata"),
        user_metadata=parameter("user_metadata"),
        disabled_until=parameter("disabled_until"),
    )
)
UPDATE_USER = PreparedStatement(
    sa.update(User)
    .where(USERS.c.id == parameter("user_id"))
    .values(
        email=parameter("email"),
        name=parameter("name"),
        role=parameter("role"),
        client_id=parameter("client_id"),
        updated_at=parameter("now"),
    )
)
ENSURE_CREDENTIALS = PreparedStatement(
    sa.insert(CREDENTIALS).from_select(
        ["user_id", "app_metadata", "user_metadata", "disabled_until", "tokens_since"],
        sa.select(USERS.c.id, sa.literal("{}"), sa.literal("{}"), sa.literal(0), sa.literal(0)).where(
            USERS.c.id == parameter("user_id", UUID.storage),
            ~sa.exists().where(CREDENTIALS.c.user_id == USERS.c.id).select_from(CREDENTIALS),
        ),
    )
)
UPDATE_CREDENTIAL = {
    column.name: PreparedStatement(
        sa.update(CREDENTIALS)
        .where(CREDENTIALS.c.user_id == parameter("user_id"))
        .values({column.name: parameter("value")})
    )
    for column in CREDENTIALS.c
    if not column.primary_key
}
END_TOKENS = PreparedStatement(
    sa.update(CREDENTIALS)
    .where(CREDENTIALS.c.user_id == parameter("user_id"))
    .values(
        # Always later than before: tokens issued since another end in this second have its `tokens_since` as `iat`.
        tokens_since=sa.case(
            (CREDENTIALS.c.tokens_since < parameter("since", sa.BigInteger), parameter("since", sa.BigInteger)),
            else_=CREDENTIALS.c.tokens_since + 1,
        )
    )
)
DELETE_SESSIONS = PreparedStatement(
    sa.delete(SESSIONS).where(SESSIONS.c.user_id == parameter("user_id"), SESSIONS.c.id != parameter("session_id"))
)
