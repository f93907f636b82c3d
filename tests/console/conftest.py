"""The console as somebody at a desk uses it: forms that were really shown, a cookie, redirects."""

import html
import json
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import field

import pytest
from werkzeug.test import Client
from werkzeug.test import TestResponse

from tests import databases
from tests.clients.server import password_of
from tests.conftest import DATASET
from tests.conftest import Database
from tests.conftest import api_over
from tests.conftest import import_rows
from tests.conftest import open_app

EMAILS = {user["name"].lower(): user["email"] for user in json.loads(DATASET.read_text())["users"]}
COOKIE = "walkthrough_console"
TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass(slots=True)
class Desk:
    """A browser without scripts, and whoever sits at it."""

    client: Client
    pages: list[str] = field(default_factory=list)

    def get(self, path: str, **options: object) -> TestResponse:
        return self.client.get(path, **options)

    def page(self, path: str) -> str:
        """The page at a path, which has to be there."""
        answer = self.client.get(path)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:2000])
        return answer.text

    def token(self, path: str = "/console/sign-in") -> str:
        found = TOKEN.search(self.client.get(path).text)
        assert found, f"no form at {path}"
        return html.unescape(found[1])

    def send(self, path: str, fields: object = None, form: str | None = None) -> TestResponse:
        """Send a form, with the token of the page that it stands on."""
        csrf = self.token(form or path)
        given = fields.items(multi=True) if hasattr(fields, "multi") else (fields or {})
        return self.client.post(path, data={"csrf": csrf, **dict(given)})

    def sign_in(self, name: str) -> TestResponse:
        given = {"email": EMAILS[name], "password": password_of(name)}
        return self.send("/console/sign-in", given)

    @property
    def cookie(self) -> object:
        return self.client.get_cookie(COOKIE, path="/console")


@pytest.fixture(scope="session")
def staffed_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The data set, the cast with passwords."""
    directory = tmp_path_factory.mktemp("staffed")
    rows = json.loads(DATASET.read_text())
    for user in rows["users"]:
        user["password"] = password_of(user["name"])
    source, file = directory / "dataset.json", directory / "base.db"
    source.write_text(json.dumps(rows))
    app = open_app(file)
    import_rows(app, source)
    databases.settle(app, file)
    return file


@pytest.fixture
def app(staffed_file: pathlib.Path, tmp_path: pathlib.Path) -> object:
    file = tmp_path / "walkthrough.db"
    databases.copy(staffed_file, file)
    return open_app(file)


@pytest.fixture
def api(app: object) -> Callable:
    """The API over the same database as `desk`."""
    return api_over(Database(lambda: app, None, app))


@pytest.fixture
def desk(app: object) -> Callable[..., Desk]:
    """`desk("ada")` is ada, signed in; `desk()` is nobody."""

    def sit(name: str | None = None) -> Desk:
        found = Desk(app.test_client())
        if name is not None:
            answer = found.sign_in(name)
            assert answer.status_code == 303, answer.text
        return found

    return sit


@pytest.fixture(scope="module")
def office(
    staffed_file: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Desk]:
    """The same over one database for a whole module, which only reads it."""
    file = tmp_path_factory.mktemp("office") / "walkthrough.db"
    databases.copy(staffed_file, file)
    made = open_app(file)
    seated: dict[str, Desk] = {}

    def sit(name: str) -> Desk:
        if name not in seated:
            seated[name] = Desk(made.test_client())
            assert name == "nobody" or seated[name].sign_in(name).status_code == 303
        return seated[name]

    return sit
