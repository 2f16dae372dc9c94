"""Addresses of the reviewer desk."""

from django.urls import path

from approvals import escalation_views, views

app_name = "desk"
urlpatterns = [
    path("", views.dashboard, name="dashboard"),
    path("review/", views.inbox, name="inbox"),
    path("review/count/", views.inbox_count, name="inbox_count"),
    path("review/escalations/<uuid:item_id>/", escalation_views.detail, name="escalation"),
    path(
        "review/escalations/<uuid:item_id>/state/", escalation_views.state, name="escalation_state"
    ),
    path(
        "review/escalations/<uuid:item_id>/settle/",
        escalation_views.settle,
        name="escalation_settle",
    ),
    path("review/escalations/<uuid:item_id>/look/", escalation_views.look, name="escalation_look"),
    path(
        "review/escalations/<uuid:item_id>/live/", escalation_views.live_post, name="outcome_live"
    ),
    path(
        "review/escalations/<uuid:item_id>/absent/",
        escalation_views.absent_post,
        name="outcome_absent",
    ),
    path("review/<uuid:request_id>/", views.request_detail, name="request"),
    path("review/<uuid:request_id>/sign/", views.sign, name="sign"),
    path("review/<uuid:request_id>/reject/", views.reject, name="reject"),
    path(
        "review/<uuid:request_id>/request-changes/", views.request_changes, name="request_changes"
    ),
    path("review/<uuid:request_id>/state/", views.request_state, name="request_state"),
]
