"""Whom a form means: somebody of a list, or where those are too many to list, whoever has an e-mail.

A hidden person and none are looked for alike, and answered alike by whoever asks further.
"""

from __future__ import annotations

from access.accounts import people
from access.caller import Caller
from engine.current import reading
from engine.query.rule import Action
from models.types import InvalidInput
from models.types import NulInText
from models.types import TextTooLong
from models.types import new_uuid
from models.types import read_string
from models.types import read_uuid
from routes.console.components import queries as engine
from routes.console.components.queries import Row

COLUMNS = "select=id,name,email,role,clients(name)"


def offered(
    caller: Caller, size: int, filters: str = "", *, within: Action = Action.READ
) -> list[Row] | None:
    """The people to choose from; None where they are too many, and an e-mail is typed instead."""
    text = f"{COLUMNS}{filters}&order=name,id"
    found = engine.first(caller, "users", text, size, within=within)
    return None if found.has_more else found.rows


def id_of(text: str) -> str:
    """The id that a form names somebody by, or that of whoever has the e-mail that it names."""
    return of_email(read_string(text)) if "@" in text else str(read_uuid(text))


def person(caller: Caller, text: str) -> Row | None:
    """Somebody whom the caller sees, by id or by e-mail."""
    try:
        user_id = id_of(text)
    except (InvalidInput, NulInText, TextTooLong):
        return None
    return engine.one(caller, "users", f"{COLUMNS}&id=eq.{user_id}")


def of_email(email: str) -> str:
    """The id of whoever would sign in with it, seen or not; where nobody would, one that nobody has, so
    that who is hidden and who is not there are asked for alike."""
    with reading() as transaction:
        found = people.by_email(transaction, email)
    return found.id if found is not None else new_uuid()
