"""An agent directory in the manner of OpenClaw: profiles that their agents have signed.

PUT /directory/agents/<agent_id> takes `{profile, signature}`. The signature is a compact JWS (EdDSA)
over the RFC 8785 JSON of `{profile, sequence}`, its header names the key: `kid` (RFC 7638
thumbprint) and `jwk`. The first key of an agent is the one its later statements must be signed
with, and each must have a higher sequence than the one before; the same one again changes nothing.

| status | when |
|---|---|
| 200 | the entry |
| 401 | the signature does not fit the key, the profile or the agent |
| 403 | signed with another key than the agent's first |
| 409 | an older sequence, or another statement under the same one |
| 422 | the body, the JWS or the sequence is not well-formed |
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import jwt
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from chimera.core.digest import canonical
from chimera.core.jsontext import refuse_deep
from chimera.core.jwk import thumbprint
from chimera.sandbox.faults import Faults
from chimera.sandbox.replies import Refused, read_object
from chimera.sandbox.store import Row, Store

ALGORITHM = "EdDSA"


@dataclass(frozen=True)
class Statement:
    """What a valid signature says, and the thumbprint of the key that says it."""

    kid: str
    sequence: int
    profile: Row


class Directory:
    """The API under /directory/agents. base_url: of the world, without a final slash."""

    def __init__(self, store: Store, base_url: str) -> None:
        self._store = store
        self._base_url = base_url

    def routes(self, faults: Faults) -> list[Route]:
        def route(path: str, endpoint: Any, method: str) -> Route:
            return Route(path, faults.around("directory", endpoint), methods=[method])

        one = "/directory/agents/{agent_id}"
        return [
            route("/directory/agents", self.listing, "GET"),
            route(one, self.register, "PUT"),
            route(one, self.read, "GET"),
        ]

    async def register(self, request: Request) -> Response:
        body = await read_object(request)
        agent_id, signature = _agent_id(request), body.get("signature")
        statement = _verified(signature)
        if statement.profile != body.get("profile"):
            raise Refused(401, "the signature is of another profile")
        if statement.profile.get("agent_id") != agent_id:
            raise Refused(401, "the profile is of another agent")
        standing = self._store.agent(agent_id)
        if standing is None or _replaces(statement, signature, standing):
            standing = self._store.agent_put(agent_id, statement.profile, signature)
        return JSONResponse(self._entry(standing))

    async def read(self, request: Request) -> Response:
        agent = self._store.agent(_agent_id(request))
        if agent is None:
            raise Refused(404, "no such agent in the directory")
        return JSONResponse(self._full(agent))

    async def listing(self, request: Request) -> Response:
        return JSONResponse({"results": [self._full(agent) for agent in self._store.agents()]})

    def _entry(self, agent: Row) -> Row:
        return {
            "directory_id": agent["directory_id"],
            "profile_url": f"{self._base_url}/agents/{agent['agent_id']}",
            "registered_at": agent["registered_at"],
        }

    def _full(self, agent: Row) -> Row:
        shown = ("agent_id", "profile", "signature", "updated_at")
        sequence = _verified(agent["signature"]).sequence
        return self._entry(agent) | {name: agent[name] for name in shown} | {"sequence": sequence}


def _agent_id(request: Request) -> str:
    try:
        return str(UUID(request.path_params["agent_id"]))
    except ValueError:
        raise Refused(400, "agent_id must be a UUID") from None


def _replaces(new: Statement, signature: Any, standing: Row) -> bool:
    """Whether the statement takes the place of the standing one; False where it is the same."""
    if signature == standing["signature"]:
        return False
    old = _verified(standing["signature"])
    if new.kid != old.kid:
        raise Refused(403, "the agent has registered with another key")
    if new.sequence <= old.sequence:
        raise Refused(409, f"sequence {old.sequence} is registered; {new.sequence} is not newer")
    return True


def _verified(signature: Any) -> Statement:
    """The statement of a compact JWS whose own key it fits."""
    if not isinstance(signature, str):
        raise Refused(422, "signature must be a compact JWS")
    try:
        jwk = jwt.get_unverified_header(signature)["jwk"]
        kid = _kid(jwk)
        key = jwt.PyJWK(jwk, algorithm=ALGORITHM)
        token = jwt.PyJWS().decode_complete(signature, key, algorithms=[ALGORITHM])
    except jwt.InvalidSignatureError:
        raise Refused(401, "the signature does not fit the key in its header") from None
    except (jwt.PyJWTError, KeyError, TypeError, ValueError):
        raise Refused(422, "signature must be an EdDSA JWS with an OKP jwk in its header") from None
    if token["header"].get("kid") != kid:
        raise Refused(422, "kid must be the RFC 7638 thumbprint of the jwk")
    return _statement(kid, token["payload"])


def _kid(jwk: Row) -> str:
    if (jwk["kty"], jwk["crv"]) != ("OKP", "Ed25519") or "d" in jwk:
        raise ValueError("not a public Ed25519 key")
    return thumbprint(jwk)


def _statement(kid: str, payload: bytes) -> Statement:
    try:
        refuse_deep(payload.decode())
        said = json.loads(payload)
        profile, sequence = said["profile"], said["sequence"]
        in_form = canonical(said) == payload and set(said) == {"profile", "sequence"}
    except (ValueError, KeyError, TypeError):
        raise Refused(422, "the signed text must be the JSON of profile and sequence") from None
    if not in_form:
        raise Refused(422, "sign the RFC 8785 form of {profile, sequence}, nothing else")
    if not isinstance(profile, dict) or not profile:
        raise Refused(422, "profile must be a JSON object that is not empty")
    if not isinstance(sequence, int) or isinstance(sequence, bool) or sequence < 1:
        raise Refused(422, "sequence must be a whole number from 1")
    return Statement(kid, sequence, profile)
