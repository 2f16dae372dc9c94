"""The forms of the admin of workflows: a definition as YAML, a stand-in."""

import json
from typing import Any

import yaml
from django import forms
from unfold.widgets import UnfoldAdminTextareaWidget

from agents.models import Agent
from chimera.core.errors import ChimeraError
from chimera.core.jsontext import dumps, plain
from skills.workflows import services
from skills.workflows.definition import Definition
from skills.workflows.models import StandIn, StoredWorkflow

MOST_TEXT = 100_000


def as_yaml(definition: Definition) -> str:
    """The definition as a person writes it, without what goes without saying."""
    said = definition.model_dump(exclude_defaults=True) | {"version": definition.version}
    data = json.loads(dumps({"name": "", "version": 0} | plain(said)))
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def problems_of(problem: ChimeraError, text: str) -> list[str]:
    """What is wrong with a definition, each with its step as a person counts and its field."""
    return [
        f"{_place(where, text)}: {said}" if where else said
        for where, texts in (problem.errors or {"": [problem.message]}).items()
        for said in texts
    ]


def _place(where: str, text: str) -> str:
    """`steps.1.mapping.x` as `Step 2 (draft), mapping.x`."""
    parts = where.split(".")
    steps: list[str] = []
    field: list[str] = []
    try:
        at: Any = yaml.safe_load(text)
    except yaml.YAMLError:
        return where
    while parts:
        part = parts.pop(0)
        at = at.get(part) if isinstance(at, dict) else at
        if isinstance(at, list) and parts and parts[0].isdigit() and int(parts[0]) < len(at):
            number = int(parts.pop(0))
            at = at[number]
            name = at.get("name") or at.get("skill_name") if isinstance(at, dict) else None
            around = [*field, *([part] if part != "steps" else [])]
            steps += [" ".join(around)] if around else []
            steps.append(f"step {number + 1}" + (f" ({name})" if name else ""))
            field = []
        else:
            field.append(part)
    said = ", ".join([*steps, *([".".join(field)] if field else [])])
    return said[:1].upper() + said[1:]


class DefinitionForm(forms.ModelForm):  # type: ignore[type-arg]  # unsubscriptable at run time
    """A definition in YAML. A change of a stored version is a new version."""

    text = forms.CharField(
        label="Definition",
        max_length=MOST_TEXT,
        strip=False,
        widget=UnfoldAdminTextareaWidget(
            attrs={
                "rows": 28,
                "spellcheck": "false",
                "wrap": "off",
                "style": "font-family: ui-monospace, monospace; font-weight: 400",
            }
        ),
        help_text="YAML or JSON as docs/workflows.md describes it. Saving stores a new version.",
    )
    definition: Definition

    class Meta:
        model = StoredWorkflow
        fields = ["agent"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.definition:
            kept = Definition.model_validate(self.instance.definition)
            self.fields["text"].initial = as_yaml(kept)
        if "agent" in self.fields:
            self.fields["agent"].required = True
            self.fields["agent"].help_text = "Whose workflow it is: its name and its schedule"

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        text = given.get("text")
        agent = given.get("agent") or self.instance.agent
        if text and agent:
            self._check(agent, text)
        return given

    def _check(self, agent: Agent, text: str) -> None:
        try:
            made = services.workflow_check(agent=agent, data=text)
        except ChimeraError as problem:
            for said in problems_of(problem, text):
                self.add_error(None, said)  # above the text, where it is seen at once
            return
        if self.instance.name and made.name != self.instance.name:
            self.add_error(None, f"Name: it stays {self.instance.name}; add a new one instead")
            return
        if self.instance.name and self._is_kept(made):
            self.add_error(None, "Nothing has changed; a new version would have no stand-ins")
            return
        versions = StoredWorkflow.objects.filter(name=made.name).order_by("-version")
        newest = versions.values_list("version", flat=True).first() or 0
        if self.instance.name and made.version <= newest:
            made.version = newest + 1
        elif made.version <= newest:
            self.add_error(None, f"Version: {made.name} has version {newest}; give a higher one")
        self.definition = made

    def _is_kept(self, made: Definition) -> bool:
        kept = Definition.model_validate(self.instance.definition)
        return made.model_copy(update={"version": kept.version}) == kept


class StandInForm(forms.ModelForm):  # type: ignore[type-arg]  # unsubscriptable at run time
    """Who carries out the steps of a role, in one version of one workflow."""

    class Meta:
        model = StandIn
        fields = ["workflow", "version", "agent", "role", "stand_in"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if given.get("workflow") and given.get("version"):
            try:
                services.definition_get(given["workflow"], given["version"])
            except ChimeraError:
                self.add_error("workflow", "There is no such version of a workflow of that name")
        return given
