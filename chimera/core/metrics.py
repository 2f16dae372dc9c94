"""Prometheus metrics of the skills, right across all processes that share a data directory.

Every process counts in a file of its own, named after its host, number and start, so that neither
two hosts on one volume nor a number given out again share one. /metrics adds them up. What gone
processes have left is folded into one file per host, else each restart would leave more to read.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from uuid import uuid4

from django.conf import settings

from chimera.core.processes import host, is_gone, started

FOLDER = Path(settings.DATA_DIR) / "metrics"
FOLDER.mkdir(parents=True, exist_ok=True)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(FOLDER)

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, values  # noqa: E402  reads the variable at import
from prometheus_client.core import GaugeMetricFamily, Metric  # noqa: E402
from prometheus_client.mmap_dict import MmapedDict  # noqa: E402
from prometheus_client.multiprocess import MultiProcessCollector  # noqa: E402

_BUCKETS = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000)
_HOST = host().replace("_", "-")
FOLD_FROM = 8
"""Files of gone processes that are worth the folding."""


@lru_cache(maxsize=4)
def _identity(pid: int) -> str:
    return f"{_HOST}~{pid}~{started(pid)}"


values.ValueClass = values.MultiProcessValue(lambda: _identity(os.getpid()))  # type: ignore[no-untyped-call]  # untyped there


@lru_cache(maxsize=256)
def _of(skill: str) -> tuple[Histogram, Counter, Counter, Counter]:
    name = skill.removeprefix("skill_")
    return (
        Histogram(
            f"skill_{name}_duration_ms", f"Duration of {skill} in milliseconds", buckets=_BUCKETS
        ),
        Counter(f"skill_{name}_errors_total", f"Errors of {skill} by code", ["error_code"]),
        Counter(f"skill_{name}_retries_total", f"Retries of {skill}"),
        Counter(f"skill_{name}_calls_total", f"Finished calls of {skill}"),
    )


def count(skill: str, *, duration_ms: int, error_code: str | None, retries: int) -> None:
    """Count one finished execution."""
    duration, errors, retried, calls = _of(skill)
    duration.observe(duration_ms)
    calls.inc()
    retried.inc(retries)
    if error_code:
        errors.labels(error_code).inc()


# --- adding up ------------------------------------------------------------------------------------


def exposition() -> bytes:
    """All metrics of all processes, gone ones too, in the Prometheus text format."""
    with _alone():
        _finish_folding()
        gone = [path for path in _files() if _is_of_the_gone(path)]
        if len(gone) >= FOLD_FROM:
            _fold(gone)
        families = MultiProcessCollector.merge([str(path) for path in _files()])  # type: ignore[no-untyped-call]  # untyped there
    registry = CollectorRegistry()
    registry.register(_Shown([*families, *_success_rates(families)]))  # type: ignore[arg-type]  # it collects
    return generate_latest(registry)


class _Shown:
    """Families as a collector."""

    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> list[Metric]:
        return self.families


def _success_rates(families: list[Metric]) -> Iterator[Metric]:
    """skill_{name}_success_rate: the share of finished calls of all processes without an error."""
    calls: dict[str, float] = {}
    errors: dict[str, float] = {}
    for sample in (sample for family in families for sample in family.samples):
        if sample.name.endswith("_calls_total"):
            calls[sample.name.removesuffix("_calls_total")] = sample.value
        elif sample.name.endswith("_errors_total"):
            skill = sample.name.removesuffix("_errors_total")
            errors[skill] = errors.get(skill, 0) + sample.value
    for skill, total in calls.items():
        text = "Share of finished calls without an error"
        gauge = GaugeMetricFamily(f"{skill}_success_rate", text)
        gauge.add_metric([], 1 - errors.get(skill, 0) / total if total else 1)
        yield gauge


# --- folding --------------------------------------------------------------------------------------


@contextmanager
def _alone() -> Iterator[None]:
    """Nobody else reads or folds meanwhile, on any host that shares the folder."""
    with (FOLDER / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _files() -> list[Path]:
    return [path for path in sorted(FOLDER.glob("*.db")) if path.stat().st_size]


def _is_of_the_gone(path: Path) -> bool:
    """True for a file of this host that nobody will write any more, a folded one among them."""
    machine, _, rest = path.stem.partition("_")[2].partition("~")
    pid, _, start = rest.partition("~")
    return machine == _HOST and (not pid or is_gone(int(pid), start))


def _fold(gone: list[Path]) -> None:
    """Put what the files hold into one file per kind and take them away.

    A note of what replaces what stands before the first change, so that whoever comes after a kill
    goes on with it and nothing counts twice or is lost.
    """
    for unfinished in FOLDER.glob(f"*_{_HOST}~~*.folded"):
        unfinished.unlink()
    made = []
    for kind in {path.stem.partition("_")[0] for path in gone}:
        target = FOLDER / f"{kind}_{_HOST}~~{uuid4().hex}.folded"
        _write_sum([path for path in gone if path.stem.startswith(f"{kind}_")], target)
        made.append(target.name)
    note = {"new": made, "old": [path.name for path in gone]}
    aside = FOLDER / "folding.new"
    aside.write_text(json.dumps(note))
    aside.rename(FOLDER / "folding")
    _finish_folding()


def _write_sum(paths: list[Path], target: Path) -> None:
    sums: dict[str, float] = {}
    for path in paths:
        for key, value, _, _ in MmapedDict.read_all_values_from_file(str(path)):  # type: ignore[no-untyped-call]  # untyped there
            sums[key] = sums.get(key, 0) + value
    merged = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    for key, value in sums.items():
        merged.write_value(key, value, 0.0)  # type: ignore[no-untyped-call]
    merged.close()  # type: ignore[no-untyped-call]


def _finish_folding() -> None:
    """Do what the note says, from wherever it was left."""
    path = FOLDER / "folding"
    if not path.exists():
        return
    note = json.loads(path.read_text())
    for name in note["old"]:
        (FOLDER / name).unlink(missing_ok=True)
    for name in note["new"]:
        with suppress(FileNotFoundError):
            (FOLDER / name).rename((FOLDER / name).with_suffix(".db"))
    path.unlink()
