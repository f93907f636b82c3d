"""How the suites make supabase-py clients. Whoever imports this is skipped where supabase-py is missing."""

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

TLS = ssl.create_default_context()  # nobody uses it, and httpx takes 30 ms to make one for each client


class Consumers:
    """Makes supabase-py clients of one server, and closes their connections in the end.

    Each gets an httpx client of its own, as its options allow: those it makes itself it never closes.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self.opened: list[httpx.Client] = []
        self.known: dict[str, Client] = {}

    def connect(
        self, key: str = tokens.ANON_KEY, *, authorization: str | None = None, keepalive: int | None = 20
    ) -> Client:
        """Make a client that nobody is signed in to.

        With `authorization` it sends that bearer; with a `keepalive` of 0 each request comes by a
        fresh connection.
        """
        limits = httpx.Limits(max_keepalive_connections=keepalive)
        self.opened.append(httpx.Client(follow_redirects=True, limits=limits, verify=TLS))
        headers = {"Authorization": f"Bearer {authorization}"} if authorization else {}
        options = supabase.ClientOptions(headers=headers, auto_refresh_token=False, httpx_client=self.opened[-1])
        return supabase.create_client(self.server.url, key, options)

    def sign_in(self, name: str, password: str | None = None, **options: int) -> Client:
        """Make a client and sign one of the cast in to it, or anybody by e-mail and password."""
        consumer = self.connect(**options)
        consumer.auth.sign_in_with_password(credentials(name, password))
        return consumer

    def signed_in(self, name: str) -> Client:
        """Return the one client that this person is signed in to."""
        if name not in self.known:
            self.known[name] = self.sign_in(name)
        return self.known[name]

    def close(self) -> None:
        for client in self.opened:
            client.close()


def credentials(name: str, password: str | None = None) -> dict[str, str]:
    return {"email": EMAILS.get(name, name), "password": password or password_of(name)}


def refused(call: Callable) -> tuple[str | None, str | None]:
    """Return code and message of the error that a data call has to end in."""
    with pytest.raises(APIError) as caught:
        call()
    return (caught.value.code, caught.value.message)


def auth_refused(call: Callable) -> tuple[int, str | None]:
    """Return status and code of the error that a sign-in call has to end in."""
    with pytest.raises(AuthApiError) as caught:
        call()
    return (caught.value.status, caught.value.code)
