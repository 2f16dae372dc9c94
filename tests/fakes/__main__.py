"""Start the local platform servers: `python -m tests.fakes PORT` (9200 by default; 0 takes a free one).

One process on loopback serves every provider under its name; `GET /` lists the base URLs. To post
there, connect an account of mode `local` whose base URL is `http://127.0.0.1:PORT/<provider>` and
whose credentials come from `POST /<provider>/_accounts {"handle": ...}`, and set CHIMERA_PLATFORM=local.
Nothing is kept when it ends. Faults and effects: `tests.fakes.base` and `tests.fakes.faults`.
"""

import sys

import uvicorn

from tests.fakes.server import HOST, build, config_of, listen, make, providers


def main(arguments: list[str]) -> None:
    listener = listen(int(arguments[0]) if arguments else 9200)
    fakes = [make(name) for name in providers()]
    sys.stdout.write(f"local platforms: http://{HOST}:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    uvicorn.Server(config_of(build(fakes))).run(sockets=[listener])


if __name__ == "__main__":
    main(sys.argv[1:])
