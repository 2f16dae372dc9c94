"""Django settings, read from the typed environment of `chimera.env`. One file for every deployment."""

import contextlib
import logging.config
import secrets
import sys
from pathlib import Path
from typing import Any

import dj_database_url

from chimera import env
from chimera.core import broker

try:
    CHIMERA = env.load()
except env.Misconfigured as problem:
    sys.exit(f"Chimera cannot start: {problem}")

BASE_DIR = env.ROOT
DATA_DIR = CHIMERA.data_dir
DATA_DIR.mkdir(parents=True, exist_ok=True, mode=0o700)


def _sandbox_secret() -> str:
    """A secret of this data directory: made once, readable by its owner alone."""
    path = DATA_DIR / "secret_key"
    if not path.exists():
        fresh = Path(f"{path}.{secrets.token_hex(4)}")
        fresh.touch(mode=0o600)
        fresh.write_text(secrets.token_urlsafe(64))
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(fresh)
        fresh.unlink()
    return path.read_text()


SECRET_KEY = CHIMERA.secret_key or _sandbox_secret()
DEBUG = False
ALLOWED_HOSTS = CHIMERA.hosts

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.simple_history",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "django_htmx",
    "oauth2_provider",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_results",
    "simple_history",
    "chimera",
    "chimera.core",
    "agents",
    "content",
    "wallets",
    "approvals",
    "skills",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "chimera.core.tracing.TraceMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "simple_history.middleware.HistoryRequestMiddleware",
    "chimera.core.actors.ActorMiddleware",
]

ROOT_URLCONF = "chimera.urls"
WSGI_APPLICATION = "chimera.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chimera.context.chimera",
            ]
        },
    }
]

# --- data -----------------------------------------------------------------------------------------
_SQLITE_PRAGMAS = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
_PREPARED = {"server_side_binding": True, "prepare_threshold": 5}
"""PostgreSQL plans a statement that a connection repeats once: a third less of its processor time."""


def _database(url: str) -> dict[str, Any]:
    """Django's settings of a database URL: SQLite in WAL with IMMEDIATE transactions, or PostgreSQL."""
    parsed: dict[str, Any] = {
        **dj_database_url.parse(url, conn_max_age=None, conn_health_checks=True)
    }
    if parsed["ENGINE"] == "django.db.backends.sqlite3":
        parsed["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": _SQLITE_PRAGMAS,
        }
    else:
        parsed["OPTIONS"] = {**_PREPARED, **parsed.get("OPTIONS", {})}
    return parsed


DATABASES = {
    "default": _database(CHIMERA.database_url or f"sqlite:///{DATA_DIR / 'chimera.sqlite3'}")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": CHIMERA.cache_url,
    }
    if CHIMERA.cache_url
    else {
        "BACKEND": "django.core.cache.backends.filebased.FileBasedCache",
        "LOCATION": DATA_DIR / "cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}

# --- people ---------------------------------------------------------------------------------------
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "/accounts/login/"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "chimera.accounts.NoSignupAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = False
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = CHIMERA.is_sandbox

# --- security -------------------------------------------------------------------------------------
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not CHIMERA.is_sandbox
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = 0 if CHIMERA.is_sandbox else 31_536_000
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = not CHIMERA.is_sandbox
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
CSRF_TRUSTED_ORIGINS = [CHIMERA.chimera_web_url]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024
_MEDIA_SOURCES = [
    "'self'",
    "data:",
    *([CHIMERA.chimera_world_url] if CHIMERA.is_sandbox else ["https:"]),
]
CONTENT_SECURITY_POLICY = {
    "EXCLUDE_URL_PREFIXES": ("/admin/",),
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": _MEDIA_SOURCES,
        "media-src": _MEDIA_SOURCES,
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "form-action": ["'self'"],
    },
}

# --- agents ---------------------------------------------------------------------------------------
OAUTH2_PROVIDER_APPLICATION_MODEL = "oauth2_provider.Application"
# Only client credentials are used; what the best current practice forbids stays off.
_RFC9700 = (
    *("IMPLICIT_GRANT", "PASSWORD_GRANT", "PKCE_METHOD", "ACCESS_TOKEN_TRANSPORT"),
    *("AUTHZ_RESPONSE_ISS", "TOKEN_STORAGE", "REFRESH_TOKEN"),
)
OAUTH2_PROVIDER = {
    "ACCESS_TOKEN_EXPIRE_SECONDS": 3600,
    "SCOPES_BACKEND_CLASS": "agents.scopes.AgentScopes",
    "ALLOWED_REDIRECT_URI_SCHEMES": ["https"],
    "PKCE_REQUIRED": True,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    **{f"COMPLIANT_BCP_RFC9700_{rule}": True for rule in _RFC9700},
}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["agents.auth.AgentAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["agents.auth.HasScope"],
    "DEFAULT_PARSER_CLASSES": ["chimera.core.rest.ExactJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["chimera.core.rest.ExactJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "chimera.core.rest.OnlyJSON",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_PAGINATION_CLASS": "chimera.core.rest.KeysetPagination",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "chimera.core.problem.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Chimera",
    "DESCRIPTION": "Typed skills for agents; nothing is published and no money moves without a signed approval.",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "/static/icon.svg",
    "SERVE_PERMISSIONS": [],
    "SERVE_AUTHENTICATION": [],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
}

# --- jobs -----------------------------------------------------------------------------------------
_BROKER_DIR = DATA_DIR / "broker"
CELERY_BROKER_URL = CHIMERA.celery_broker_url or f"{broker.SCHEME}://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 3600}
if CHIMERA.embedded_broker:
    for _folder in (_BROKER_DIR / "messages", _BROKER_DIR / "control"):
        _folder.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(_BROKER_DIR / "messages"),
        "data_folder_out": str(_BROKER_DIR / "messages"),
        "control_folder": str(_BROKER_DIR / "control"),
        "polling_interval": 0.05,
    }
CELERY_RESULT_BACKEND = "django-db"
CELERY_DB_REUSE_MAX = 1000
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_REDIRECT_STDOUTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = CELERY_RESULT_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "scheduler")
CELERY_BEAT_MAX_LOOP_INTERVAL = 1
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "skills.sweep", "schedule": 1.0, "options": {"expires": 5}},
    "workflows": {"task": "workflows.sweep", "schedule": 1.0, "options": {"expires": 5}},
    "approvals": {"task": "skills.expire_approvals", "schedule": 5.0, "options": {"expires": 15}},
    "wallets": {"task": "skills.settle_wallets", "schedule": 3.0, "options": {"expires": 10}},
    "seal": {"task": "skills.seal_executions", "schedule": 15.0, "options": {"expires": 30}},
    "engagement": {
        "task": "content.refresh_engagement",
        "schedule": 30.0,
        "options": {"expires": 60},
    },
    "tokens": {
        "task": "content.renew_credentials",
        "schedule": 3600.0,
        "options": {"expires": 600},
    },
    "profiles": {"task": "skills.announce_profiles", "schedule": 15.0, "options": {"expires": 30}},
    "heartbeat": {"task": "skills.heartbeat", "schedule": 5.0, "options": {"expires": 10}},
}

# --- the rest -------------------------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
UNFOLD = {"SITE_TITLE": "Chimera admin", "SITE_HEADER": "Chimera", "SITE_URL": "/"}
SILENCED_SYSTEM_CHECKS: list[str] = []
LOGGING_CONFIG = None
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"},
        "bare": {"format": "%(message)s"},
    },
    "handlers": {
        "console": {"class": "logging.StreamHandler", "formatter": "line"},
        "record_stdout": {
            "class": "logging.StreamHandler",
            "stream": "ext://sys.stdout",
            "formatter": "bare",
        },
        "record_file": {
            "class": "logging.handlers.WatchedFileHandler",
            "filename": DATA_DIR / "log" / "skills.jsonl",
            "formatter": "bare",
            "delay": True,
        },
    },
    "root": {"handlers": ["console"], "level": "INFO"},
    "loggers": {
        "chimera.skills.record": {
            "handlers": ["record_stdout", "record_file"],
            "level": "INFO",
            "propagate": False,
        },
        "django.request": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
    },
}
for _folder in (DATA_DIR / "log", STATIC_ROOT):
    _folder.mkdir(exist_ok=True)
logging.config.dictConfig(LOGGING)
