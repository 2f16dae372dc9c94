"""No change behind the audit log's back goes unseen: neither in the chain nor against a checkpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

from chimera.core import audit
from chimera.core.clock import now
from chimera.core.digest import digest
from chimera.core.models import AuditEntry, AuditHead
from tests.helpers.audit_log import rewrite, verified, write
from tests.helpers.tampering import ENTRIES, behind_the_back

pytestmark = [pytest.mark.django_db]


def forge(sequence: int, *, after: AuditEntry) -> None:
    """An entry that nobody made, with a hash that fits."""
    forged = AuditEntry(
        sequence=sequence,
        at=now(),
        actor="agent:somebody",
        action="approval.approved",
        object_type="approval",
        object_id="1",
        data={},
        previous_hash=after.entry_hash,
    )
    forged.entry_hash = audit.entry_digest(forged)
    forged.save(force_insert=True)


# --- tampering --------------------------------------------------------------------------------


@pytest.mark.req("C3")
@pytest.mark.parametrize(
    "change",
    [
        "actor = 'agent:somebody'",
        "action = 'thing.unchanged'",
        "object_type = 'other'",
        "object_id = '9'",
        "data = '{}'",
        """data = '{"number": 4.5}'""",
        "at = '2026-01-01 00:00:00+00:00'",
        "entry_hash = 'f'",
        "previous_hash = 'f'",
    ],
)
def test_a_changed_entry_is_named(change: str, log: list[AuditEntry]) -> None:
    with behind_the_back() as cursor:
        cursor.execute(f"UPDATE {ENTRIES} SET {change} WHERE sequence = 4")
    status, complaints = verified()
    assert status == 1
    assert "entry 4 " in complaints


@pytest.mark.req("C3")
def test_a_changed_entry_whose_hash_was_made_to_fit_is_named_by_its_follower(
    log: list[AuditEntry],
) -> None:
    forged = AuditEntry.objects.get(sequence=4)
    forged.actor = "agent:somebody"
    with behind_the_back() as cursor:
        cursor.execute(
            f"UPDATE {ENTRIES} SET actor = %s, entry_hash = %s WHERE sequence = 4",
            [forged.actor, audit.entry_digest(forged)],
        )
    status, complaints = verified()
    assert status == 1
    assert "entry 5 does not follow entry 4" in complaints


@pytest.mark.req("C3")
@pytest.mark.parametrize(
    ("gone", "named"),
    [
        ("sequence = 4", "entry 4 is missing"),
        ("sequence = 1", "entry 1 is missing"),
        ("sequence IN (3, 4, 5)", "entry 3 is missing (entry 6 follows 2)"),
        ("sequence = 7", "entries 7 to 7 were removed from the end"),
        ("sequence > 2", "entries 3 to 7 were removed from the end"),
        ("sequence > 0", "entries 1 to 7 were removed from the end"),
    ],
)
def test_removed_entries_are_named(gone: str, named: str, log: list[AuditEntry]) -> None:
    with behind_the_back() as cursor:
        cursor.execute(f"DELETE FROM {ENTRIES} WHERE {gone}")
    status, complaints = verified()
    assert status == 1
    assert named in complaints


@pytest.mark.req("C3")
def test_a_removed_tail_with_the_head_set_back_is_a_forged_head(log: list[AuditEntry]) -> None:
    head = AuditHead.objects.get()
    fifth = AuditEntry.objects.get(sequence=5)
    with behind_the_back() as cursor:
        cursor.execute(f"DELETE FROM {ENTRIES} WHERE sequence > 5")
    for seal in (head.seal, "", "0" * len(head.seal)):
        AuditHead.objects.update(sequence=5, entry_hash=fifth.entry_hash, seal=seal)
        status, complaints = verified()
        assert (status, "forged" in complaints) == (1, True), seal
        assert "entry 5" in complaints


@pytest.mark.req("C3")
def test_an_inserted_entry_is_named(log: list[AuditEntry]) -> None:
    """Everything after it was moved up by one, as a careful forger would."""
    fourth = AuditEntry.objects.get(sequence=4)
    with behind_the_back() as cursor:
        for sequence in (7, 6, 5):
            cursor.execute(
                f"UPDATE {ENTRIES} SET sequence = %s WHERE sequence = %s", [sequence + 1, sequence]
            )
    forge(5, after=fourth)
    status, complaints = verified()
    assert status == 1
    assert "entry 6 does not follow entry 5: inserted or replaced" in complaints


@pytest.mark.req("C3")
@pytest.mark.parametrize("sequence", [8, 12, 0, -1])
def test_an_entry_added_past_the_head_is_named(sequence: int, log: list[AuditEntry]) -> None:
    last = AuditEntry.objects.get(sequence=7)
    forge(sequence, after=last)
    status, complaints = verified()
    assert status == 1
    assert f"entry {sequence}" in complaints


@pytest.mark.req("C3")
def test_reordered_entries_are_named(log: list[AuditEntry]) -> None:
    with behind_the_back() as cursor:
        for old, new in ((3, 99), (4, 3), (99, 4)):
            cursor.execute(f"UPDATE {ENTRIES} SET sequence = %s WHERE sequence = %s", [new, old])
    status, complaints = verified()
    assert status == 1
    assert "entry 3 " in complaints and "entry 4 " in complaints


@pytest.mark.req("C3")
@pytest.mark.parametrize("seal", ["kept", "emptied", "guessed"])
def test_a_chain_replaced_as_a_whole_is_found_by_the_seal_of_its_head(
    seal: str, log: list[AuditEntry]
) -> None:
    kept = AuditHead.objects.get().seal
    others = list(AuditEntry.objects.order_by("sequence"))[:6]
    others[2].actor = "agent:somebody"
    with behind_the_back() as cursor:
        cursor.execute(f"DELETE FROM {ENTRIES}")
    rewrite(others)
    AuditHead.objects.update(
        sequence=6,
        entry_hash=others[-1].entry_hash,
        seal={"kept": kept, "emptied": "", "guessed": kept[::-1]}[seal],
    )
    status, complaints = verified()
    assert status == 1
    assert "the head of the log at entry 6 was forged" in complaints


@pytest.mark.req("C3")
def test_a_removed_head_is_noticed(log: list[AuditEntry]) -> None:
    AuditHead.objects.all().delete()
    status, complaints = verified()
    assert status == 1
    assert "entry 7" in complaints


# --- checkpoints kept elsewhere ---------------------------------------------------------------


@pytest.fixture
def checkpoint(log: list[AuditEntry], tmp_path: Path) -> Path:
    """A checkpoint at entry 7; the log has grown since."""
    path = tmp_path / "checkpoint.json"
    assert verified("--checkpoint", str(path)) == (0, "")
    assert json.loads(path.read_text())["sequence"] == 7
    write(8)
    return path


@pytest.mark.req("C3")
def test_a_log_that_has_grown_fits_its_checkpoint_and_moves_it_on(checkpoint: Path) -> None:
    assert verified("--checkpoint", str(checkpoint)) == (0, "")
    assert json.loads(checkpoint.read_text())["sequence"] == 8


@pytest.mark.req("C3")
def test_a_log_rewritten_with_the_key_differs_from_the_checkpoint(checkpoint: Path) -> None:
    """Whoever has the database and the key can forge everything but what is kept elsewhere."""
    kept = checkpoint.read_text()
    with behind_the_back() as cursor:
        cursor.execute(f"DELETE FROM {ENTRIES}")
    AuditHead.objects.all().delete()
    for number in range(1, 10):
        write(number, forged=True)
    assert verified() == (0, "")
    status, complaints = verified("--checkpoint", str(checkpoint))
    assert status == 1
    assert "entry 7 differs from the checkpoint" in complaints
    assert checkpoint.read_text() == kept


@pytest.mark.req("C3")
def test_a_log_emptied_or_restored_from_before_the_checkpoint_is_named(checkpoint: Path) -> None:
    with behind_the_back() as cursor:
        cursor.execute(f"DELETE FROM {ENTRIES}")
    AuditHead.objects.all().delete()
    for number in range(1, 4):
        write(number)
    assert verified() == (0, "")
    status, complaints = verified("--checkpoint", str(checkpoint))
    assert status == 1
    assert "entry 7 of the checkpoint is missing" in complaints


@pytest.mark.req("C3")
@pytest.mark.parametrize(
    "change",
    [
        {"sequence": 6},
        {"entry_hash": "0" * 64},
        {"at": "2026-01-01T00:00:00Z"},
        {"signature": ""},
        {"signature": None},
        {"more": 1},
    ],
    ids=repr,
)
def test_a_checkpoint_of_somebody_else_is_refused(change: dict[str, Any], checkpoint: Path) -> None:
    checkpoint.write_text(json.dumps(json.loads(checkpoint.read_text()) | change))
    status, complaints = verified("--checkpoint", str(checkpoint))
    assert status == 1
    assert "not signed by this deployment" in complaints


@pytest.mark.req("C3")
@pytest.mark.parametrize("text", ["[]", "{}", "7", "null", '"seven"'])
def test_a_file_that_is_no_checkpoint_is_refused(text: str, checkpoint: Path) -> None:
    checkpoint.write_text(text)
    status, complaints = verified("--checkpoint", str(checkpoint))
    assert status == 1
    assert "not signed by this deployment" in complaints


@pytest.mark.req("C3")
def test_an_export_holds_every_entry_and_can_be_checked_without_the_database(
    log: list[AuditEntry], tmp_path: Path
) -> None:
    path = tmp_path / "log.jsonl"
    assert verified("--export", str(path)) == (0, "")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    previous = "0" * 64
    for number, line in enumerate(lines, start=1):
        body = {name: value for name, value in line.items() if name != "entry_hash"}
        assert (line["sequence"], line["previous_hash"]) == (number, previous)
        assert digest(body) == line["entry_hash"]
        previous = line["entry_hash"]
    assert len(lines) == 7
