"""Every URL of the web server."""

from allauth.account import views as account
from allauth.account.decorators import secure_admin_login
from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from agents.views import TokenView, metadata_view
from approvals import api as approvals_api
from chimera import health
from chimera.accounts import CLOSED, absent, prune_admin
from content import api as content_api
from content.mediatools.views import generated
from skills import api as skills_api
from skills import artifact_api
from skills.workflows import api as workflows_api
from wallets import api as wallets_api

# The admin has no sign-in of its own: it would ask for no second factor and count no wrong password.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

prune_admin()

handler404 = "chimera.errors.not_found"
handler500 = "chimera.errors.server_error"

api = [
    path("skills/", skills_api.SkillList.as_view()),
    path("skills/<str:name>/", skills_api.SkillDetail.as_view()),
    path("skills/<str:name>/executions/", skills_api.ExecutionCreate.as_view()),
    path("executions/", skills_api.ExecutionList.as_view()),
    path("executions/<uuid:execution_id>/", skills_api.ExecutionDetail.as_view()),
    path("executions/<uuid:execution_id>/cancel/", skills_api.ExecutionCancel.as_view()),
    path(
        "executions/<uuid:execution_id>/artifacts/<int:number>/",
        artifact_api.ArtifactDownload.as_view(),
    ),
    path("content/", content_api.ContentList.as_view()),
    path("content/<uuid:content_id>/", content_api.ContentDetail.as_view()),
    path("approvals/", approvals_api.ApprovalCreate.as_view()),
    path("approvals/<uuid:approval_id>/", approvals_api.ApprovalDetail.as_view()),
    path("agents/me/", skills_api.AgentMe.as_view()),
    path("agents/<uuid:agent_id>/", skills_api.AgentDetail.as_view()),
    path("wallets/<str:address>/", wallets_api.WalletDetail.as_view()),
    path("wallets/<str:address>/entries/", wallets_api.WalletEntries.as_view()),
    path("workflows/", workflows_api.WorkflowList.as_view()),
    path("workflows/<str:name>/runs/", workflows_api.RunCreate.as_view()),
    path("workflow-runs/", workflows_api.RunList.as_view()),
    path("workflow-runs/<uuid:run_id>/", workflows_api.RunDetail.as_view()),
    path("workflow-runs/<uuid:run_id>/cancel/", workflows_api.RunCancel.as_view()),
    path("workflow-runs/<uuid:run_id>/resume/", workflows_api.RunResume.as_view()),
]

# Signing in, out, and again; second factors. Nothing that changes how a person can be reached or
# brings an account back by mail: with a stolen session that would be a way to a new password.
people = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/change/", account.password_change, name="account_change_password"),
    path("2fa/", include("allauth.mfa.urls")),
    *(path(f"{name}/", absent, name=f"account_{name}") for name in CLOSED),
]

# The page's own style sheet stands in its HTML; its scripts do not.
docs = csp_update({"style-src": "'unsafe-inline'"})(
    SpectacularSwaggerSplitView.as_view(url_name="schema")
)

urlpatterns = [
    path("api/v1/", include(api)),
    path("api/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/docs/", docs, name="docs"),
    path("oauth/token/", TokenView.as_view(), name="token"),
    path(".well-known/jwks.json", approvals_api.jwks_view),
    path(".well-known/oauth-authorization-server", metadata_view),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.metrics),
    path("media/generated/<str:name>", generated),
    path("accounts/", include(people)),
    path("admin/", admin.site.urls),
    path("", include("approvals.urls")),
]
