"""Do the books agree with the chain, and with themselves?"""

from collections.abc import Iterator
from dataclasses import dataclass

from chimera.core.money import from_units
from wallets.debits import debits_settle
from wallets.deposits import deposits_scan
from wallets.models import Entry, LedgerAccount, Wallet
from wallets.networks import gateway_for

READINGS = 3


@dataclass(frozen=True)
class Drift:
    """Units the books have and units they should have, of one account.

    against: `chain` (the settled balance of the address) or `entries` (the sum of the legs).
    """

    account: str
    network: str
    currency: str
    against: str
    books: int
    truth: int

    def __str__(self) -> str:
        books, truth = from_units(self.books, self.currency), from_units(self.truth, self.currency)
        where = f"{self.account} on {self.network}"
        return f"{where}: books {books:f} {self.currency}, {self.against} {truth:f}"


def reconcile(network: str) -> list[Drift]:
    """Every account of the network that drifts. NETWORK_ERROR when the chain cannot be read.

    The books are brought up to date first. What moves while both are read looks like a drift: only
    one that a second and a third reading find again is reported.
    """
    drifts: list[Drift] = []
    for _ in range(READINGS):
        debits_settle()
        deposits_scan(network)
        drifts = [*_against_chain(network), *_against_entries(network)]
        if not drifts:
            break
    return drifts


def _against_chain(network: str) -> Iterator[Drift]:
    gateway = gateway_for(network)
    for wallet in Wallet.objects.filter(network=network).order_by("id"):
        for account in LedgerAccount.objects.filter(wallet=wallet).order_by("-currency"):
            settled = gateway.balance(wallet.address, account.currency)
            # What is on hold may have left the chain already: its receipt is not settled yet.
            if not account.posted - account.held <= settled <= account.posted:
                yield Drift(
                    wallet.address, network, account.currency, "chain", account.posted, settled
                )


def _against_entries(network: str) -> Iterator[Drift]:
    for account in LedgerAccount.objects.filter(network=network).select_related("wallet"):
        legs = Entry.objects.filter(account=account).only("side", "amount")
        total = sum(entry.signed for entry in legs.iterator(chunk_size=1000))
        if total != account.posted:
            name = account.wallet.address if account.wallet else account.kind
            yield Drift(name, network, account.currency, "entries", account.posted, total)
