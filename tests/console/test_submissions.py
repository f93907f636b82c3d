"""Forms that are sent twice, and forms of a session that has ended."""

import html
import re
from collections.abc import Callable

import pytest

from tests.clients.server import password_of
from tests.conftest import ADA, MIA, MOE
from tests.console.conftest import Form
from tests.console.inspection_rows import VISIT, add_visits, set_clock

PAGE = f"/console/inspections/{VISIT}"
ADD = f"{PAGE}/add/findings"
FINDING = {"place": "3D", "item": "Alarm", "description": "No <alarm>"}


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)


def filled_in(page: str, **more: str) -> dict:
    return {**Form(page, ADD).with_(FINDING | more), "severity": "severe"}


def findings(api: Callable) -> list[str]:
    rows = api("service").get(f"/findings?inspection_id=eq.{VISIT}&order=id").json
    return [row["description"] for row in rows]


def test_form_that_is_sent_twice_is_saved_once(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))

    answers = [mia.client.post(ADD, data=sent) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]
    assert len(findings(api)) == 1


@pytest.mark.parametrize(
    ("path", "action", "listing", "values", "shown"),
    [
        pytest.param(
            "/console/people/new",
            None,
            "/console/people?q=Nia",
            {"email": "nia@x.example", "password": "the first one"},
            "The first password holds.",
            id="user",
        ),
        pytest.param(
            "/console/account/api_keys",
            "/console/account/api_keys",
            "/console/account/api_keys",
            {"rights": "read", "days": "30"},
            "This API key was created before. Its text was shown once.",
            id="API key",
        ),
        pytest.param(
            "/console/devices",
            "/console/devices",
            "/console/devices",
            {"person": ADA, "days": "30"},
            "This kiosk display was created before. Its code was shown once.",
            id="display",
        ),
    ],
)
def test_secret_of_a_form_that_is_sent_twice_is_shown_once(
    browse: Callable, path: str, action: str | None, listing: str, values: dict, shown: str
) -> None:
    ada = browse("ada")
    sent = {**Form(ada.page(path), action).with_(values), "name": "Nia"}
    ada.client.post(path, data=sent)
    after = ada.page(listing).count("Nia")

    again = ada.client.post(path, data=sent)

    assert again.status_code == 303
    assert shown in html.unescape(ada.page(again.headers["Location"]))
    assert after > 0
    assert ada.page(listing).count("Nia") == after


@pytest.mark.parametrize("kind", ["user", "grant", "API key", "kiosk display"])
def test_deletion_and_revocation_that_is_sent_twice_has_one_answer(browse: Callable, api: Callable, kind: str) -> None:
    ada = browse("ada")
    if kind == "user":
        question = f"/console/people/{MIA}/delete"
    elif kind == "grant":
        question = f"/console/client_manager_building_access/{MOE},1/delete"
    elif kind == "API key":
        ada.send("/console/account/api_keys", {"name": "Script", "rights": "read", "days": "30"})
        question = re.search(r'href="([^"]+/revocation)"', ada.page("/console/account/api_keys"))[1]
    else:
        ada.send("/console/devices", {"name": "Hall", "person": MOE, "days": "30"})
        question = re.search(r'href="([^"]+/revocation)"', ada.page("/console/devices"))[1]
    page = ada.page(question)
    action = re.search(r'<form class="card[^"]*" method="post"(?: action="([^"]+)")?', page)[1]
    sent = Form(page, action).with_({})

    answers = [ada.client.post(action or question, data=sent) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]


def test_other_values_after_back_are_another_submission(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    page = mia.page(PAGE)

    for text in ("one", "two"):
        assert mia.client.post(ADD, data=filled_in(page, description=text)).status_code == 303

    assert findings(api) == ["one", "two"]


def test_submission_of_another_user_is_not_remembered(browse: Callable, api: Callable) -> None:
    sent = filled_in(browse("mia").page(PAGE))
    ada = browse("ada")

    for _ in range(2):
        assert ada.client.post(ADD, data={**sent, "csrf": ada.token(PAGE)}).status_code == 303

    assert len(findings(api)) == 2


def test_closed_visit_that_is_sent_twice_has_one_answer(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    sent = Form(mia.page(f"{PAGE}/close_visit")).with_({"status": "completed"})

    answers = [mia.client.post(f"{PAGE}/close_visit", data=sent) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [303, 303]
    assert answers[0].headers["Location"] == answers[1].headers["Location"]


def test_form_after_signing_out_is_carried_through_the_sign_in(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))
    mia.send("/console/sign-out", form=PAGE)

    refused = mia.client.post(ADD, data=sent)
    assert (refused.status_code, "Nothing is saved yet" in refused.text) == (401, True)
    wrong = mia.client.post(
        "/console/sign-in", data=Form(refused.text, "/console/sign-in").with_({"email": "mia@acme.example"})
    )
    assert "Nothing is saved yet" in wrong.text
    page = sign_in(mia, wrong.text, "mia@acme.example", "mia")
    assert (findings(api), "No &lt;alarm&gt;" in page, "Sign out" in page) == ([], True, True)
    saved = mia.client.post(ADD, data=Form(page, ADD).with_({}))

    assert saved.status_code == 303
    assert findings(api) == ["No <alarm>"]


def sign_in(user: object, page: str, email: str, name: str) -> str:
    typed = {"email": email, "password": password_of(name)}
    return user.client.post(
        "/console/sign-in", data=Form(page, "/console/sign-in").with_(typed), follow_redirects=True
    ).text


def test_form_of_one_user_is_not_shown_to_another(browse: Callable, api: Callable) -> None:
    mia, ada = browse("mia"), browse("ada")
    sent = filled_in(mia.page(PAGE))
    mia.send("/console/sign-out", form=PAGE)
    refused = mia.client.post(ADD, data=sent)

    assert "No &lt;alarm&gt;" not in sign_in(mia, refused.text, "ada@acme.example", "ada")
    answer = ada.client.post(ADD, data=sent)
    assert (answer.status_code, "No &lt;alarm&gt;" in answer.text) == (403, False)
    assert findings(api) == []


def test_old_tab_after_signing_in_again_has_the_form_with_one_button(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))
    mia.send("/console/sign-out", form=PAGE)
    mia.sign_in("mia")

    answer = mia.client.post(ADD, data=sent)

    assert (answer.status_code, findings(api)) == (403, [])
    assert ("No &lt;alarm&gt;" in answer.text, "My visits" in answer.text) == (True, True)
    assert mia.client.post(ADD, data=Form(answer.text, ADD).with_({})).status_code == 303
    assert len(findings(api)) == 1


@pytest.mark.parametrize("submission", ["", "x", "a:b:c"])
def test_form_without_a_submission_of_this_server_is_not_carried(browse: Callable, submission: str) -> None:
    sent = {**FINDING, "csrf": "x", "submission": submission}

    assert browse().client.post(ADD, data=sent).status_code == 303
    assert "No &lt;alarm&gt;" not in browse("mia").client.post(ADD, data=sent).text


def test_form_of_another_site_is_not_shown(browse: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE)) | {"csrf": "x"}

    answer = mia.client.post(ADD, data=sent, headers={"Sec-Fetch-Site": "cross-site"})

    assert (answer.status_code, "No &lt;alarm&gt;" in answer.text) == (403, False)


def test_carried_form_has_no_password(browse: Callable) -> None:
    ada = browse("ada")
    page = ada.page("/console/account")
    sent = Form(page, "/console/account/password").with_({"current_password": "secret1", "password": "secret2"})
    ada.send("/console/sign-out", form="/console/account")

    refused = ada.client.post("/console/account/password", data=sent)

    assert not re.search("secret[12]", html.unescape(refused.text))


def test_saved_form_names_its_submission(browse: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))

    refused = mia.client.post(ADD, data={**sent, "description": " "})
    saved = mia.client.post(ADD, data=sent)

    key = sent["submission"][0].split(":")[1]
    assert f"walkthrough_saved={key};" in "".join(saved.headers.getlist("Set-Cookie"))
    assert "walkthrough_saved" not in "".join(refused.headers.getlist("Set-Cookie"))


def test_numbers_of_a_device_are_submissions_of_their_own(browse: Callable, api: Callable) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))
    plain = sent["submission"][0]

    answers = [
        mia.client.post(ADD, data={**sent, "submission": text}, headers={"Accept": "application/json"})
        for text in (plain, f"{plain}:1f", f"{plain}:2f", f"{plain}:1f")
    ]

    key = plain.split(":")[1]
    assert [(each.status_code, each.headers.get("Location")) for each in answers] == [(204, None)] * 4
    assert f"walkthrough_saved={key}.1f;" in "".join(answers[1].headers.getlist("Set-Cookie"))
    assert len(findings(api)) == 3


@pytest.mark.parametrize("number", ["", "x", "1:2", "f" * 33])
def test_malformed_number_of_a_device_names_no_submission(browse: Callable, number: str) -> None:
    mia = browse("mia")
    sent = filled_in(mia.page(PAGE))

    answer = mia.client.post(ADD, data={**sent, "submission": f"{sent['submission'][0]}:{number}"})

    assert answer.status_code == 303
    assert ("walkthrough_saved" in "".join(answer.headers.getlist("Set-Cookie"))) is (number == "")


def test_session_tells_its_user_and_the_token_of_its_forms(browse: Callable) -> None:
    mia = browse("mia")
    session = mia.get("/console/session").json

    assert session == {"user_id": MIA, "csrf": mia.token("/console/account")}
    assert browse().get("/console/session").status_code == 303


def test_script_without_session_gets_no_cookie(browse: Callable) -> None:
    """The cookie would replace the nonce of a sign-in page that loads at the same time: its form would be refused."""
    visitor = browse()
    for path, method in (("/console/session", "GET"), (ADD, "POST")):
        answer = visitor.client.open(path, method=method, headers={"Accept": "application/json"})

        assert (answer.status_code, answer.text) == (401, "")
        assert "Set-Cookie" not in answer.headers
