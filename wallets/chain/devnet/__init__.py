"""The embedded EVM chain of the sandbox: py-evm behind JSON-RPC on 127.0.0.1, without Django.

Run it with `python -m wallets.chain.devnet --port 8003 --data-dir var`. Its coins have no value.

evm       blocks, state and look-ups in memory
pool      transactions that wait for their block
journal   the file from which a restart rebuilds the same chain
node      one chain with pool and journal: accept, mine, fund, faults
rpc       the JSON-RPC methods
wire      values as JSON-RPC writes them
server    HTTP
"""
