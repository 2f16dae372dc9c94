"""What each contract asks of an output, as rules that say what is wrong. One broken rule breaks it all."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from content.studio import contracts
from content.studio.sentences import sentences
from content.studio.sources import unsupported
from content.studio.text import begins_with, content_stems, marks, phrases, stems, tokens
from content.studio.thesis import problems as thesis_problems
from content.themes import fold

OPENING_WORDS = 38
"""Fifteen seconds at 150 words a minute."""
THUMBNAIL_WORDS = 6
ADDRESSED = 0.5
"""Share of the telling words of the thesis that the opening must say."""
_REASON = re.compile(r"[A-Z][A-Z0-9_]*: \S.*", re.S)
_STAGED = re.compile(r"[\[({*♪]")
_QUOTED = re.compile(r"[\"“«‘]")


def violations(params: BaseModel, model: type[BaseModel], output: Any) -> list[str]:
    """The rules of its contract that the output breaks, one sentence each; empty: it may be used."""
    try:
        parsed = model.model_validate(output)
    except ValidationError as problem:
        return [
            f"{'.'.join(map(str, error['loc'])) or 'output'}: {error['msg']}"
            for error in problem.errors(
                include_url=False, include_context=False, include_input=False
            )
        ]
    marked = [f"{where} contains {mark}" for where, text in _texts(parsed) for mark in marks(text)]
    return [*marked, *_RULES[model](params, parsed)]


def _texts(output: BaseModel) -> Iterator[tuple[str, str]]:
    """(field, text) of every text of the output."""
    for name, value in output:
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, list):
            yield from ((f"{name}[{at}]", text) for at, text in enumerate(value))


def _items(output: BaseModel) -> Iterator[str]:
    """Lines of a list: said once, on one line, not blank."""
    for name, value in output:
        seen: set[str] = set()
        for at, text in enumerate(value):
            plain = " ".join(tokens(fold(text)))
            if not plain:
                yield f"{name}[{at}] says nothing"
            elif plain in seen:
                yield f"{name}[{at}] says the same as an earlier one"
            if "\n" in text.strip():
                yield f"{name}[{at}] is more than one line; prose belongs into a script"
            seen.add(plain)


def generic(item: str, *about: str | None) -> str:
    """Why the item is generic: a stock phrase, or no word of what it is about; empty if it is not."""
    low = " ".join(fold(item).replace("’", "'").split())
    stock = next((p for p in phrases("stock") if re.search(rf"\b{re.escape(p)}\b", low)), "")
    if stock:
        return f'is generic: "{stock}" fits every subject'
    subject = content_stems(*about)
    said = any(word in low for word in subject if not word.isascii())
    if subject and not said and not subject & stems(item):
        return "is generic: it says no word of the topic, the audience or the constraints"
    return "is generic: it is too short to say anything" if len(item) < 8 else ""


def _research(params: Any, output: Any) -> Iterator[str]:
    yield from _items(output)
    about = (params.topic, params.target_audience, params.constraints)
    for where, text in _texts(output):
        why = generic(text, *about)
        if why:
            yield f"{where} {why}"


def _thesis(params: Any, output: Any) -> Iterator[str]:
    yield from thesis_problems(output.click_thesis)


def _ctr(params: Any, output: Any) -> Iterator[str]:
    yield from _items(output)
    sources = sources_of(params)
    for where, text in _texts(output):
        for claim in unsupported(text, sources):
            yield f"{where} has {claim}, which neither the thesis nor the research contains"
    for at, text in enumerate(output.thumbnail_texts):
        count = len(tokens(text))
        if count > THUMBNAIL_WORDS:
            yield f"thumbnail_texts[{at}] has {count} words; {THUMBNAIL_WORDS} are allowed"


def sources_of(params: Any) -> list[str]:
    """What headlines may take their facts from: the thesis and the research."""
    return [params.click_thesis, *(text for _, text in _texts(params.research))]


def _script(params: Any, output: Any) -> Iterator[str]:
    yield from cold_open(output.script, params.click_thesis)
    yield from unaddressed(output.script, params.click_thesis)


def unaddressed(script: str, thesis: str) -> Iterator[str]:
    """Whether the first fifteen seconds say what the thesis says."""
    wanted = content_stems(thesis) or stems(thesis)
    opening = " ".join(script.split()[:OPENING_WORDS])
    said = {
        word
        for word in wanted
        if word in stems(opening) or (not word.isascii() and word in opening)
    }
    if len(said) < ADDRESSED * len(wanted):
        yield (
            f"script: the first {OPENING_WORDS} words must address the click thesis; they say "
            f"{len(said)} of its {len(wanted)} telling words"
        )


def cold_open(script: str, thesis: str) -> Iterator[str]:
    """Whether it begins anywhere else than with its subject."""
    first = (sentences(script) or [script])[0].strip()
    start = begins_with(first, [*phrases("greeting"), *phrases("scene")])
    if start:
        yield f'script: a cold open; it begins with "{start}" instead of the thesis'
    elif _STAGED.match(first) or _QUOTED.match(first):
        kind = "a stage direction" if _STAGED.match(first) else "somebody's words"
        yield f"script: a cold open; it begins with {kind} instead of the thesis"
    elif not (content_stems(thesis) or stems(thesis)) & stems(first):
        yield "script: a cold open; its first sentence says no word of the thesis"


def _eval(params: Any, output: Any) -> Iterator[str]:
    reason = output.failure_reason
    if output.result == "FAIL" and not (reason and _REASON.fullmatch(reason)):
        yield "failure_reason: FAIL must say why, as `CODE: text`"
    if output.result == "PASS" and reason is not None:
        yield "failure_reason: must be null on PASS"


_RULES: dict[type[BaseModel], Callable[[Any, Any], Iterator[str]]] = {
    contracts.ResearchOutput: _research,
    contracts.ThesisOutput: _thesis,
    contracts.CtrOutput: _ctr,
    contracts.ScriptOutput: _script,
    contracts.EvalOutput: _eval,
}
