"""What the world remembers: accounts, posts and agents in SQLite, media as files.

Every write is committed with synchronous=FULL before the caller is answered, so a killed
process has either done a thing completely or not at all.
"""

import json
import os
import sqlite3
import tempfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

from chimera.core.ids import new_id

_SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    account_id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    handle TEXT NOT NULL,
    access_token TEXT NOT NULL UNIQUE,
    UNIQUE (platform, handle)
);
CREATE TABLE IF NOT EXISTS posts (
    post_id TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts,
    client_reference TEXT NOT NULL,
    text TEXT NOT NULL,
    media TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (account_id, client_reference)
);
CREATE TABLE IF NOT EXISTS agents (
    agent_id TEXT PRIMARY KEY,
    directory_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    signature TEXT NOT NULL,
    registered_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
);
"""
_POSTS = "SELECT posts.*, platform, handle FROM posts JOIN accounts USING (account_id)"

Row = dict[str, Any]


class DuplicatePost(Exception):
    """The account has already posted with this client_reference."""


def timestamp() -> str:
    """The current time as stored and served: ISO 8601, UTC, fixed width, so it sorts as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Store:
    """The world's data under one directory: sandbox.sqlite3 and sandbox-media/."""

    def __init__(self, data_dir: Path) -> None:
        self.media_dir = data_dir / "sandbox-media"
        self.media_dir.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(data_dir / "sandbox.sqlite3", isolation_level=None)
        self._db.row_factory = sqlite3.Row
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._db.close()

    # accounts

    def account_open(self, platform: str, handle: str) -> Row:
        """The account of that handle, created on first sight."""
        self._db.execute(
            "INSERT OR IGNORE INTO accounts VALUES (?, ?, ?, ?)",
            (str(new_id()), platform, handle, token_urlsafe(24)),
        )
        found = self._one("SELECT * FROM accounts WHERE platform=? AND handle=?", platform, handle)
        assert found is not None
        return found

    def account_by_token(self, token: str) -> Row | None:
        return self._one("SELECT * FROM accounts WHERE access_token=?", token)

    # posts

    def post_add(self, account: Row, *, text: str, media: list[Row], reference: str) -> Row:
        """Store a post; DuplicatePost when the account has used the reference before."""
        post_id = str(new_id())
        values = (post_id, account["account_id"], reference, text, json.dumps(media), timestamp())
        try:
            self._db.execute("INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?)", values)
        except sqlite3.IntegrityError:
            raise DuplicatePost(reference) from None
        post = self.post(post_id)
        assert post is not None
        return post

    def post(self, post_id: str) -> Row | None:
        found = self._one(f"{_POSTS} WHERE post_id=?", post_id)
        return found and _with_media(found)

    def posts(
        self,
        *,
        account_id: str = "",
        platform: str = "",
        since: str = "",
        before: str = "",
        limit: int = -1,
    ) -> list[Row]:
        """Posts, newest first. before: a post_id, for the next page; limit -1: all."""
        rows = self._db.execute(
            f"{_POSTS} WHERE (:account='' OR account_id=:account) AND (:platform='' OR"
            " platform=:platform) AND created_at>=:since AND (:before='' OR post_id<:before)"
            " ORDER BY post_id DESC LIMIT :limit",
            {
                "account": account_id,
                "platform": platform,
                "since": since,
                "before": before,
                "limit": limit,
            },
        )
        return [_with_media(dict(row)) for row in rows]

    # directory

    def agent_put(self, agent_id: str, profile: Row, signature: Any) -> Row:
        """Register an agent, or replace what it registered before."""
        now = timestamp()
        self._db.execute(
            "INSERT INTO agents VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent_id) DO UPDATE SET"
            " profile=excluded.profile, signature=excluded.signature,"
            " updated_at=excluded.updated_at",
            (agent_id, str(new_id()), json.dumps(profile), json.dumps(signature), now, now),
        )
        found = self.agent(agent_id)
        assert found is not None
        return found

    def agent(self, agent_id: str) -> Row | None:
        found = self._one("SELECT * FROM agents WHERE agent_id=?", agent_id)
        return found and _with_profile(found)

    def agents(self) -> list[Row]:
        rows = self._db.execute("SELECT * FROM agents ORDER BY registered_at")
        return [_with_profile(dict(row)) for row in rows]

    # media

    def media_put(self, data: bytes, extension: str) -> Path:
        """Write the bytes under their SHA-256, all or nothing."""
        path = self.media_dir / f"{sha256(data).hexdigest()}.{extension}"
        if not path.exists():
            with tempfile.NamedTemporaryFile(dir=self.media_dir, delete=False) as draft:
                draft.write(data)
                draft.flush()
                os.fsync(draft.fileno())
            Path(draft.name).replace(path)
        return path

    def media_file(self, digest: str) -> Path | None:
        """The stored file with this SHA-256, whatever its type."""
        return next(self.media_dir.glob(f"{digest}.*"), None) if digest.isalnum() else None

    def _one(self, sql: str, *values: str) -> Row | None:
        row = self._db.execute(sql, values).fetchone()
        return dict(row) if row else None


def _with_media(row: Row) -> Row:
    return row | {"media": json.loads(row["media"])}


def _with_profile(row: Row) -> Row:
    return row | {
        "profile": json.loads(row["profile"]),
        "signature": json.loads(row["signature"]),
    }
