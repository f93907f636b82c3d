"""What only whoever runs the service may see: the view behind the service key, as apikey or as bearer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from typing import cast

from flask import request

from access.decorators import NoApiKey
from access.decorators import credentials
from access.decorators import mark

View = TypeVar("View", bound=Callable[..., object])


def requires_service_key(view: View) -> View:
    """The service key in either header; anything else, an absent key too, is refused."""

    @wraps(view)
    def entered(*arguments: object, **named: object) -> object:
        keys = credentials()
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        # Both comparisons always run, so that the time tells nothing.
        if not (keys.is_service(request.headers.get("apikey", "")) | keys.is_service(bearer)):
            raise NoApiKey("Invalid API key", hint="This takes the service key.")
        return view(*arguments, **named)

    return mark(cast(View, entered), "service key")
