"""Clients of supabase-py for the tests. Modules that import this one are skipped if supabase-py is missing."""

import ssl
from collections.abc import Callable

import httpx
import pytest

from tests.clients.server import Server, password_of
from tests.support import tokens
from tests.support.signin import EMAILS

MISSING = "requirements/clients.txt is not installed"
supabase = pytest.importorskip("supabase", reason=MISSING)
postgrest = pytest.importorskip("postgrest", reason=MISSING)
supabase_auth = pytest.importorskip("supabase_auth", reason=MISSING)

Client = supabase.Client
APIError = postgrest.APIError
AuthApiError = supabase_auth.errors.AuthApiError
AuthRetryableError = supabase_auth.errors.AuthRetryableError
AuthWeakPasswordError = supabase_auth.errors.AuthWeakPasswordError

TLS = ssl.create_default_context()  # unused, and httpx takes 30 ms to create one for each client


class Consumers:
    """Creates supabase-py clients of one server, and closes their connections at the end.

    Each client gets its own httpx client by its options, since supabase-py never closes its own.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.opened: list[httpx.Client] = []
        self.known: dict[str, Client] = {}

    def connect(
        self, key: str = tokens.ANON_KEY, *, authorization: str | None = None, keepalive: int | None = 20
    ) -> Client:
        """Create a client without a signed-in user.

        With `authorization` it sends this token. With a `keepalive` of 0 each request uses a new connection.
        """
        limits = httpx.Limits(max_keepalive_connections=keepalive)
        self.opened.append(httpx.Client(follow_redirects=True, limits=limits, verify=TLS))
        headers = {"Authorization": f"Bearer {authorization}"} if authorization else {}
        options = supabase.ClientOptions(headers=headers, auto_refresh_token=False, httpx_client=self.opened[-1])
        return supabase.create_client(self.server.url, key, options)

    def sign_in(self, name: str, password: str | None = None, **options: int) -> Client:
        """Create a client and sign in a user of the data set, or any user by e-mail and password."""
        consumer = self.connect(**options)
        consumer.auth.sign_in_with_password(credentials(name, password))
        return consumer

    def signed_in(self, name: str) -> Client:
        """Return the shared client of a signed-in user."""
        if name not in self.known:
            self.known[name] = self.sign_in(name)
        return self.known[name]

    def close(self) -> None:
        for client in self.opened:
            client.close()


def credentials(name: str, password: str | None = None) -> dict[str, str]:
    return {"email": EMAILS.get(name, name), "password": password or password_of(name)}


def error_of(call: Callable) -> tuple[str | None, str | None]:
    """Return code and message of the error of a data call; fail without one."""
    with pytest.raises(APIError) as caught:
        call()
    return (caught.value.code, caught.value.message)


def auth_error_of(call: Callable) -> tuple[int, str | None]:
    """Return status and code of the error of a sign-in call; fail without one."""
    with pytest.raises(AuthApiError) as caught:
        call()
    return (caught.value.status, caught.value.code)
