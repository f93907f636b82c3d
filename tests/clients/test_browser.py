"""supabase-js in Chromium, on a page of another origin: CORS and preflights."""

from collections.abc import Callable

from tests.clients.browser import Page, context, open_page, opened, playwright, port, sign_in
from tests.clients.server import Server
from tests.conftest import MAX
from tests.support import tokens
from tests.support.signin import EMAILS

__all__ = ["context", "opened", "port"]  # fixtures

DAY_SECONDS = 86_400


def test_visit_of_another_origin(opened: Page, port: int) -> None:
    signed_in = sign_in(opened, "ada")
    assert signed_in["error"] is None
    assert signed_in["data"]["user"]["email"] == EMAILS["ada"]

    read = opened.run(
        """() => client.from("inspections")
             .select("id,buildings(name)", { count: "exact" }).order("id").limit(2)"""
    )
    assert read["error"] is None
    assert read["count"] == 7, "Content-Range has to be exposed"
    assert read["data"] == [
        {"id": 1, "buildings": {"name": "Harbor House"}},
        {"id": 2, "buildings": {"name": "Harbor House"}},
    ]

    written = opened.run(
        """async () => {
             const { data, error, status } = await client.from("buildings")
               .insert({ name: "From a page", client_id: 1 }).select("id,name").single();
             if (error) return { error };
             const table = () => client.from("buildings");
             const changed = await table().update({ city: "Lynn" }).eq("id", data.id).select("city");
             const gone = await table().delete({ count: "exact" }).eq("id", data.id);
             return { error, status, name: data.name, changed: changed.data, gone };
           }"""
    )
    assert written["error"] is None
    assert (written["status"], written["name"]) == (201, "From a page")
    assert written["changed"] == [{"city": "Lynn"}]
    assert (written["gone"]["status"], written["gone"]["count"]) == (204, 1)

    origin = f"http://localhost:{port}"
    for path, method, header in (
        ("/auth/v1/token", "POST", "x-supabase-api-version"),
        ("/rest/v1/inspections", "GET", "accept-profile"),
        ("/rest/v1/buildings", "POST", "content-profile"),
        ("/rest/v1/buildings", "PATCH", "content-profile"),
        ("/rest/v1/buildings", "DELETE", "content-profile"),
    ):
        asked, answered = opened.preflights.to(path, method)
        allowed = answered["headers"]
        assert answered["status"] in (200, 204), (path, method)
        assert allowed["access-control-allow-origin"] in ("*", origin)
        methods = allowed["access-control-allow-methods"].replace(" ", "").split(",")
        assert method in methods
        granted = allowed["access-control-allow-headers"].lower().replace(" ", "").split(",")
        assert {"authorization", "apikey", header, *asked["headers"]} <= set(granted)
        assert 0 < int(allowed["access-control-max-age"]) <= DAY_SECONDS


def test_errors_reach_the_page_with_their_codes(opened: Page) -> None:
    sign_in(opened, "ada")

    column = opened.run("""() => client.from("inspections").select("nope")""")
    table = opened.run("""() => client.from("nope").select()""")
    row = opened.run("""() => client.from("buildings").insert({ name: "X", client_id: 2 })""")

    assert (column["status"], column["error"]["code"]) == (400, "42703")
    assert (table["status"], table["error"]["code"]) == (404, "PGRST205")
    assert (row["status"], row["error"]["code"]) == (403, "42501")


def test_sign_in_error_keeps_its_code_across_origins(opened: Page) -> None:
    failed = opened.run(
        """async () => {
             const given = { email: "nobody@acme.example", password: "wrong" };
             const { error } = await client.auth.signInWithPassword(given);
             return [error.name, error.status, error.code, error.message];
           }"""
    )

    expected = ["AuthApiError", 400, "invalid_credentials", "Invalid login credentials"]
    assert failed == expected, "X-Supabase-Api-Version has to be exposed"


def test_refusal_of_a_bad_token_is_readable(opened: Page) -> None:
    refused = opened.run(
        """() => {
             const { supabaseUrl, supabaseKey } = client;
             const global = { headers: { Authorization: "Bearer nonsense" } };
             const auth = { storageKey: "other", persistSession: false };
             return supabase.createClient(supabaseUrl, supabaseKey, { global, auth })
               .from("inspections").select();
           }"""
    )

    assert (refused["status"], refused["error"]["code"]) == (401, "PGRST301")


def test_session_outlasts_a_reload(context: playwright.BrowserContext, opened: Page, port: int, server: Server) -> None:
    sign_in(opened, "max")

    again = open_page(context, f"http://localhost:{port}", server)

    user = again.run("async () => (await client.auth.getUser()).data.user.id")
    rows = again.run("""() => client.from("inspections").select("id").order("id")""")
    assert user == MAX
    assert rows["data"] == [{"id": 6}, {"id": 7}]
    again.page.close()


def test_functions_by_both_methods(opened: Page) -> None:
    sign_in(opened, "max")
    arguments = {"p_building_id": 4, "p_user_id": MAX}

    for get in (False, True):
        answer = opened.run(
            """([given, get]) => client.rpc("check_building_access_v2", given, { get })""", [arguments, get]
        )
        assert (answer["error"], answer["data"]) == (None, True)


def test_user_pages_are_counted_across_origins(opened: Page) -> None:
    pages = opened.run(
        """async key => {
             const auth = { storageKey: "admin", persistSession: false };
             const admin = supabase.createClient(client.supabaseUrl, key, { auth }).auth.admin;
             const { data } = await admin.listUsers({ page: 1, perPage: 2 });
             return [data.users.length, data.total, data.nextPage, data.lastPage];
           }""",
        tokens.SERVICE_KEY,
    )

    assert pages == [2, 6, 2, 3], "Link and X-Total-Count have to be exposed"


def test_only_listed_origins_get_in(
    context: playwright.BrowserContext, port: int, serve: Callable[..., Server]
) -> None:
    listed = f"http://127.0.0.1:{port}"
    server = serve(CORS_ORIGINS=listed)
    read = """async () => {
        const { status, error } = await client.from("inspections").select().retry(false);
        return [status, error.code, error.message];
    }"""

    inside = open_page(context, listed, server)
    outside = open_page(context, f"http://localhost:{port}", server)

    assert inside.run(read) == [401, "42501", "permission denied for table inspections"]
    status, code, message = outside.run(read)
    assert (status, code) == (0, "")
    assert "Failed to fetch" in message
    inside.page.close()
    outside.page.close()
