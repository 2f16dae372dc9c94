# pragma version 0.4.3
# pragma evm-version prague
"""
@title USD Coin for the embedded development chain
@notice ERC-20 with 6 decimals, EIP-712 domain "USDC" version "2", and the EIP-3009
        transferWithAuthorization; the owner mints. It behaves like the real token where the
        platform touches it and has no value anywhere.
"""

from ethereum.ercs import IERC20
from ethereum.ercs import IERC20Detailed

implements: IERC20
implements: IERC20Detailed

event AuthorizationUsed:
    authorizer: indexed(address)
    nonce: indexed(bytes32)

NAME: constant(String[8]) = "USD Coin"
DOMAIN_NAME: constant(String[4]) = "USDC"
VERSION: constant(String[1]) = "2"
DOMAIN_TYPEHASH: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
TRANSFER_TYPEHASH: constant(bytes32) = keccak256(
    "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
# The upper half of the curve's order: a signature above it is the malleable twin of another.
MAX_S: constant(bytes32) = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0

owner: public(immutable(address))
totalSupply: public(uint256)
balanceOf: public(HashMap[address, uint256])
allowance: public(HashMap[address, HashMap[address, uint256]])
authorizationState: public(HashMap[address, HashMap[bytes32, bool]])


@deploy
def __init__():
    owner = msg.sender


@view
@external
def name() -> String[8]:
    return NAME


@view
@external
def symbol() -> String[4]:
    return "USDC"


@view
@external
def decimals() -> uint8:
    return 6


@view
@external
def version() -> String[1]:
    return VERSION


@view
@internal
def _domain_separator() -> bytes32:
    return keccak256(
        abi_encode(DOMAIN_TYPEHASH, keccak256(DOMAIN_NAME), keccak256(VERSION), chain.id, self)
    )


@view
@external
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain_separator()


@internal
def _transfer(sender: address, to: address, amount: uint256):
    assert to != empty(address), "ERC20: transfer to the zero address"
    assert self.balanceOf[sender] >= amount, "ERC20: transfer amount exceeds balance"
    self.balanceOf[sender] -= amount
    self.balanceOf[to] += amount
    log IERC20.Transfer(sender=sender, receiver=to, value=amount)


@external
def transfer(to: address, amount: uint256) -> bool:
    self._transfer(msg.sender, to, amount)
    return True


@external
def approve(spender: address, amount: uint256) -> bool:
    self.allowance[msg.sender][spender] = amount
    log IERC20.Approval(owner=msg.sender, spender=spender, value=amount)
    return True


@external
def transferFrom(sender: address, to: address, amount: uint256) -> bool:
    allowed: uint256 = self.allowance[sender][msg.sender]
    assert allowed >= amount, "ERC20: transfer amount exceeds allowance"
    if allowed != max_value(uint256):
        self.allowance[sender][msg.sender] = allowed - amount
    self._transfer(sender, to, amount)
    return True


@external
def mint(to: address, amount: uint256) -> bool:
    assert msg.sender == owner, "FiatToken: caller is not the owner"
    assert to != empty(address), "FiatToken: mint to the zero address"
    self.totalSupply += amount
    self.balanceOf[to] += amount
    log IERC20.Transfer(sender=empty(address), receiver=to, value=amount)
    return True


@external
def transferWithAuthorization(
    sender: address,
    to: address,
    amount: uint256,
    valid_after: uint256,
    valid_before: uint256,
    nonce: bytes32,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    assert block.timestamp > valid_after, "FiatTokenV2: authorization is not yet valid"
    assert block.timestamp < valid_before, "FiatTokenV2: authorization is expired"
    assert not self.authorizationState[sender][nonce], "FiatTokenV2: authorization is used"
    assert convert(s, uint256) <= convert(MAX_S, uint256), "ECRecover: invalid signature 's' value"
    struct_hash: bytes32 = keccak256(
        abi_encode(TRANSFER_TYPEHASH, sender, to, amount, valid_after, valid_before, nonce)
    )
    digest: bytes32 = keccak256(concat(x"1901", self._domain_separator(), struct_hash))
    signer: address = ecrecover(digest, v, r, s)
    assert signer != empty(address) and signer == sender, "FiatTokenV2: invalid signature"
    self.authorizationState[sender][nonce] = True
    log AuthorizationUsed(authorizer=sender, nonce=nonce)
    self._transfer(sender, to, amount)
