"""What texts are about, as a phrase that stands after a preposition."""

import math
import re
from collections.abc import Sequence

from content.llm.topic import analyse
from content.sources.clean import cut, plain_line
from content.studio.text import content_stems
from content.themes import stem, words
from content.wordlists import word_set

_SMALL = word_set("empty", "words") | word_set("headline", "small")
_OPENERS = ("why", "what", "when", "where", "whether", "who", "which")
_PUNCTUATED = re.compile(r"[.!?:;“”\"]")
_VERBS = word_set("headline", "verbs")
_QUOTED = re.compile(r"“([^”]{3,90})”")
_LONGEST = 5


def phrase_of(topic: str) -> str:
    """The topic inside a sentence: itself, its subject, `sleeping better` for `how to sleep better`, or
    the headline in quotation marks.
    """
    plain = " ".join(re.sub(r"[`*_#<>\[\]|~]", " ", plain_line(topic, 300)).split()).strip(
        " .,:;-–—"
    )
    tokens = plain.split()
    if not tokens:
        return "the subject"
    if len(tokens) > 2 and plain.lower().startswith("how to "):
        return cut(" ".join([_gerund(tokens[2]), *tokens[3:]]).rstrip("?!."), 90)
    clause = any(token.lower().strip(",'’") in _VERBS for token in tokens[1:])
    if clause and len(analyse(plain).it.split()) > 1 and analyse(plain).it != "this story":
        return analyse(plain).it
    if clause or len(tokens) > 6 or tokens[0].lower() in _OPENERS or _PUNCTUATED.search(plain):
        return f"“{cut(re.sub('[“”.!?…]', '', plain), 90)}”"
    return plain


def _gerund(verb: str) -> str:
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", verb):
        return f"{verb}{verb[-1]}ing"
    return f"{verb[:-1]}ing" if re.search(r"[^eoy]e$", verb) else f"{verb}ing"


def shared_phrase(texts: Sequence[str]) -> str:
    """The phrase that most of the texts have in common; the first one's telling words if none has."""
    quoted = [name for text in texts for name in _QUOTED.findall(text)]
    if quoted and quoted.count(quoted[0]) > 1:
        return f"“{quoted[0]}”"
    spread: dict[str, int] = {}
    shown: dict[str, str] = {}
    for text in texts:
        for gram in set(_grams(text)):
            key = gram.casefold()
            spread[key] = spread.get(key, 0) + 1
            shown.setdefault(key, gram)
    common = [key for key, count in spread.items() if count > 1]
    if common:
        return shown[max(common, key=lambda key: (spread[key] * _weight(key), key))]
    telling = [w for w in words(texts[0] if texts else "") if content_stems(w)]
    return " ".join(telling[:2]) or "the subject"


def short(phrase: str, most: int) -> str:
    """At most so many words of the phrase: all of them, or the run that tells the most."""
    bare = phrase.strip("“”")
    if len(bare.split()) <= most:
        return bare
    runs = [gram for gram in _grams(bare) if len(gram.split()) <= most]
    told = [(sum(map(len, content_stems(gram))), gram) for gram in runs]
    return max(told)[1] if told else " ".join(bare.split()[:most])


def _grams(text: str) -> list[str]:
    """Runs of up to five words inside a clause that begin and end with a telling word."""
    found = []
    for clause in re.split(r"[.,;:!?—–“”\"()]", text):
        tokens = words(clause)
        for at in range(len(tokens)):
            for size in range(1, _LONGEST + 1):
                run = tokens[at : at + size]
                if len(run) == size and _tells(run[0]) and _tells(run[-1]):
                    found.append(" ".join(run))
    return found


def _tells(word: str) -> bool:
    return word.lower() not in _SMALL and bool(content_stems(word))


def _weight(gram: str) -> float:
    """Longer phrases say more, as long as many texts share them."""
    return math.sqrt(len({stem(word) for word in gram.split()})) * (1 + len(gram) / 50)
