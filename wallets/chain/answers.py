"""web3's answers as our types, and web3's failures as our errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from chimera.core import tracing
from chimera.core.errors import ChimeraError
from wallets.chain.records import Log, NativeTransfer, Receipt, TransferLog
from wallets.chain.signer import checksum

TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
BUSY = {429, 500, 502, 503, 504}


class Refused(Exception):
    """The node understood the call and said no, in its words; `data` is a revert's."""

    def __init__(self, message: str, data: Any = None) -> None:
        self.message = message
        self.data = data
        super().__init__(message)


@contextmanager
def translated(method: str) -> Iterator[None]:
    """Lets no exception of web3 or its HTTP client out.

    No answer: NETWORK_ERROR. An answer that is not JSON-RPC: WALLET_ERROR. A refusal: `Refused`.
    """
    # Imported here: web3 takes more than a second, and a process without chain work never pays it.
    from requests.exceptions import HTTPError, JSONDecodeError, RequestException
    from web3.exceptions import ContractLogicError, Web3Exception, Web3RPCError

    try:
        with tracing.span(method, "client", rpc__system="jsonrpc", rpc__method=method):
            yield
    except HTTPError as error:
        raise _http_failure(method, error) from error
    except JSONDecodeError as error:
        raise ChimeraError("WALLET_ERROR", f"{method}: the answer is not JSON") from error
    except RequestException as error:
        text = f"{method}: no answer from the chain's node ({type(error).__name__})"
        raise ChimeraError("NETWORK_ERROR", text) from error
    except ContractLogicError as error:
        raise Refused(str(error.message), error.data) from error
    except Web3RPCError as error:
        raise Refused(_message(error)) from error
    except (Web3Exception, ValueError, KeyError, TypeError) as error:
        raise ChimeraError("WALLET_ERROR", f"{method}: not a usable answer: {error}") from error


def _http_failure(method: str, error: Any) -> ChimeraError:
    status = error.response.status_code
    code = "NETWORK_ERROR" if status in BUSY else "WALLET_ERROR"
    return ChimeraError(code, f"{method}: HTTP {status} from the chain's node")


def _message(error: Any) -> str:
    response = error.rpc_response or {}
    content = response.get("error", {})
    return str(content.get("message", error) if isinstance(content, Mapping) else content)


def hex_text(value: bytes) -> str:
    return "0x" + bytes(value).hex()


def receipt_of(answer: Mapping[str, Any]) -> Receipt:
    return Receipt(
        tx_hash=hex_text(answer["transactionHash"]),
        status=answer["status"] == 1,
        block_number=int(answer["blockNumber"]),
        block_hash=hex_text(answer["blockHash"]),
        gas_used=int(answer["gasUsed"]),
        effective_gas_price=int(answer["effectiveGasPrice"]),
        logs=tuple(_log_of(log) for log in answer["logs"]),
    )


def _log_of(answer: Mapping[str, Any]) -> Log:
    return Log(
        address=checksum(answer["address"]),
        topics=tuple(hex_text(topic) for topic in answer["topics"]),
        data=hex_text(answer["data"]),
        log_index=int(answer["logIndex"]),
    )


def transfer_of(answer: Mapping[str, Any]) -> TransferLog:
    """An ERC-20 Transfer from an eth_getLogs row."""
    sender, recipient, value = transfer_fields(_log_of(answer))
    return TransferLog(
        tx_hash=hex_text(answer["transactionHash"]),
        log_index=int(answer["logIndex"]),
        block_number=int(answer["blockNumber"]),
        block_hash=hex_text(answer["blockHash"]),
        sender=sender,
        recipient=recipient,
        value=value,
    )


def is_transfer(log: Log, token: str) -> bool:
    """Whether this is a Transfer event of exactly this token contract."""
    return log.address == token and len(log.topics) == 3 and log.topics[0] == TRANSFER_TOPIC


def transfer_fields(log: Log) -> tuple[str, str, int]:
    """Sender, recipient and value of a Transfer event."""
    sender, recipient = (checksum("0x" + topic[-40:]) for topic in log.topics[1:])
    return sender, recipient, int(log.data, 16)


def native_of(block: Mapping[str, Any], transaction: Mapping[str, Any]) -> NativeTransfer:
    return NativeTransfer(
        tx_hash=hex_text(transaction["hash"]),
        block_number=int(block["number"]),
        block_hash=hex_text(block["hash"]),
        sender=checksum(transaction["from"]),
        recipient=checksum(transaction["to"]),
        value=int(transaction["value"]),
    )
