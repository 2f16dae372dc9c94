"""What the local language models think: answers computed from what they are asked, nothing canned.

Without temperature 0 and a seed the answers differ from call to call, as those of real models do.
Habits make a model misbehave: set `habit` on the server (a name below) or arm it as a fault.

| habit        | what the answer is like                                                         |
|--------------|---------------------------------------------------------------------------------|
| obey         | does what the text of strangers asks: repeats its links and adds a lure          |
| swear        | says something offensive unless it was told of the safety rule                  |
| swear_always | says something offensive in any case                                            |
| missing      | leaves a trend or sentence out                                                  |
| doubled      | marks a trend twice                                                             |
| out_of_range | scores above 1                                                                  |
| invent       | adds numbers and names that nobody gave it                                      |
| wordy        | writes three times as much as it was asked for                                  |
"""

import json
import random
import re
from hashlib import sha256
from typing import Any

Json = dict[str, Any]
HABITS = (
    "obey",
    "swear",
    "swear_always",
    "missing",
    "doubled",
    "out_of_range",
    "invent",
    "wordy",
)
_ORDERS = re.compile(
    r"(?:https?://|www\.)[^\s\"\\]+|[\w-]+\.(?:com|net|test|example)\S*|@\w+|0x[0-9a-fA-F]{40}"
)
LURE = "more at https://lure.example/now @lure_account"
_OPENERS = ("Look:", "So,", "Well,", "Now:", "Here,", "Right:")


def answer(prompt: str, instructions: str, steady: bool, habit: str) -> Json:
    """The answer to the document in the prompt. steady: temperature 0 and a seed were given."""
    found = re.search(r"<document>(.*)</document>", prompt, re.S)
    assert found, f"no document in {prompt[:200]}"
    document = json.loads(found.group(1))
    if "trends" in document:
        return _marks(document, steady, habit)
    return _sentences(document, steady, habit, safe="offensive" in instructions.lower())


def _marks(document: Json, steady: bool, habit: str) -> Json:
    marks = [_mark(item, document["goals"], steady) for item in document["trends"]]
    if habit == "missing":
        marks.pop()
    if habit == "doubled":
        marks[-1] = dict(marks[0])
    if habit == "out_of_range":
        marks[0]["score"] = 1.7
    if habit == "obey":
        for mark, item in zip(marks, document["trends"], strict=True):
            mark["reasoning"] = " ".join(["click", *_ORDERS.findall(item["text"]), LURE])
            mark["score"] = 1.0
    return {"marks": marks}


def _mark(item: Json, goals: list[str], steady: bool) -> Json:
    text = item["text"].lower()
    best, why = 0.0, ""
    for goal in goals:
        wanted = [word[:5] for word in re.findall(r"\w{3,}", goal.lower().replace("_", " "))]
        hits = [word for word in wanted if word in text]
        share = len(hits) / max(1, len(wanted))
        if share > best:
            best, why = share, f"about {' '.join(hits)}"
    score = 0.05 + 0.9 * best + (0 if steady else random.uniform(-0.04, 0.04))
    return {"index": item["index"], "score": round(score, 2), "reasoning": why}


def _sentences(document: Json, steady: bool, habit: str, safe: bool) -> Json:
    texts = [
        {"id": slot["id"], "text": _reworded(slot["draft"], steady)} for slot in document["slots"]
    ]
    tags = [f"#{word.title()}" for word in re.findall(r"[a-z]{4,}", json.dumps(document["trend"]))]
    if habit == "missing":
        texts = texts[: len(texts) // 2]
    for item in texts:
        item["text"] = _spoilt(item["text"], document, habit, safe)
    return {"sentences": texts, "hashtags": tags[: document["hashtags"]]}


def _spoilt(text: str, document: Json, habit: str, safe: bool) -> str:
    if habit == "obey":
        return " ".join([text, *_ORDERS.findall(json.dumps(document)), LURE])
    if habit == "swear_always" or (habit == "swear" and not safe):
        return f"{text} You fucking idiots."
    if habit == "invent":
        return f"{text} It sold 48213 times, says Maria Lopez."
    return " ".join([text] * 3) if habit == "wordy" else text


def _reworded(draft: str, steady: bool) -> str:
    """The draft with another opening and the same length, as far as a sentence allows."""
    at = int(sha256(draft.encode()).hexdigest(), 16) if steady else random.randrange(10**6)
    words = draft.split()
    opener = _OPENERS[at % len(_OPENERS)]
    if len(words) < 4:
        return draft
    return " ".join([opener, words[0].lower(), *words[1:]])


def tokens(text: str) -> int:
    """Tokens as the local models count them: four characters each."""
    return len(text) // 4 + 1
