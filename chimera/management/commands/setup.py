"""Everything a sandbox needs before its first call. Safe to run again."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from approvals.keys import key_ensure
from chimera.provisioning import demo_agents_ensure, people_ensure


class Command(BaseCommand):
    help = "Make the approval key; in the sandbox also demo people, agents, wallets. Idempotent."

    def handle(self, *args: Any, **options: Any) -> None:
        env = settings.CHIMERA
        key = key_ensure(actor="system:setup")
        self.stdout.write(f"approval key {key.kid}")
        if env.is_sandbox:
            people_ensure(env.data_dir)
            demo_agents_ensure(env.data_dir)
            self.stdout.write(f"demo people and agents are in {env.data_dir}")
