"""What the scheduler calls: plain functions, safe to run in several processes at once."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from chimera.core.errors import ChimeraError
from wallets.debits import debits_settle
from wallets.deposits import deposits_scan
from wallets.models import ChainCursor, Debit

log = logging.getLogger("chimera.wallets")


def settle_and_scan() -> list[Debit]:
    """Settle open debits and look for deposits on every network; the debits that came to an end.

    No part stops another: one that fails is logged, and tried again at the next call.
    """
    finished: list[Debit] = []
    with _on_its_own("the settling of debits"):
        finished = debits_settle()
    for network in ChainCursor.objects.order_by("network").values_list("network", flat=True):
        with _on_its_own(f"the deposit scan on {network}"):
            deposits_scan(network)
    return finished


@contextmanager
def _on_its_own(part: str) -> Iterator[None]:
    try:
        yield
    except (ChimeraError, OSError) as problem:  # OSError: what no translation of the network caught
        log.warning("%s was broken off: %s", part, problem)
    except Exception:
        log.exception("%s failed", part)
