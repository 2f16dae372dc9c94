"""One embedded chain for the session, a gateway to it, and people with money on it."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.helpers.devnet import Devnet, start_devnet
from wallets.chain.gateway import Gateway
from wallets.chain.signer import (
    LocalSigner,
    SignedTransaction,
    Signer,
    new_key,
    transfer_transaction,
)

COIN = 10**18


@dataclass
class Payer:
    """A key with money, and the shortest way to sign its next transfer."""

    signer: Signer
    gateway: Gateway
    nonce: int = 0

    @property
    def address(self) -> str:
        return self.signer.address

    def sign(self, recipient: str, units: int, currency: str = "USDC") -> SignedTransaction:
        unsigned = transfer_transaction(
            chain_id=self.gateway.chain_id,
            nonce=self.nonce,
            sender=self.address,
            recipient=recipient,
            units=units,
            currency=currency,
            usdc=self.gateway.usdc,
            gas=100_000,
            fees=self.gateway.fees(),
        )
        self.nonce += 1
        return self.signer.sign(unsigned)


@pytest.fixture(scope="session")
def devnet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devnet]:
    with start_devnet(tmp_path_factory.mktemp("devnet")) as running:
        yield running


@pytest.fixture
def gateway(devnet: Devnet) -> Gateway:
    return gateway_of(devnet)


@pytest.fixture
def payer(devnet: Devnet, gateway: Gateway) -> Iterator[Payer]:
    """A new key with 100 USDC and 1 coin; faults that a test left on are switched off."""
    yield new_payer(devnet, gateway)
    devnet.rpc("chimera_resume")


@pytest.fixture
def stranger() -> str:
    """The address of a new key without money."""
    return LocalSigner(new_key(), 31337).address


def gateway_of(devnet: Devnet) -> Gateway:
    return Gateway(devnet.rpc_url, devnet.chain_id, devnet.usdc)


def new_payer(devnet: Devnet, gateway: Gateway) -> Payer:
    payer = Payer(LocalSigner(new_key(), devnet.chain_id), gateway)
    devnet.fund(payer.address, units=100_000_000, wei=COIN)
    return payer
