"""Visible rows with supabase-py, under /rest/v1."""

import pytest

from tests.clients.consumers import Client, Consumers, error_of
from tests.clients.rows import LOFTS, SignedIn
from tests.conftest import MAX, MOE, ROOT
from tests.support import tokens


@pytest.fixture
def ada(signed_in: SignedIn) -> Client:
    return signed_in("ada")


@pytest.fixture
def root(signed_in: SignedIn) -> Client:
    return signed_in("root")


@pytest.fixture
def max_(signed_in: SignedIn) -> Client:
    return signed_in("max")


# -- Reading, under /rest/v1


def test_signed_in_users_read_visible_rows(signed_in: SignedIn) -> None:
    seen = {"moe": [1], "max": [LOFTS], "mia": []}

    for name, expected in seen.items():
        rows = signed_in(name).table("buildings").select("id").order("id").execute().data
        assert [row["id"] for row in rows] == expected, name


def test_manager_reads_their_own_row_of_users(max_: Client) -> None:
    rows = max_.table("users").select("*").execute().data

    assert rows == [
        {
            "id": MAX,
            "email": "max@borough.example",
            "name": "Max",
            "role": "client_manager",
            "client_id": 2,
            "created_at": "2025-01-01T00:00:00+00:00",
            "updated_at": "2025-01-01T00:00:00+00:00",
        }
    ]


def test_counted_page_with_an_embed(max_: Client) -> None:
    asked = max_.table("inspections").select("id, reports_lead(result)", count="exact")

    page = asked.order("id").range(0, 0).execute()

    assert page.count == 2
    assert page.data == [{"id": 6, "reports_lead": [{"result": "negative"}, {"result": None}]}]


def test_data_call_before_sign_in_is_refused(consumers: Consumers) -> None:
    anonymous = consumers.connect()

    refusal = error_of(anonymous.table("inspections").select("*").execute)

    assert refusal == ("42501", "permission denied for table inspections")


def test_token_of_another_issuer_is_accepted_in_a_header(consumers: Consumers) -> None:
    token = tokens.token_for(MAX, "client_manager", 2)
    consumer = consumers.connect(authorization=token)

    rows = consumer.table("inspections").select("id").order("id").execute().data

    assert rows == [{"id": 6}, {"id": 7}]


def test_token_of_another_issuer_is_accepted_by_postgrest_auth(consumers: Consumers) -> None:
    consumer = consumers.connect()
    consumer.postgrest.auth(tokens.token_for(MOE, "client_manager", 1))

    assert consumer.table("buildings").select("id").execute().data == [{"id": 1}]


def test_service_key_reads_everything(consumers: Consumers) -> None:
    service = consumers.connect(tokens.SERVICE_KEY)

    found = service.table("users").select("id", count="exact", head=True).in_("id", [ROOT, MAX])

    assert found.execute().count == 2
