"""Just enough of a browser to fill in the reviewer's forms: find a form by its button, submit it."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

Attributes = dict[str, str]


@dataclass
class Form:
    """A form of a page: hidden and filled fields, names of empty ones by type, buttons by label."""

    action: str = ""
    method: str = "get"
    fields: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, tuple[str, str]] = field(default_factory=dict)

    def filled(self, button: str, **by_type: str) -> dict[str, str]:
        """What is sent: the form's own values, `text="..."` and `password="..."` filled in, the button."""
        data = dict(self.fields)
        for kind, value in by_type.items():
            data |= {name: value for name, type_ in self.types.items() if type_ == kind}
        name, value = self.buttons[button]
        return data | ({name: value} if name else {})


class _Parser(HTMLParser):
    """Collects the forms of a page; a button may stand outside its form and name it."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.by_id: dict[str, Form] = {}
        self.open: Form | None = None
        self.button: Attributes | None = None
        self.label = ""
        self.hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.open = Form(given.get("action", ""), given.get("method", "get").lower())
            self.forms.append(self.open)
            self.by_id[given.get("id", "")] = self.open
        elif tag == "button":
            self.button, self.label = given, ""
        elif given.get("aria-hidden") == "true" and not self.hidden:
            self.hidden = tag
        elif tag in ("input", "textarea", "select"):
            self._field(given)

    def _field(self, given: Attributes) -> None:
        form, name = self._form_of(given), given.get("name", "")
        kind = given.get("type", "text")
        if form is None or not name or (kind in ("checkbox", "radio") and "checked" not in given):
            return
        if kind == "submit":
            form.buttons[given.get("value", "")] = (name, given.get("value", ""))
            return
        form.fields[name] = given.get("value", "on" if kind == "checkbox" else "")
        form.types[name] = kind

    def _form_of(self, given: Attributes) -> Form | None:
        return self.by_id.get(given["form"]) if "form" in given else self.open

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.label += data

    def handle_endtag(self, tag: str) -> None:
        if tag == self.hidden:
            self.hidden = ""
        elif tag == "form":
            self.open = None
        elif tag == "button" and self.button is not None:
            form = self._form_of(self.button)
            label = self.button.get("aria-label") or " ".join(self.label.split())
            if form is not None:
                form.buttons[label] = (self.button.get("name", ""), self.button.get("value", ""))
            self.button = None


def find_form(page: str, button: str) -> Form | None:
    """The form with a button of that label, or None."""
    parser = _Parser()
    parser.feed(page)
    return next((form for form in parser.forms if button in form.buttons), None)
