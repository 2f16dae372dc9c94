"""Admin of workflows: definitions as YAML, runs to look at, cancel and resume, and stand-ins."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from simple_history.admin import SimpleHistoryAdmin
from unfold.admin import ModelAdmin, TabularInline

from chimera.core import audit
from chimera.core.admin import AuditedAdmin, ReadOnlyAdmin
from chimera.core.errors import ChimeraError
from skills.workflows import services
from skills.workflows.definition import Definition, parse
from skills.workflows.forms import DefinitionForm, StandInForm, as_yaml, problems_of
from skills.workflows.models import (
    ENDED,
    RunStatus,
    StandIn,
    StepRecord,
    StoredWorkflow,
    WorkflowRun,
)


def actor_of(request: HttpRequest) -> str:
    """The person, as the audit log names one."""
    return f"person:{request.user.pk}"


@admin.register(StoredWorkflow)
class StoredWorkflowAdmin(ModelAdmin):
    """Saving stores a version; a version that is stored is never changed."""

    form = DefinitionForm
    show_full_result_count = False
    list_display = ["name", "version", "agent", "enabled", "next_at", "created_at"]
    list_filter = ["enabled", "agent"]
    search_fields = ["name"]
    ordering = ["name", "-version"]
    actions = ["enable", "disable"]
    list_before_template = "workflows/builtin.html"
    change_form_after_template = "workflows/preview_button.html"
    change_form_outer_after_template = "workflows/graph_of_version.html"

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return ["agent"] if obj else []

    def get_urls(self) -> list[URLPattern]:
        guarded = self.admin_site.admin_view
        return [
            path("preview/", guarded(self.preview), name="workflow_preview"),
            path("built-in/<slug:name>/", guarded(self.builtin), name="workflow_builtin"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        mine = {"builtin": services.builtin().values()}
        return super().changelist_view(request, (extra_context or {}) | mine)

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, obj: Any = None, **kwargs: Any
    ) -> Any:
        context["steps"] = steps_of(parse(obj.definition)) if obj else []
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Store what the form has checked as a new version; obj is that version afterwards."""
        made = services.workflow_store(
            agent=obj.agent, data=form.definition.model_dump(), actor=actor_of(request)
        )
        obj.__dict__.update(made.__dict__)

    def construct_change_message(self, request: HttpRequest, form: Any, *a: Any) -> Any:
        return f"Stored {form.definition.name} v{form.definition.version}"

    def preview(self, request: HttpRequest) -> HttpResponse:
        """POST: the graph of a text that is not stored, or what is wrong with it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            definition = services.workflow_check(agent=None, data=request.POST.get("text", ""))
        except ChimeraError as problem:
            return self._page(request, None, problems_of(problem, request.POST.get("text", "")))
        return self._page(request, definition)

    def builtin(self, request: HttpRequest, name: str) -> HttpResponse:
        """A workflow that comes with the program."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if name not in services.builtin():
            raise Http404
        return self._page(request, services.builtin()[name], text=True)

    def _page(
        self,
        request: HttpRequest,
        definition: Definition | None,
        problems: list[str] | None = None,
        *,
        text: bool = False,
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{definition.name} v{definition.version}" if definition else "Preview",
            "definition": definition,
            "steps": steps_of(definition) if definition else [],
            "problems": problems or [],
            "text": as_yaml(definition) if definition and text else "",
        }
        return render(request, "workflows/preview.html", context, status=400 if problems else 200)

    @admin.action(description="Enable these versions", permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[StoredWorkflow]) -> None:
        self._set(request, queryset, enabled=True)

    @admin.action(description="Disable these versions: they start no more", permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[StoredWorkflow]) -> None:
        self._set(request, queryset, enabled=False)

    def _set(self, request: HttpRequest, queryset: Any, *, enabled: bool) -> None:
        for stored in queryset:
            services.workflow_enable(
                workflow_id=stored.id, enabled=enabled, actor=actor_of(request)
            )
        self.message_user(request, f"{'Enabled' if enabled else 'Disabled'} {len(queryset)}")


def steps_of(definition: Definition) -> list[dict[str, Any]]:
    """The definition as its graph shows it; see templates/workflows/graph.html."""
    return [_shown(step) for step in definition.steps]


def _shown(step: Any) -> dict[str, Any]:
    bodies = [*(step.branches or {}).items(), *([("", step.steps)] if step.steps else [])]
    ask = step.approval
    what = {
        "skill": step.skill_name or "",
        "approval": (ask.question or ask.action) if ask else "",
        "pause": f"{step.wait_seconds:g} s" if step.wait_seconds is not None else step.wait_until,
    }
    kind = next((kind for kind, said in what.items() if said), "list")
    return {
        "kind": "back" if step.go_back else kind,
        "name": step.name or "",
        "what": what.get(kind, ""),
        "when": step.when or "",
        "for_each": step.for_each or "",
        "approved_by": step.approved_by or "",
        "back": step.go_back,
        "bodies": [(name, [_shown(one) for one in body]) for name, body in bodies],
    }


_LINK = '<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>'


def error_of(ended: StepRecord | WorkflowRun) -> str:
    """Code and message of what went wrong, for a person."""
    return f"{ended.error['code']}: {ended.error['message']}" if ended.error else "-"


class StepInline(TabularInline):
    """The records of a run, to look at."""

    model = StepRecord
    extra = 0
    ordering = ["id"]
    hide_title = True
    fields = readonly_fields = ["step", "state", "error_text", "links", "took"]

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="step")
    def step(self, record: StepRecord) -> str:
        again = f" (attempt {record.attempt})" if record.attempt > 1 else ""
        return f"{record.path} {record.label}{again}"

    @admin.display(description="error")
    def error_text(self, record: StepRecord) -> str:
        return error_of(record)

    @admin.display(description="see")
    def links(self, record: StepRecord) -> SafeString:
        pages = {
            "execution": ("skills_skillexecution", record.execution_id),
            "request": ("approvals_approvalrequest", record.approval_id),
        }
        found = [
            format_html(_LINK, reverse(f"admin:{page}_change", args=[key]), name)
            for name, (page, key) in pages.items()
            if key
        ]
        return SafeString(" ".join(found) or "-")

    @admin.display(description="took")
    def took(self, record: StepRecord) -> str:
        if record.completed_at is None:
            return "-"
        seconds = (record.completed_at - record.started_at).total_seconds()
        return f"{max(seconds, 0):.1f} s"


@admin.register(WorkflowRun)
class WorkflowRunAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "workflow", "version", "agent", "status", "completed_at"]
    list_filter = ["status", "workflow"]
    search_fields = ["id", "trace_id"]
    ordering = ["-id"]
    inlines = [StepInline]
    actions = ["cancel", "resume"]
    fields = [
        *("workflow", "version", "agent", "status", "error_text"),
        *("created_at", "completed_at", "due_at", "trace_id", "idempotency_key", "input", "output"),
        "kept_definition",
    ]
    readonly_fields = ["error_text", "kept_definition"]
    change_form_outer_before_template = "workflows/run_actions.html"

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, obj: Any = None, **kwargs: Any
    ) -> Any:
        if obj and self.has_operate_permission(request):
            failed = obj.status == RunStatus.FAILED
            context["operable"] = "resume" if failed else obj.status not in ENDED and "cancel"
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    @admin.display(description="error")
    def error_text(self, run: WorkflowRun) -> str:
        return error_of(run)

    @admin.display(description="definition")
    def kept_definition(self, run: WorkflowRun) -> SafeString:
        """As it was when the run began."""
        kept = as_yaml(Definition.model_validate(run.definition))
        shut = '<details><summary class="cursor-pointer">{} steps</summary><pre>{}</pre></details>'
        return format_html(shut, len(run.definition["steps"]), kept)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Those whom the administration lets change runs."""
        return request.user.has_perm("skills.change_workflowrun")

    @admin.action(description="Cancel these runs", permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
        self._each(request, queryset, services.run_cancel, "cancelled")

    @admin.action(description="Resume these runs from what failed", permissions=["operate"])
    def resume(self, request: HttpRequest, queryset: QuerySet[WorkflowRun]) -> None:
        self._each(request, queryset, services.run_resume, "resumed")

    def _each(self, request: HttpRequest, queryset: Any, act: Any, done: str) -> None:
        for run in queryset.select_related("agent"):
            try:
                act(agent=run.agent, run_id=run.id, person=actor_of(request))
            except ChimeraError as problem:
                self.message_user(request, f"{run}: {problem.message}", messages.ERROR)
            else:
                self.message_user(request, f"{run} is {done}")


@admin.register(StandIn)
class StandInAdmin(SimpleHistoryAdmin, AuditedAdmin):
    form = StandInForm
    list_display = ["workflow", "version", "agent", "role", "stand_in", "created_at"]
    list_filter = ["workflow", "role"]
    fields = ["workflow", "version", "agent", "role", "stand_in"]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("skills.delete_standin")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        with transaction.atomic():
            audit.record(
                actor=actor_of(request),
                action="admin.deleted",
                object_type="skills.standin",
                object_id=obj.pk,
                data={"stand_in": str(obj), "agent": str(obj.agent_id)},
            )
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for one in queryset:
            self.delete_model(request, one)
