"""Functions of the API. Each is declared once, by the decorator `function` of what it runs.

Routes, the description, the console and the tests read the declaration. `routes/functions/registry.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast, get_type_hints

from marshmallow import Schema, fields

from access.caller import Caller
from access.parameters import Parameter, unprefixed
from access.roles import Role
from engine.interface.transaction import Transaction

DRY_RUN: Final = "dry_run"

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Implementation = Callable[Concatenate[Transaction, Caller, Arguments], Result]


@dataclass(eq=False, slots=True)
class Function(Generic[Arguments, Result]):
    """A function of the API. `roles` may call it. A volatile function writes; a stable one reads.

    A volatile function with a parameter `p_dry_run` only reads unless that is false. `body_bytes_max` and
    `seconds_max` limit the body and the time of a call, if not as those of other requests.
    `names` are the documented names of its parameters. The implementation takes them without the prefix.
    """

    name: str
    summary: str
    names: tuple[str, ...]
    schema: Schema
    roles: frozenset[Role]
    is_volatile: bool
    implementation: Implementation[Arguments, Result]
    body_bytes_max: int | None = None
    seconds_max: float | None = None

    def __call__(
        self, transaction: Transaction, caller: Caller, *values: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        return self.implementation(transaction, caller, *values, **named)

    def __str__(self) -> str:
        return f"public.{self.name}({', '.join(self.names)})" if self.names else f"public.{self.name}"

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by their documented names."""
        return {name: cast(Parameter, self.schema.fields[unprefixed(name)]) for name in self.names}

    def is_dry_run(self, arguments: Mapping[str, object]) -> bool:
        """Return whether a call with these arguments only tries what it would write."""
        return DRY_RUN in self.schema.fields and arguments.get(DRY_RUN) is not False

    @property
    def returns(self) -> Any:
        """The type of the result."""
        return get_type_hints(self.implementation)["return"]


def function(
    name: str,
    *,
    summary: str,
    roles: frozenset[Role],
    parameters: Mapping[str, Parameter] | None = None,
    is_volatile: bool = False,
    body_bytes_max: int | None = None,
    seconds_max: float | None = None,
) -> Callable[[Implementation[Arguments, Result]], Function[Arguments, Result]]:
    """Return the decorator that declares a function. It does not register the function."""
    declared: dict[str, fields.Field[Any]] = {unprefixed(each): kind for each, kind in (parameters or {}).items()}

    def declare(implementation: Implementation[Arguments, Result]) -> Function[Arguments, Result]:
        schema = Schema.from_dict(declared)()
        names = tuple(parameters or ())
        return Function(name, summary, names, schema, roles, is_volatile, implementation, body_bytes_max, seconds_max)

    return declare
