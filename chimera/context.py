"""What every page may show: the environment's name, and where posts go and can be seen."""

from django.conf import settings
from django.http import HttpRequest

from chimera.env import Env


def chimera(request: HttpRequest) -> dict[str, object]:
    """Template variables `environment`, `is_sandbox`, `real_posts` and `posts_url` (empty: nowhere here)."""
    env = settings.CHIMERA
    return {
        "environment": env.environment,
        "is_sandbox": env.is_sandbox,
        "real_posts": env.chimera_platform == "live",
        "posts_url": _posts_url(env) if env.is_sandbox else "",
    }


def _posts_url(env: Env) -> str:
    match env.chimera_platform:
        case "sandbox":
            return env.chimera_world_url
        case "local":
            return f"{env.chimera_local_url}/twitter/_effects"
    return ""
