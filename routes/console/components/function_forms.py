"""Forms that call a function of the API. A problem shows the form again with its input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flask import Response, g

from models.types import BIGINT, InvalidInput
from routes.console.components import fields
from routes.console.components.fields import Field, FormValues
from routes.console.components.page import Pairs, Undo, redirect_to, render_page
from routes.console.components.records import save
from routes.console.components.tables import Section


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """A form whose fields are parameters of a function.

    `hidden` are values that the form keeps, and `more` is a part below the fields. `problems` returns the problems of
    typed values by field.
    """

    title: str
    verb: str
    fields: Sequence[Field]
    back: str
    hidden: Pairs = ()
    more: Section | None = None
    problems: Callable[[Mapping[str, str]], dict[str, str]] | None = None
    result: str = ""
    """The page after the call. It defaults to `back`."""

    def page(self, values: FormValues, status: int = 200) -> Response:
        return render_page(
            "form.html",
            status,
            title=self.title,
            back=self.back,
            fields=self.fields,
            values=values,
            hidden=self.hidden,
            more=self.more,
            verb=self.verb,
        )

    def submit(
        self, call: Callable[[dict[str, str]], tuple[str, Undo | None]], chosen: Mapping[str, str] | None = None
    ) -> Response:
        """Pass the arguments of the form to `call`, and redirect with the message and the undo that it returns.

        `chosen` are values of a button, which count instead of those of the fields.
        """
        values = fields.read_texts(self.fields, {**g.form.to_dict(), **(chosen or {})})
        if self.problems is not None:
            values.problems.update(self.problems(values.typed))
        arguments = {f"p_{name}": text.strip() for name, text in values.typed.items()}

        def store() -> Response:
            return redirect_to(self.result or self.back, *call(arguments))

        return save(values, store, lambda status: self.page(values, status))


def read_ids(texts: Iterable[str]) -> list[int]:
    """Return the different ids of a form's lists; raise InvalidInput if there is none."""
    ids = dict.fromkeys(each for each in ",".join(texts).split(",") if each)
    if not ids:
        raise InvalidInput("Choose at least one row")
    return [int(BIGINT.read_text(each) or 0) for each in ids]
