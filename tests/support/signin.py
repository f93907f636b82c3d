"""Users with passwords, and requests of /auth/v1 as client libraries send them."""

import atexit
import functools
import json
import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.conftest import CAST, DATASET, Api, Bearer, Database, Response
from tests.support import databases, tokens
from tests.support.applications import import_rows, open_app, reused_app

EMAILS = {
    "root": "root@example.org",
    "ada": "ada@acme.example",
    "moe": "moe@acme.example",
    "mia": "mia@acme.example",
    "bob": "bob@borough.example",
    "max": "max@borough.example",
}
PASSWORDS = {who: f"{who}'s own password" for who in EMAILS}

ORIGIN = "192.0.2.1"
OTHER_ORIGIN = "198.51.100.7"


@functools.cache
def file_with_passwords() -> pathlib.Path:
    """Return a file with the data set, in which all users except max have a password."""
    directory = pathlib.Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, directory)
    rows = json.loads(DATASET.read_text())
    names = {email: who for who, email in EMAILS.items()}
    for user in rows["users"]:
        if names[user["email"]] != "max":
            user["password"] = PASSWORDS[names[user["email"]]]
    source, file = directory / "signed_up.json", directory / "signed_up.db"
    source.write_text(json.dumps(rows))
    app = open_app(file)
    import_rows(app, source)
    databases.close_for_copy(app, file)
    return file


@dataclass(frozen=True, slots=True)
class Service:
    """An application over its own database."""

    app: object
    file: pathlib.Path

    def api(self, who: str | None = None, token: str | None = None) -> Api:
        """Return requests of a user with a sessionless token, or of the holder of `token`."""
        person = CAST[who or "nobody"] if token is None else Bearer(f"Bearer {token}")
        return Api(Database(lambda: self.app, None, self.app), person)

    def token(self, grant: str, body: object, origin: str = ORIGIN, **headers: str) -> Response:
        return self.api().post(
            f"/auth/v1/token?grant_type={grant}", body, headers=headers, environ={"REMOTE_ADDR": origin}
        )

    def try_password(self, email: str, password: str, origin: str = ORIGIN) -> Response:
        return self.token("password", {"email": email, "password": password}, origin)

    def sign_in(self, who: str, origin: str = ORIGIN) -> dict:
        response = self.try_password(EMAILS[who], PASSWORDS[who], origin)
        assert response.status == 200, response.text
        return response.json

    def refresh(self, refresh_token: object) -> Response:
        return self.token("refresh_token", {"refresh_token": refresh_token})

    def sql(self, statement: str, *values: object) -> list:
        """Run a statement on the database without the service."""
        return databases.sql(self.file, statement, *values)

    def age(self, seconds: int) -> None:
        """Make all attempts and sessions older by a number of seconds."""
        self.sql("UPDATE attempts SET at = at - ?", seconds)
        self.sql("UPDATE origins SET at = at - ?", seconds)
        for key, rotations in self.sql("SELECT id, rotations FROM sessions"):
            older = json.dumps([[second - seconds, counter] for second, counter in json.loads(rotations)])
            self.sql(
                "UPDATE sessions SET created_at = created_at - ?, last_used_at = last_used_at - ?,"
                " rotations = ? WHERE id = ?",
                *(seconds, seconds, older, key),
            )


def open_service(directory: pathlib.Path, **config: object) -> Service:
    file = directory / "service.db"
    databases.copy(file_with_passwords(), file)
    return Service(open_app(file, **config), file)


@contextmanager
def reused_service(directory: pathlib.Path) -> Iterator[Service]:
    """Provide a service that the next test reuses."""
    file = directory / "service.db"
    databases.copy(file_with_passwords(), file)
    with reused_app(file) as app:
        yield Service(app, file)


def error(response: Response) -> tuple[int, str]:
    """Return status and code of an error; assert that it has GoTrue's six keys."""
    body = response.json
    assert set(body) - {"weak_password"} == {"code", "error_code", "message", "msg", "details", "hint"}
    assert body["code"] == body["error_code"]
    assert body["message"] == body["msg"]
    assert response.headers["X-Supabase-Api-Version"] == "2024-01-01"
    return response.status, body["code"]


def claims(access_token: str) -> dict:
    """Return the claims of a token, decoded without the service."""
    part = access_token.split(".")[1]
    return json.loads(tokens.base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
