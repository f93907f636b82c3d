"""Attack catalogue, group H: foreign headers, other origins, paths of files. Marks name the entries."""

import re

import pytest

from tests.durability.served import Answer, Served
from tests.http.service import RUNNING_SERVICE, ask, count_names, error_body, head_lines
from tests.support import tokens
from tests.support.raw import RawResponse, answers, exchange

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]
# H07: headers that would change the target or the sender

FOREIGN_HEADERS = {
    "host": {"Host": "evil.example"},
    "forwarded-host": {"X-Forwarded-Host": "evil.example", "X-Forwarded-Server": "evil.example"},
    "forwarded-scheme": {"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "on", "X-Scheme": "https"},
    "forwarded": {"Forwarded": "for=127.0.0.1;host=evil.example;proto=https"},
    "forwarded-prefix": {"X-Forwarded-Prefix": "/evil", "X-Script-Name": "/evil"},
    "script-name": {"SCRIPT_NAME": "/evil", "Script-Name": "/evil", "PATH_INFO": "/users"},
    "original-url": {"X-Original-URL": "/users", "X-Rewrite-URL": "/users"},
    "remote-user": {"REMOTE_USER": "root", "Remote-User": "root", "X-Remote-User": "root"},
}


@pytest.mark.parametrize("path", ["/", "/buildings", "/nope", "/rest/v1/buildings?select=id", "/auth/v1/user"])
@pytest.mark.parametrize("headers", FOREIGN_HEADERS.values(), ids=FOREIGN_HEADERS)
@pytest.mark.attack(entry="H07")
def test_foreign_header_has_no_effect(service: Served, path: str, headers: dict) -> None:
    plain, moved = read_with(service, path, {}), read_with(service, path, headers)

    assert (moved.status, moved.body) == (plain.status, plain.body)
    assert {**moved.headers, "date": ""} == {**plain.headers, "date": ""}
    assert b"evil" not in moved.body


def read_with(service: Served, path: str, headers: dict[str, str]) -> RawResponse:
    """Return the response to moe with additional raw headers, also with underscores."""
    lines = head_lines("moe", Connection="close").decode()
    for name, value in headers.items():
        lines = re.sub(rf"^{name}: .*\r\n", "", lines, flags=re.MULTILINE) + f"{name}: {value}\r\n"
    [answer] = answers(exchange(service.port, f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()))
    return answer


@pytest.mark.parametrize("name", ["Authorization_", "Authorization_X", "AUTHORIZATION_", "HTTP_AUTHORIZATION"])
@pytest.mark.attack(entry="H07")
def test_header_with_underscores_is_ignored(service: Served, name: str) -> None:
    lines = head_lines("nobody", Connection="close") + f"{name}: Bearer {tokens.SERVICE_KEY}\r\n".encode()

    [answer] = answers(exchange(service.port, b"GET /buildings HTTP/1.1\r\n" + lines + b"\r\n"))

    assert (answer.status, error_body(answer)["code"]) == (401, "42501")


# H07: repeated headers. postgrest-go repeats each of its own, and PostgREST reads the first

SINGLE_HEADERS = ("apikey", "Authorization", "Content-Type", "Accept-Profile", "Content-Profile")
CONFLICTING_VALUES = {
    "apikey": ("wrong", 401, "PGRST302"),
    "Authorization": ("Bearer x.y.z", 401, "PGRST301"),
    "Content-Type": ("text/csv", 400, "08P01"),
    "Accept-Profile": ("private", 406, "PGRST106"),
    "Content-Profile": ("private", 406, "PGRST106"),
}


def post_with_header_lines(service: Served, *more: str) -> RawResponse:
    """Insert an inspector with additional header lines after a complete head."""
    row = b'{"name": "Repeated"}'
    lines = head_lines(Accept_Profile="public", Content_Profile="public", Content_Length=str(len(row)))
    lines += "".join(f"{line}\r\n" for line in (*more, "Connection: close")).encode()
    [answer] = answers(exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + lines + b"\r\n" + row))
    return answer


@pytest.mark.attack(entry="H07")
def test_repeated_equal_header_is_accepted(service: Served) -> None:
    header_lines = head_lines(Accept_Profile="public", Content_Profile="public").decode().splitlines()
    lines = [line for line in header_lines if line.startswith(SINGLE_HEADERS)]

    answers_ = [post_with_header_lines(service, *lines, *lines) for _ in range(2)]  # a parsed head, then a cached one

    assert len(lines) == len(SINGLE_HEADERS)
    assert [answer.status for answer in answers_] == [201, 201]


@pytest.mark.parametrize("name", SINGLE_HEADERS)
@pytest.mark.attack(entry="H07")
def test_conflicting_repeated_header_is_refused(service: Served, name: str) -> None:
    value, status, code = CONFLICTING_VALUES[name]

    answer = post_with_header_lines(service, f"{name}: {value}")

    assert (answer.status, error_body(answer)["code"]) == (status, code)


@pytest.mark.attack(entry="H07")
def test_location_of_a_new_row_is_relative(service: Served) -> None:
    made = ask(service, "service", "POST", "/inspectors", {"name": "Located"},
               Host="evil.example", Prefer="return=headers-only")  # fmt: skip

    assert made.status == 201
    assert re.fullmatch(r"/inspectors\?id=eq\.[0-9]+", made.headers["Location"])


@pytest.mark.attack(entry="H07")
def test_absolute_target_has_no_effect(service: Served) -> None:
    line = b"GET http://evil.example/buildings?select=id HTTP/1.1\r\n"

    [answer] = answers(exchange(service.port, line + head_lines("moe", Connection="close") + b"\r\n"))

    assert b"evil" not in answer.body
    assert (answer.status, answer.body) == (200, b'[{"id":1}]') or 400 <= answer.status < 500


# H10: other origins

LOCAL_ORIGINS = ("http://localhost:3000", "https://localhost", "http://127.0.0.1:8000", "http://[::1]:5173")
FOREIGN_ORIGINS = (
    "https://localhost.evil.example", "https://evil.example", "null", "http://localhost@evil.example",
    "http://localhost:3000.evil.example", "http://127.0.0.1.evil.example", "http://localhostevil",
    "http://evil.example/localhost", "http://localhost:80:80", "file://localhost", "localhost",
    "http://localhost:123456", "http://localhost/", "http://localhost evil", "http://LOCALHOST", "",
)  # fmt: skip


def responses_to_origin(service: Served, origin: str) -> list[Answer]:
    """Return the responses to reads, errors and preflights of a page of this origin."""
    preflight = {
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": "apikey, authorization",
        "Access-Control-Request-Private-Network": "true",
    }
    return [
        ask(service, "moe", "GET", "/buildings", Origin=origin),
        ask(service, "moe", "DELETE", "/buildings?id=eq.1", Origin=origin),
        ask(service, "moe", "GET", "/nope", Origin=origin),
        ask(service, "moe", "GET", "/buildings?nope=eq.1", Origin=origin),
        ask(service, "nobody", "GET", "/auth/v1/user", Origin=origin, apikey="wrong"),
        ask(service, "nobody", "OPTIONS", "/buildings", Origin=origin, **preflight),
    ]


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.attack(entry="H10")
def test_foreign_origin_gets_no_cors_headers(service: Served, origin: str) -> None:
    for answer in responses_to_origin(service, origin):
        assert not [name for name in answer.headers if name.startswith("Access-Control-")]


@pytest.mark.parametrize("origin", LOCAL_ORIGINS)
@pytest.mark.attack(entry="H10")
def test_local_origin_reads_errors_without_credentials(service: Served, origin: str) -> None:
    for answer in responses_to_origin(service, origin):
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "Access-Control-Allow-Private-Network" not in answer.headers
        assert "Origin" in answer.headers["Vary"]


@pytest.mark.attack(entry="H10")
def test_form_of_another_site_has_no_effect(service: Served) -> None:
    """A browser adds no API key, and the service reads no cookie."""
    cookie = f"access_token={tokens.SERVICE_KEY}; session={tokens.SERVICE_KEY}"
    form = head_lines("nobody", Cookie=cookie, Connection="close", Origin="https://evil.example",
                      apikey="", Content_Type="application/x-www-form-urlencoded")  # fmt: skip
    body = b"name=Forged&apikey=" + tokens.ANON_KEY.encode()
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    for path in (b"/inspectors", b"/rest/v1/inspectors", b"/auth/v1/admin/users", b"/rpc/assign_to_client_manager"):
        [answer] = answers(exchange(service.port, b"POST " + path + b" HTTP/1.1\r\n" + form + length + body))
        assert answer.status == 401
        assert "set-cookie" not in answer.headers

    assert count_names(service, "inspectors", "Forged") == 0


@pytest.mark.attack(entry="H10")
def test_get_never_writes(service: Served) -> None:
    links = (
        "/rpc/assign_to_client_manager?manager_id=x&building_ids=[1]",
        "/rpc/assign_buildings_to_client_admin?admin_id=x&building_ids=[4]",
        "/auth/v1/logout",
        "/auth/v1/token?grant_type=password&email=x&password=y",
        "/inspectors?columns=name&name=Forged",
    )
    for link in links:
        answer = ask(service, "root", "GET", link)
        assert 400 <= answer.status < 500, link
        assert "Set-Cookie" not in answer.headers


# H11: paths of files


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/../", "/../../../../etc/passwd", "/buildings/../users", "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd", "/..%5c..%5cetc%5cpasswd", "/static/", "/static/../app.py", "/static",
        "/app.py", "/config.py", "/schema.sql", "/instance/walkthrough.db", "/instance/keys.json",
        "/walkthrough.db", "/.git/config", "/.env", "/CON", "/NUL", "/aux.txt", "/COM1", "/buildings/CON",
        "//etc/passwd", "/./buildings", "/buildings/", "/rest/v1/../../etc/passwd", "/etc/passwd%00",
        "/rest/v1/static/x", "/auth/v1/../v1/user", "/favicon.ico", "/server-status", "/debug", "/console.",
    ],
)  # fmt: skip
@pytest.mark.attack(entry="H11")
def test_path_of_a_file_is_not_found(service: Served, path: str) -> None:
    line = f"GET {path} HTTP/1.1\r\n".encode()

    [answer] = answers(exchange(service.port, line + head_lines("root", Connection="close") + b"\r\n"))

    assert answer.status in ((400, 404) if "%00" in path else (404,))
    assert is_error_body(answer, path)
    assert "location" not in answer.headers


def is_error_body(answer: RawResponse, path: str) -> bool:
    keys = {"code", "message", "details", "hint"}
    return set(answer.json) == (keys | {"error_code", "msg"} if path.startswith("/auth/v1") else keys)
