"""What has really happened, asked where it happened: platform, chain, ledger."""

from dataclasses import dataclass
from typing import Any

from chimera.core import jsontext
from chimera.demo.client import AgentClient
from tests.helpers.http import HTTP
from tests.helpers.stack import Stack

TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
Json = dict[str, Any]


@dataclass(frozen=True)
class Books:
    """Effects of one stack: intents of the posts, and hashes of the payments on chain and in the ledger."""

    posts: tuple[str, ...]
    transfers: tuple[str, ...]
    debits: tuple[str, ...]
    held: str

    def since(self, before: "Books") -> "Books":
        """What was added; each list only ever grows."""
        assert set(before.posts) <= set(self.posts)
        assert set(before.transfers) <= set(self.transfers)
        return Books(
            _added(before.posts, self.posts),
            _added(before.transfers, self.transfers),
            _added(before.debits, self.debits),
            self.held,
        )


def _added(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """With repetitions: what appears twice and was there once has been added once."""
    left = list(before)
    added = []
    for item in after:
        if item in left:
            left.remove(item)
        else:
            added.append(item)
    return tuple(added)


def books_of(stack: Stack) -> Books:
    """Posts of every account, payments out of the paying agent's wallet."""
    payer = stack.place.agent("cfo_judge", lambda text: None)
    wallet = payer.who.wallet_address
    return Books(
        posts=tuple(post["intent_id"] for post in posts_of(stack)),
        transfers=tuple(log["transactionHash"] for log in _transfers(stack, wallet)),
        debits=tuple(row["tx_hash"] for row in _entries(payer, wallet) if row["kind"] == "debit"),
        held=str(payer._request("GET", f"/api/v1/wallets/{wallet}/")["held"]),
    )


def posts_of(stack: Stack) -> list[Json]:
    answer = HTTP.get(f"{stack.world_url}/posts.json", timeout=20)
    return list(answer.raise_for_status().json())


def intent_of(stack: Stack, post_url: str) -> str:
    """The intent behind the post that a campaign ended with."""
    post_id = post_url.rpartition("/")[2]
    return next(post["intent_id"] for post in posts_of(stack) if post["post_id"] == post_id)


def rpc(stack: Stack, method: str, *params: Any) -> Any:
    """A JSON-RPC call to the chain."""
    where = jsontext.loads((stack.data_dir / "devnet.json").read_bytes())["rpc_url"]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    answer = HTTP.post(where, json=body, timeout=20).raise_for_status().json()
    assert "error" not in answer, answer["error"]
    return answer["result"]


def _transfers(stack: Stack, wallet: str) -> list[Json]:
    """USDC that has left the wallet, from the logs of the chain."""
    usdc = jsontext.loads((stack.data_dir / "devnet.json").read_bytes())["usdc"]
    sender = "0x" + wallet.lower().removeprefix("0x").rjust(64, "0")
    criteria = {"fromBlock": "0x0", "toBlock": "latest", "address": usdc}
    return list(rpc(stack, "eth_getLogs", criteria | {"topics": [TRANSFER, sender]}))


def _entries(payer: AgentClient, wallet: str) -> list[Json]:
    path: str | None = f"/api/v1/wallets/{wallet}/entries/?limit=200"
    rows: list[Json] = []
    while path:
        page = payer._request("GET", path)
        rows += page["results"]
        path = page["next"]
    return rows
