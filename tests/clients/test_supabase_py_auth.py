"""Sign-in, sessions and accounts with supabase-py."""

import contextlib
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest

from tests.clients.consumers import (
    APIError,
    AuthApiError,
    AuthRetryableError,
    AuthWeakPasswordError,
    Client,
    Consumers,
    auth_error_of,
    credentials,
    error_of,
    supabase,
)
from tests.conftest import BOB, MAX, MIA, MOE, UNKNOWN_USER_ID
from tests.support import tokens

SignedIn = Callable[[str], Client]

TRIES = 10


@pytest.fixture(scope="module")
def service(consumers: Consumers) -> Client:
    return consumers.connect(tokens.SERVICE_KEY)


@pytest.fixture
def new_manager(service: Client) -> tuple[str, str, str]:
    """Id, e-mail and password of a manager of client 1 for one test."""
    email, password = f"{uuid.uuid4()}@acme.example", "first words to remember"
    made = service.auth.admin.create_user(
        {
            "email": email,
            "password": password,
            "email_confirm": True,
            "app_metadata": {"role": "client_manager", "client_id": 1},
            "user_metadata": {"name": "Nell", "theme": "dark"},
        }
    )
    return made.user.id, email, password


def test_sign_in_returns_a_session(consumers: Consumers) -> None:
    moe = consumers.connect()

    session = moe.auth.sign_in_with_password(credentials("moe")).session

    assert session.token_type == "bearer"
    assert session.expires_in == 3600
    assert (session.user.id, session.user.email) == (MOE, "moe@acme.example")
    assert session.user.aud == "authenticated"
    assert session.user.app_metadata["role"] == "client_manager"
    assert session.user.app_metadata["client_id"] == 1
    assert session.user.user_metadata["name"] == "Moe"


def test_access_token_is_a_standard_jwt(signed_in: SignedIn) -> None:
    session = signed_in("bob").auth.get_session()

    claims = jwt.decode(session.access_token, tokens.SECRET_KEY, algorithms=["HS256"], audience="authenticated")

    assert (claims["sub"], claims["role"], claims["client_id"]) == (BOB, "client_admin", 2)
    assert claims["email"] == "bob@borough.example"
    assert claims["exp"] - claims["iat"] == 3600
    assert uuid.UUID(claims["session_id"])


@pytest.mark.filterwarnings("ignore:The '(timeout|verify)' parameter:DeprecationWarning")
def test_default_client_signs_in_and_out(consumers: Consumers) -> None:
    """The client creates its own options, timers and connections."""
    moe = supabase.create_client(consumers.server.url, tokens.ANON_KEY)

    moe.auth.sign_in_with_password(credentials("moe"))
    rows = moe.table("buildings").select("id").execute().data
    moe.postgrest.aclose()
    moe.auth.sign_out({"scope": "local"})
    moe.auth.close()

    assert rows == [{"id": 1}]


def test_concurrent_sign_ins_succeed(consumers: Consumers) -> None:
    clients = [consumers.connect() for _ in range(8)]

    def user_of(client: Client) -> str:
        for _ in range(TRIES):
            # A sign-in that waits too long for a hash gets a retryable error.
            with contextlib.suppress(AuthRetryableError):
                return client.auth.sign_in_with_password(credentials("moe")).user.id
        raise AssertionError("no attempt succeeds")

    with ThreadPoolExecutor(len(clients)) as pool:
        assert list(pool.map(user_of, clients)) == [MOE] * 8


def test_sign_in_accepts_the_email_in_any_case(consumers: Consumers) -> None:
    moe = consumers.connect()
    given = {**credentials("moe"), "email": "Moe@ACME.example"}

    assert moe.auth.sign_in_with_password(given).user.id == MOE


@pytest.mark.parametrize("email", ["mia@acme.example", "nobody@acme.example"])
def test_wrong_password_and_unknown_user_share_one_error(consumers: Consumers, email: str) -> None:
    anonymous = consumers.connect()
    given = {"email": email, "password": "not this one"}

    with pytest.raises(AuthApiError) as caught:
        anonymous.auth.sign_in_with_password(given)

    assert (caught.value.status, caught.value.code, caught.value.message) == (
        400,
        "invalid_credentials",
        "Invalid login credentials",
    )


def test_get_user_returns_the_user(signed_in: SignedIn) -> None:
    user = signed_in("max").auth.get_user().user

    assert (user.id, user.email) == (MAX, "max@borough.example")


def test_get_user_refuses_an_invalid_token(consumers: Consumers) -> None:
    anonymous = consumers.connect()

    assert auth_error_of(lambda: anonymous.auth.get_user("a.b.c")) == (403, "bad_jwt")


def test_get_user_refuses_an_expired_token(consumers: Consumers) -> None:
    expired = tokens.token_for(MAX, "client_manager", 2, exp=1_700_000_000)
    anonymous = consumers.connect()

    assert auth_error_of(lambda: anonymous.auth.get_user(expired)) == (403, "bad_jwt")


def test_get_user_refuses_a_token_of_an_unknown_user(consumers: Consumers) -> None:
    token = tokens.token_for(UNKNOWN_USER_ID, "client_manager", 2)
    anonymous = consumers.connect()

    assert auth_error_of(lambda: anonymous.auth.get_user(token)) == (403, "user_not_found")


def test_get_claims_verifies_at_the_server(signed_in: SignedIn) -> None:
    answer = signed_in("moe").auth.get_claims()

    assert answer["headers"]["alg"] == "HS256"
    assert answer["claims"]["sub"] == MOE
    assert answer["claims"]["role"] == "client_manager"


def test_session_is_set_in_a_second_client(consumers: Consumers, signed_in: SignedIn) -> None:
    session = signed_in("max").auth.get_session()
    second = consumers.connect()

    second.auth.set_session(session.access_token, session.refresh_token)

    assert second.auth.get_user().user.id == MAX
    assert len(second.table("inspections").select("id").execute().data) == 2


def test_refresh_rotates_the_token(consumers: Consumers) -> None:
    consumer = consumers.sign_in("mia")
    before = consumer.auth.get_session()

    after = consumer.auth.refresh_session().session

    assert after.refresh_token != before.refresh_token
    assert after.user.id == MIA
    assert consumer.table("clients").select("id").execute().data == [{"id": 1}]


def test_used_refresh_token_returns_the_newest(consumers: Consumers) -> None:
    consumer = consumers.sign_in("mia")
    parent = consumer.auth.get_session().refresh_token

    first = consumer.auth.refresh_session(parent).session
    second = consumer.auth.refresh_session(parent).session

    assert second.refresh_token == first.refresh_token


def test_refresh_with_an_unknown_token_is_refused(consumers: Consumers) -> None:
    consumer = consumers.connect()

    refusal = auth_error_of(lambda: consumer.auth.refresh_session("never-given-out"))

    assert refusal == (400, "refresh_token_not_found")


def test_refresh_ignores_a_stale_authorization_header(consumers: Consumers) -> None:
    """supabase-py sends its last user token, which may have expired."""
    session = consumers.sign_in("mia").auth.get_session()
    expired = tokens.token_for(MIA, "client_manager", 1, exp=1_700_000_000)
    stale = consumers.connect(authorization=expired)

    assert stale.auth.refresh_session(session.refresh_token).user.id == MIA


def test_update_user_merges_metadata(consumers: Consumers, new_manager: tuple) -> None:
    user_id, email, password = new_manager
    nell = consumers.sign_in(email, password)

    user = nell.auth.update_user({"data": {"name": "Nelly", "lang": "de"}}).user

    assert user.user_metadata["name"] == "Nelly"
    assert (user.user_metadata["theme"], user.user_metadata["lang"]) == ("dark", "de")
    row = nell.table("users").select("id,name").single().execute().data
    assert row == {"id": user_id, "name": "Nelly"}


def test_user_metadata_grants_no_rights(consumers: Consumers, new_manager: tuple) -> None:
    _, email, password = new_manager
    nell = consumers.sign_in(email, password)

    nell.auth.update_user({"data": {"role": "super_admin", "client_id": 2}})
    nell.auth.refresh_session()

    assert nell.auth.get_claims()["claims"]["role"] == "client_manager"
    assert nell.table("buildings").select("id").execute().data == []


def test_new_password_ends_the_other_sessions(consumers: Consumers, new_manager: tuple) -> None:
    _, email, password = new_manager
    here, there = (consumers.sign_in(email, password) for _ in range(2))

    here.auth.update_user({"password": "second words to remember"})

    assert here.auth.get_user().user.email == email
    assert error_of(there.table("clients").select("id").execute)[0] == "PGRST303"
    assert auth_error_of(there.auth.refresh_session)[0] == 400
    given = {"email": email, "password": password}
    old = auth_error_of(lambda: consumers.connect().auth.sign_in_with_password(given))
    assert old == (400, "invalid_credentials")
    again = consumers.sign_in(email, "second words to remember")
    assert again.auth.get_user().user.email == email


def test_same_password_is_refused(consumers: Consumers, new_manager: tuple) -> None:
    _, email, password = new_manager
    nell = consumers.sign_in(email, password)

    refusal = auth_error_of(lambda: nell.auth.update_user({"password": password}))

    assert refusal == (422, "same_password")


def test_weak_password_is_refused_with_reasons(consumers: Consumers, new_manager: tuple) -> None:
    _, email, password = new_manager
    nell = consumers.sign_in(email, password)

    with pytest.raises(AuthWeakPasswordError) as caught:
        nell.auth.update_user({"password": "abc"})

    assert (caught.value.status, caught.value.code) == (422, "weak_password")
    assert caught.value.reasons


def sessions(consumers: Consumers, new_manager: tuple, count: int) -> list[Client]:
    _, email, password = new_manager
    return [consumers.sign_in(email, password) for _ in range(count)]


def is_accepted(consumer: Client) -> bool:
    """Return whether the session's access token is still accepted."""
    try:
        return consumer.table("clients").select("id").execute().data == [{"id": 1}]
    except APIError as error:
        if error.code != "PGRST303":
            raise
        return False


def test_sign_out_of_others_keeps_this_session(consumers: Consumers, new_manager: tuple) -> None:
    here, there, elsewhere = sessions(consumers, new_manager, 3)

    here.auth.sign_out({"scope": "others"})

    assert [is_accepted(consumer) for consumer in (here, there, elsewhere)] == [True, False, False]
    assert auth_error_of(there.auth.refresh_session)[0] == 400


def test_local_sign_out_keeps_other_sessions(consumers: Consumers, new_manager: tuple) -> None:
    here, there = sessions(consumers, new_manager, 2)
    token = here.auth.get_session().access_token

    here.auth.sign_out({"scope": "local"})

    assert here.auth.get_session() is None
    assert auth_error_of(lambda: here.auth.get_user(token)) == (403, "session_not_found")
    assert is_accepted(there)


def test_global_sign_out_ends_all_sessions(consumers: Consumers, new_manager: tuple) -> None:
    here, there = sessions(consumers, new_manager, 2)

    here.auth.sign_out()

    assert here.auth.get_session() is None
    assert not is_accepted(there)
    assert error_of(here.table("clients").select("id").execute)[0] == "42501"


def test_unknown_scope_of_a_sign_out_is_refused(consumers: Consumers, new_manager: tuple) -> None:
    (here,) = sessions(consumers, new_manager, 1)

    refusal = auth_error_of(lambda: here.auth.sign_out({"scope": "everything"}))

    assert refusal == (400, "validation_failed")
    assert is_accepted(here)


def test_auth_events_of_a_session(consumers: Consumers, new_manager: tuple) -> None:
    _, email, password = new_manager
    events: list[str] = []
    nell = consumers.connect()
    nell.auth.on_auth_state_change(lambda event, session: events.append(event))

    nell.auth.sign_in_with_password({"email": email, "password": password})
    nell.auth.update_user({"data": {"theme": "light"}})
    nell.auth.refresh_session()
    nell.auth.sign_out()

    assert events == ["SIGNED_IN", "USER_UPDATED", "TOKEN_REFRESHED", "SIGNED_OUT"]


def test_sign_up_is_refused(consumers: Consumers) -> None:
    given = {"email": "eve@x.org", "password": "let me in, please"}

    refusal = auth_error_of(lambda: consumers.connect().auth.sign_up(given))

    assert refusal == (422, "signup_disabled")
