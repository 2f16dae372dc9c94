"""The offline writer of the contracts: deterministic, no model, no network, no invented facts.

Every choice is a hash of the order, so the same order gives the same text and a second run, or one for
another reason, gives another one.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from chimera.core.digest import digest, sha256_hex
from content.sources.clean import plain_line
from content.studio.contracts import (
    CtrInput,
    EvalInput,
    Research,
    ResearchInput,
    ScriptInput,
    ThesisInput,
)
from content.studio.judging import judge
from content.studio.order import Order
from content.studio.rules import cold_open, unaddressed
from content.studio.subject import phrase_of, shared_phrase, short
from content.studio.text import content_stems, stems
from content.wordlists import sections

FINDINGS, IDEAS = 4, 6
_AVOID = re.compile(r"\b(?:no|avoid|without|never|not)\b\s+([^.;,\n]{2,60})", re.I)
_PARTS = ("bridge", "body_1", "body_2", "body_3", "body_4", "close")
_WHO = "most people"


async def write(order: Order) -> dict[str, Any]:
    """The fields of the output for any of the contracts."""
    asked = {"params": order.params.model_dump(mode="json"), "run": order.run}
    seed = digest(asked | ({"broken": list(order.broken)} if order.broken else {}))
    match order.params:
        case ResearchInput() as wanted:
            return research(wanted, seed)
        case ThesisInput() as wanted:
            return {"click_thesis": thesis(wanted, seed)}
        case CtrInput() as wanted:
            return ideas(wanted, seed)
        case ScriptInput() as wanted:
            return {"script": script(wanted, seed)}
        case EvalInput() as wanted:
            return judge(wanted)
    raise TypeError(f"no contract takes {type(order.params).__name__}")


def research(wanted: ResearchInput, seed: str) -> dict[str, Any]:
    """Four findings of each kind, without what the constraints rule out."""
    never = avoided(wanted.constraints)
    fill = {"it": phrase_of(wanted.topic), "who": audience(wanted.target_audience)}
    return {
        kind: chosen(seed, pool(kind, fill["it"]), FINDINGS, never, **fill)
        for kind in Research.model_fields
    }


def thesis(wanted: ThesisInput, seed: str) -> str:
    """One sentence that promises what the video shows."""
    fill = {"it": phrase_of(wanted.topic), "who": audience(wanted.target_audience)}
    return chosen(seed, pool("thesis", fill["it"]), 1, **fill)[0]


def ideas(wanted: CtrInput, seed: str) -> dict[str, Any]:
    """Hooks, titles and thumbnail texts about what thesis and research share."""
    found = [text for _, items in wanted.research for text in items]
    it = shared_phrase([wanted.click_thesis, *found])
    fill = {"it": it, "short": short(it, 3)}
    return {
        "hooks": chosen(seed, pool("hooks", it), IDEAS, **fill),
        "titles": chosen(seed, pool("titles", it), IDEAS, **fill),
        "thumbnail_texts": chosen(seed, pool("thumbnail_texts"), IDEAS, **fill),
    }


def script(wanted: ScriptInput, seed: str) -> str:
    """About two minutes: the hook and the thesis at once, then what follows from them."""
    it = shared_phrase([wanted.click_thesis, wanted.selected_title, wanted.selected_hook])
    it = "this" if is_headline(it) else it
    parts = {name: chosen(seed, pool(name), 1, it=it)[0] for name in _PARTS}
    opening = f"{_opening(wanted)} {parts.pop('bridge')}"
    return "\n\n".join([opening, *parts.values()])


def _opening(wanted: ScriptInput) -> str:
    """Hook and thesis; the thesis first where the hook alone would be a cold open or leave no room."""
    hook, promise = (_sentence(t) for t in (wanted.selected_hook, wanted.click_thesis))
    for opening in (f"{hook} {promise}", f"{promise} {hook}"):
        broken = [*cold_open(opening, promise), *unaddressed(opening, promise)]
        if not broken:
            return opening
    return f"{promise} {hook}"


def _sentence(text: str) -> str:
    plain = plain_line(text, 500).replace("`", "").replace("*", "")
    return plain if plain[-1:] in ".!?…。！？።" else f"{plain}."


def pool(section: str, it: str = "") -> tuple[str, ...]:
    """The sentences of a section; those for headlines where {it} is one."""
    return sections("studio_lines")[f"{section}_news" if is_headline(it) else section]


def is_headline(subject: str) -> bool:
    """Whether the subject is a headline in quotation marks rather than a noun phrase."""
    return subject.startswith("“")


def audience(target: str | None) -> str:
    """The audience as a plural inside a sentence."""
    plain = plain_line(target or "", 300).strip(" .,:;")
    if not plain or len(plain.split()) > 8:
        return _WHO
    return plain if plain[:2].isupper() else plain[0].lower() + plain[1:]


def avoided(constraints: str | None) -> set[str]:
    """Stems of what the constraints rule out: `no fear, avoid medical claims`."""
    return content_stems(*_AVOID.findall(constraints or ""))


def chosen(
    seed: str, options: Sequence[str], count: int, never: Iterable[str] = (), **fill: str
) -> list[str]:
    """Of the options in the order of their hash; those with a word of `never` come last."""
    ruled_out = set(never)
    ranked = sorted(
        options,
        key=lambda line: (bool(stems(line) & ruled_out), sha256_hex((seed + line).encode())),
    )
    words = fill | {name.capitalize(): _capital(text) for name, text in fill.items()}
    return [_capital(line.format(**words)) for line in ranked[:count]]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
