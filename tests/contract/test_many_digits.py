"""More digits than an id has, at every door: Python converts at most 4,300 of them, and the databases 64 bits."""

from collections.abc import Callable

import pytest

from routes.functions.rpc import FUNCTIONS
from tests.support.storage import OBJECT, storage_of

DIGITS = ["9" * 60_000, "9" * 5_000, "9" * 20, str(2**63), "\u00b2", "\u0663", "1_0"]


@pytest.mark.parametrize("digits", DIGITS)
def test_arguments_of_functions(api: Callable, digits: str) -> None:
    number = digits if digits.isascii() and digits.isdigit() else f'"{digits}"'
    for name, function in FUNCTIONS.items():
        for value in (number, f'"{digits}"', f"[{number}]"):
            body = ",".join(f'"{each}": {value}' for each in function.names)
            answer = api("root").send("POST", f"/rpc/{name}", f"{{{body}}}", content_type="application/json")
            assert answer.status < 500, (name, answer.text[:200])


@pytest.mark.parametrize("digits", DIGITS)
def test_options_of_the_storage(api: Callable, digits: str) -> None:
    send = storage_of(api)("ada").send
    number = digits if digits.isascii() and digits.isdigit() else f'"{digits}"'
    for call in ("list/inspections", "list-v2/inspections", "sign/inspections", "sign/inspections/1/a.jpg"):
        for name in ("limit", "offset", "prefix", "search", "cursor", "expiresIn", "transform"):
            for value in (number, f'"{digits}"', f'{{"width": {number}}}'):
                body = f'{{"{name}": {value}}}'.encode()
                answer = send("POST", f"{OBJECT}/{call}", body, Content_Type="application/json")
                assert answer.status < 500, (call, name, answer.body[:200])
