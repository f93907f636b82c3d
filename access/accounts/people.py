"""People as rows: a user, and what is kept beside them to sign in. Who may touch whom is not asked here."""

from __future__ import annotations

import json
from collections.abc import Iterable
from string import ascii_lowercase
from string import ascii_uppercase

import sqlalchemy as sa

from access.accounts.access_token import AUDIENCE
from access.accounts.access_token import Signers
from access.accounts.password import hash_new
from access.accounts.person import Changes
from access.accounts.person import EmailTaken
from access.accounts.person import IdTaken
from access.accounts.person import InvalidPerson
from access.accounts.person import Metadata
from access.accounts.person import NewPerson
from access.accounts.person import NoSuchPerson
from access.accounts.person import Person
from access.accounts.person import merged
from access.accounts.person import read_email
from access.accounts.person import read_role
from access.accounts.person import row_of
from access.accounts.person import would_be
from access.accounts.person import write_metadata
from access.caller import Role
from engine import audit
from engine.query.constraints import CheckViolation
from engine.query.constraints import ForeignKeyViolation
from engine.query.constraints import UniqueViolation
from engine.query.prepared import Prepared
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models.credential import CREDENTIALS
from models.credential import SESSIONS
from models.errors import Fault
from models.types import UUID
from models.types import read_string
from models.user import User

EMAIL_KEY = "users_email_key"
"""The one constraint that tells of a row which may be hidden: one e-mail is one person."""
EMAIL_CHECK = "users_email_check"
ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Looking up


def by_id(transaction: Transaction, user_id: str) -> Person | None:
    return read_person(BY_ID.one(transaction, user_id=user_id))


def by_email(transaction: Transaction, email: str) -> Person | None:
    """Whoever signs in with that e-mail, however its letters are cased.

    The database's `lower` knows the letters of ASCII alone, and what `read_email` keeps was lowered with all
    others; so both are looked for. Who has it in the database's own lower case comes first; that there is no other
    either is seen to when an e-mail is written (`require_sign_in_by`).
    """
    named = email.strip()
    lowered = named.translate(ASCII_LOWER)
    return read_person(BY_EMAIL.one(transaction, lowered=lowered, folded=named.lower()))


def require_sign_in_by(transaction: Transaction, emails: Iterable[str]) -> None:
    """Insist that each of the e-mails just written signs one person in, however its letters are cased: the database's
    index knows the letters of ASCII alone, and somebody would sign in as another was used to. Space around one is
    taken away from what is typed: nobody would be found by it."""
    for email in emails:
        if email != email.strip():
            raise CheckViolation(EMAIL_CHECK)
        if not email.isascii():
            # As the index has it, and as `by_email` looks for it besides.
            lowered = email.translate(ASCII_LOWER)
            found = SAME_EMAIL.all(transaction, lowered=lowered, folded=email.lower())
            if len(found) > 1:
                raise UniqueViolation(EMAIL_KEY)
            if lowered != email.lower():
                # A capital beyond ASCII: who came with the same e-mail in small letters would not be found beside it.
                raise CheckViolation(EMAIL_CHECK)


def read_person(row: tuple[object, ...] | None) -> Person | None:
    """A person out of COLUMNS."""
    if row is None:
        return None
    id_, email, name, role, client_id, created_at, updated_at = row[:7]
    password_hash, app_metadata, user_metadata, disabled_until, tokens_since, last = row[7:13]
    return Person(
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
    found: Metadata = json.loads(text) if isinstance(text, str) else {}
    return found


# Making


def create_person(
    transaction: Transaction,
    email: str,
    name: str | None,
    role: str,
    client_id: int | None,
    password: str | None,
) -> str:
    """Make somebody from the words of a command; their id."""
    password_hash = hash_new(password) if password is not None else None
    new = NewPerson(
        read_email(email), name, read_role(role), client_id, password_hash=password_hash
    )
    return add(transaction, new)


def add(transaction: Transaction, new: NewPerson) -> str:
    """Make somebody who can sign in if they have a password; their id."""
    try:
        INSERT_USER.run(
            transaction,
            user_id=new.id,
            email=new.email,
            name=read_string(new.called()),
            role=new.role.value,
            client_id=new.client_id,
            now=transaction.now,
        )
        require_sign_in_by(transaction, [new.email])
    except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
        raise explained(violation) from violation
    # There may be some of an id that another one had: since when its tokens count (schema.sql).
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


def explained(violation: Fault) -> Fault:
    """What a constraint over users means to whoever ran into it."""
    if isinstance(violation, UniqueViolation):
        if violation.constraint == EMAIL_KEY:
            return EmailTaken("A user with this email address has already been registered")
        return IdTaken("A user with this id has already been registered")
    if isinstance(violation, ForeignKeyViolation):
        return InvalidPerson("There is no client of that client_id")
    if isinstance(violation, CheckViolation) and violation.constraint == "users_check":
        return InvalidPerson("A super admin has no client_id, and everybody else has one")
    return violation


# Changing


def change(transaction: Transaction, person: Person, changes: Changes) -> None:
    """Write what differs. A new role or client takes grants, sessions and tokens with it (schema.sql)."""
    row = would_be(person, changes)
    if row != row_of(person):
        try:
            UPDATE_USER.run(transaction, user_id=person.id, now=transaction.now, **row)
            require_sign_in_by(transaction, [str(row["email"])])
        except (UniqueViolation, ForeignKeyViolation, CheckViolation) as violation:
            raise explained(violation) from violation
    for column, metadata, more in (
        (CREDENTIALS.c.app_metadata, person.app_metadata, changes.app_metadata),
        (CREDENTIALS.c.user_metadata, person.user_metadata, changes.user_metadata),
    ):
        if more:
            keep(transaction, person.id, column, write_metadata(merged(metadata, more)))
    if changes.disabled_until is not None:
        keep(transaction, person.id, CREDENTIALS.c.disabled_until, changes.disabled_until)
        disabled = changes.disabled_until > transaction.unix
        note(transaction, "disable" if disabled else "enable", person.id)


def replace_password(
    transaction: Transaction, user_id: str, password_hash: str, but_session: str | None = None
) -> None:
    """A new password ends every session but the one that set it, and every token without one."""
    keep(transaction, user_id, CREDENTIALS.c.password_hash, password_hash)
    end_other_sessions(transaction, user_id, but_session)
    end_tokens(transaction, user_id)
    note(transaction, "password", user_id)


def note(transaction: Transaction, action: str, user_id: str) -> None:
    """Write into the audit trail what happened to somebody's credentials, and by whom; never what they are."""
    person = by_id(transaction, user_id)
    audit.note(
        transaction,
        action,
        "users",
        actor_id=transaction.actor_id,
        client_id=person.client_id if person is not None else None,
        row_key=user_id,
    )


def end_other_sessions(transaction: Transaction, user_id: str, but_session: str | None) -> int:
    """End somebody's sessions but one, or all of them; how many there were."""
    return DELETE_SESSIONS.run(transaction, user_id=user_id, session_id=but_session or "")


def end_tokens(transaction: Transaction, user_id: str) -> None:
    """End the tokens without a session that exist by now.

    `iat` counts whole seconds: what bears the present one may be older than this, so it goes too, and
    the next second's tokens are the first to count (decision 0014); after a second end within one, those of the second
    after that.
    """
    ENSURE_CREDENTIALS.run(transaction, user_id=user_id)
    END_TOKENS.run(transaction, user_id=user_id, since=transaction.unix + 1)


def keep(
    transaction: Transaction, user_id: str, column: sa.Column[object], value: str | int | None
) -> None:
    """Set one thing that is kept beside a user, who may not have had any of them."""
    ENSURE_CREDENTIALS.run(transaction, user_id=user_id)
    KEEP[column.name].run(transaction, user_id=user_id, value=value)


# Tokens


def claims_for(
    person: Person, now: int, seconds: int, session_id: str | None = None
) -> dict[str, object]:
    """What an access token says of somebody."""
    # A token without a session has to be younger than what ended the older ones.
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


def issue_token(transaction: Transaction, signers: Signers, email: str, seconds: int) -> str:
    """An access token without a session, for whoever has that e-mail."""
    person = by_email(transaction, email)
    if person is None:
        raise NoSuchPerson(f'there is no user "{email}"')
    return signers.issue(claims_for(person, transaction.unix, seconds))


# The statements

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
"""What `read_person` reads, in its order."""
JOINED = USERS.outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == USERS.c.id)

BY_ID = Prepared(
    sa.select(*COLUMNS).select_from(JOINED).where(USERS.c.id == parameter("user_id", UUID.storage))
)
LOWERED = sa.func.lower(USERS.c.email)
AS_TYPED = parameter("lowered", sa.Text)
BY_EMAIL = Prepared(
    sa.select(*COLUMNS)
    .select_from(JOINED)
    .where(LOWERED.in_((AS_TYPED, parameter("folded", sa.Text))))
    .order_by((LOWERED == AS_TYPED).desc())
)
SAME_EMAIL = Prepared(
    sa.select(USERS.c.id)
    .where(LOWERED.in_((parameter("lowered", sa.Text), parameter("folded", sa.Text))))
    .limit(2)
)
INSERT_USER = Prepared(
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
SET_CREDENTIALS = Prepared(
    sa.update(CREDENTIALS)
    .where(CREDENTIALS.c.user_id == parameter("user_id"))
    .values(
        password_hash=parameter("password_hash"),
        app_metadata=parameter("app_metadata"),
        user_metadata=parameter("user_metadata"),
        disabled_until=parameter("disabled_until"),
    )
)
UPDATE_USER = Prepared(
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
ENSURE_CREDENTIALS = Prepared(
    sa.insert(CREDENTIALS).from_select(
        ["user_id", "app_metadata", "user_metadata", "disabled_until", "tokens_since"],
        sa.select(
            USERS.c.id, sa.literal("{}"), sa.literal("{}"), sa.literal(0), sa.literal(0)
        ).where(
            USERS.c.id == parameter("user_id", UUID.storage),
            ~sa.exists().where(CREDENTIALS.c.user_id == USERS.c.id).select_from(CREDENTIALS),
        ),
    )
)
KEEP = {
    column.name: Prepared(
        sa.update(CREDENTIALS)
        .where(CREDENTIALS.c.user_id == parameter("user_id"))
        .values({column.name: parameter("value")})
    )
    for column in CREDENTIALS.c
    if not column.primary_key
}
END_TOKENS = Prepared(
    sa.update(CREDENTIALS)
    .where(CREDENTIALS.c.user_id == parameter("user_id"))
    .values(
        # Later than before in any case: what was made since an end in this very second bears the moment of that.
        tokens_since=sa.case(
            (
                CREDENTIALS.c.tokens_since < parameter("since", sa.BigInteger),
                parameter("since", sa.BigInteger),
            ),
            else_=CREDENTIALS.c.tokens_since + 1,
        )
    )
)
DELETE_SESSIONS = Prepared(
    sa.delete(SESSIONS).where(
        SESSIONS.c.user_id == parameter("user_id"), SESSIONS.c.id != parameter("session_id")
    )
)
