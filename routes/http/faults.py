"""The refusals of a request that any API may give: of its path, the size of its body, and its JSON object."""

from __future__ import annotations

from models.types import AccountFault, Fault
from routes.postgrest.lexer import excerpt


class UnknownPath(Fault, code="PGRST125"):
    """A path without a resource."""

    def __init__(self, message: str = "Invalid path specified in request URL") -> None:
        super().__init__(message)


class UnknownRelation(Fault, code="PGRST205"):
    """A one-segment path that names no relation."""

    def __init__(self, name: str, hint: str | None) -> None:
        super().__init__(f"Could not find the table 'public.{name}' in the schema cache", hint=hint)


class BodyTooLarge(Fault, code="PGRST102", status=413):
    """A body above its format's size limit."""

    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"The request body is larger than {bytes_max} bytes")


class UnsupportedContentEncoding(Fault, code="PGRST102", status=415):
    """A body with a Content-Encoding."""

    def __init__(self, encoding: str) -> None:
        super().__init__(f"Content-Encoding not acceptable: {excerpt(encoding)}")


class BadJson(AccountFault, code="bad_json", status=400):
    """A body that is not a JSON object."""


class InvalidBody(AccountFault, status=400):
    """An invalid value in a body."""
