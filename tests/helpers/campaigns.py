"""Campaigns of the tests: the demo's own client from a trend to a post and a payment, and a killer."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import httpx

from chimera.demo import run as demo
from chimera.demo.campaign import Campaign
from chimera.demo.client import Unreachable
from chimera.demo.journey import Journey, Settled
from chimera.demo.reviewer import DeskRefused
from tests.helpers.books import Books, books_of, intent_of, rpc
from tests.helpers.stack import Stack

JOURNEY_SECONDS = 240


@dataclass
class Told:
    """What a journey said, step by step; others may wait for a step."""

    lines: list[tuple[str, str]] = field(default_factory=list)

    def __call__(self, step: str, text: str) -> None:
        self.lines.append((step, text))

    def has(self, step: str) -> bool:
        return any(name == step for name, _ in self.lines)

    def __str__(self) -> str:
        return "\n".join(f"{step:<21}{text}" for step, text in self.lines)


def new_campaign(stack: Stack) -> Campaign:
    """A campaign with a file of its own, so that nothing is shared with an earlier one."""
    folder = stack.data_dir / "campaigns"
    folder.mkdir(exist_ok=True)
    return Campaign(path=folder / f"{uuid4()}.json")


def journey_of(stack: Stack, told: Told) -> Journey:
    """A new campaign in the hands of the demo's agents."""
    place, notice = stack.place, lambda text: told("waiting", text)
    agents = place.agent("orchestrator", notice), place.agent("cfo_judge", notice)
    return Journey(new_campaign(stack), *agents, told)


def run_to_end(stack: Stack, told: Told, campaign: Campaign | None = None) -> Settled:
    """Run a campaign as `make demo APPROVE=1` does, taken up again whenever the web was away."""
    campaign = campaign or new_campaign(stack)
    deadline = time.monotonic() + JOURNEY_SECONDS
    while True:
        try:
            settled = demo.run(stack.place, campaign, told, approve=True)
            break
        except (Unreachable, DeskRefused, httpx.TransportError) as problem:
            told("taken up again", f"{type(problem).__name__}: {problem}")
            assert time.monotonic() < deadline, f"the journey did not end:\n{told}"
            stack.assert_not_ended()
            time.sleep(0.5)
    assert settled, f"the campaign came to nothing: {campaign.outcome}\n{told}"
    return settled


def assert_one_post_and_one_debit(stack: Stack, before: Books, settled: Settled) -> None:
    """Platform, chain and ledger show exactly what this campaign was approved for, once."""
    added = books_of(stack).since(before)
    assert added.posts == (intent_of(stack, settled.post_url),)
    assert added.transfers == (settled.tx_id,)
    assert added.debits == (settled.tx_id,)
    assert float(added.held) == 0
    assert rpc(stack, "eth_getTransactionReceipt", settled.tx_id)["status"] == "0x1"


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Run `act` beside the body; its error fails the test."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  raised again below, in the test's own thread
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join(JOURNEY_SECONDS)
    if errors:
        raise errors[0]


def wait_for(told: Told, step: str) -> None:
    """Until the journey has said so."""
    deadline = time.monotonic() + JOURNEY_SECONDS
    while not told.has(step):
        assert time.monotonic() < deadline, f"{step} never came:\n{told}"
        time.sleep(0.02)
