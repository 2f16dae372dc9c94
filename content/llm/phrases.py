"""How each tone opens, turns and closes, and the sober voice for grave news. Own wording.

Placeholders: {it} the subject of the headline as a noun phrase, {name} the persona, {words} a list
of words of any kind, {values} a list of nouns, {interest} a noun phrase. {it} is never the subject
of a verb, so it needs no agreement.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Voice:
    """The sentences of one tone; `lead` introduces the headline, which follows as a sentence."""

    lead: tuple[str, ...]
    turn: tuple[str, ...]
    close: tuple[str, ...]
    words: tuple[str, ...]
    interest: tuple[str, ...]
    values: tuple[str, ...]


VOICES: dict[str, Voice] = {
    "formal": Voice(
        (
            "Worth noting today.",
            "A development to follow.",
            "On today's agenda.",
            "For the record.",
        ),
        ("Some context on {it}.", "A closer look at {it}.", "Why it deserves attention:"),
        ("We will keep following it.", "The conversation is open.", "More perspective to come."),
        ("In short: {words}.", "Our reading in brief: {words}."),
        ("Readers with an interest in {interest} may want to take note.",),
        ("Our standard stays the same: {values}.",),
    ),
    "casual": Voice(
        (
            "Okay, this one got me.",
            "Saw this and stopped scrolling.",
            "Coffee first, then this.",
            "So this is happening.",
        ),
        ("Here's the thing about {it}.", "Let's talk about {it}.", "A quick word on {it}."),
        ("That's it, that's the post.", "Anyway, that's my two cents.", "Okay, over to you."),
        ("Today's mood: {words}.", "In short: {words}."),
        (
            "If you're into {interest}, this one's for you.",
            "This one goes out to everyone who loves {interest}.",
        ),
        ("Same rule as always around here: {values} first.",),
    ),
    "humorous": Voice(
        (
            "My group chat can stop guessing.",
            "Hold my coffee.",
            "I had other plans for today.",
            "This was not on my bingo card.",
        ),
        (
            "Serious face for one second.",
            "My very serious notes on {it}:",
            "Let me put my glasses on for this part.",
        ),
        (
            "I'll be over here pretending I saw it coming.",
            "You may now return to your inbox.",
            "This has been my one useful thought of the day.",
        ),
        ("My entire argument in keywords: {words}.", "Filed in my head under: {words}."),
        ("If your search history is mostly {interest}, welcome home.",),
        ("House rules still apply: {values}, then jokes.",),
    ),
    "technical": Voice(
        ("Quick analysis.", "Let's take this one apart.", "Breaking it down.", "Field notes."),
        ("The part that matters:", "Reading {it} closely:", "Some notes on {it}."),
        (
            "Corrections and better sources are welcome.",
            "Worth revisiting when more is known.",
            "That is the summary; details can follow.",
        ),
        ("For your notes: {words}.", "Index terms: {words}."),
        ("Relevant if you follow {interest}.",),
        ("The criteria stay the same: {values}.",),
    ),
    "inspirational": Voice(
        (
            "Take this one with you today.",
            "A little fuel for the day.",
            "Read this one slowly.",
            "Here is something to build on.",
        ),
        ("What I take from {it}:", "There is a lesson in here.", "Hold on to this thought."),
        (
            "Start where you are.",
            "Take one idea from it and make it yours.",
            "Someone near you needs to hear it too.",
        ),
        ("To carry with you: {words}.", "Write it down somewhere: {words}."),
        ("For everyone who holds {interest} close.",),
        ("Lead with {values}, and the rest follows.",),
    ),
    "edgy": Voice(
        ("Say it louder.", "Read that again.", "No filter, no preamble.", "Stop scrolling."),
        ("Now the honest part about {it}.", "Let's be honest for a minute.", "Skip the hype."),
        (
            "Disagree? Good. Make your case.",
            "No applause needed. Think about it.",
            "Take it or leave it, but think for yourself.",
        ),
        ("Underline this: {words}.", "Bottom line: {words}."),
        ("For everyone who lives and breathes {interest}.",),
        ("Not negotiable: {values}.",),
    ),
}

ABOUT_ASK = (
    "What do you make of {it}?",
    "What comes to mind when you think of {it}?",
    "Who should hear about {it}?",
)

SOBER = Voice(
    ("A difficult story today.", "This needs care.", "Serious news, read slowly."),
    ("Before sharing it:", "A few things to keep in mind.", "What helps now is care."),
    (
        "Be kind to each other in the replies.",
        "We will come back to it when more is known.",
        "Take care of yourselves and of each other.",
    ),
    (),
    (),
    ("Our standard stays the same: {values}.",),
)

SOBER_WHY = (
    "Behind a headline like this there are people, and they come first.",
    "The first reports are rarely the whole picture.",
    "It is worth reading slowly before repeating it quickly.",
    "Context is the part that rarely fits into a headline.",
)
SOBER_LOOK = (
    "Look for the source before you look for a side.",
    "Check what is known and what is only being said.",
    "Give it time, and come back to it when the noise has settled.",
    "Notice whose voice is missing from the first reports.",
)
SOBER_ASK = (
    "What would you want to know before you judge it?",
    "Which question is still open for you?",
    "Who should be heard on this?",
)

CALLS: dict[str, tuple[str, ...]] = {
    "like_comment_share": (
        "Tell me in the comments, and pass it on to someone who should see it.",
        "Leave a comment, and share it if it made you think.",
        "Drop your answer below and send it to a friend.",
    ),
    "link_click": ("The source is linked, so read it in full.",
                   "Read the whole story at the link."),
    "purchase": ("Shop with us when you are ready.", "Find your favourite in our shop."),
    "follow": ("Follow {name} for the next one.", "Follow {name} so you do not miss what comes."),
}  # fmt: skip
FORMAL_CALLS = {
    "like_comment_share": ("We welcome your view in the comments.",
                           "Please share your perspective below."),
    "follow": ("Follow {name} for further updates.",),
}  # fmt: skip
NO_LINK_CALL = ("Look up the source before you pass it on.",)
