"""What can honestly be said about a subject without knowing more than its headline.

Three kinds per category: `why` it is worth a thought, what to `look` at, and what to `ask`. None
of them states a fact about the trend. All wording is our own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Angles:
    """The sentences of one category, and the words for its pictures, emoji and hashtags."""

    why: tuple[str, ...]
    look: tuple[str, ...]
    ask: tuple[str, ...]
    scene: str
    emoji: str
    popular: tuple[str, ...]
    niche: tuple[str, ...]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


ANGLES: dict[str, Angles] = {
    "fashion": Angles(
        _lines(
            """What people wear to run errands says more than any runway.
            Good style starts with who made it and how long it lasts.
            The street edits faster than any magazine, and it never asks for permission.
            Clothes are the one kind of art everybody has to choose each morning.
            A look travels when people can make it their own.
            The best outfits are built from what was already in the wardrobe."""
        ),
        _lines(
            """Look at the cut first and the label last.
            Watch how old pieces and new ones sit together.
            Notice who is wearing it, because that is where the next idea comes from.
            Check the seams and the fabric before you fall for the colour.
            See what happens when one bold piece gets all the room."""
        ),
        _lines(
            """Which piece would you wear first?
            What would you pair it with?
            Would you wear it to work, or save it for the weekend?
            Who in your street was wearing it long before the rest of us?
            What is the one piece in your wardrobe that tells this story?"""
        ),
        "street fashion editorial, natural light, real fabric texture",
        "👗✨🧵👟",
        ("Fashion", "Style", "OOTD", "Streetwear"),
        ("StreetStyleDiary", "WearItYourWay", "SlowFashion", "StyleNotes"),
    ),
    "technology": Angles(
        _lines(
            """The interesting part of any new tool is what it lets people stop doing.
            A good idea in technology looks obvious the day after it ships.
            Every clever system still comes down to somebody's problem on a Tuesday morning.
            The demo is the easy part; living with the thing is the test.
            New tools change habits first and headlines second.
            It pays to ask who a technology serves before asking how fast it is."""
        ),
        _lines(
            """Look past the demo and ask what happens when it fails.
            Watch who gets to use it first, and who has to wait.
            Check what it does with your data before you check what it does for you.
            Notice which small, boring step it removes.
            See whether it still makes sense without the big words."""
        ),
        _lines(
            """Which problem would you start with?
            What would convince you?
            Progress or detour, how do you see it?
            Where would it make a difference for you?
            Who do you think gains most from it?"""
        ),
        "clean workspace with a device in use, soft daylight, human hands in frame",
        "💡🛠️🔍🚀",
        ("Tech", "Technology", "Innovation", "FutureOfWork"),
        ("TechExplained", "ToolsThatMatter", "BuildInPublic", "PlainTech"),
    ),
    "finance": Angles(
        _lines(
            """Money news is easier to read once you ask who pays and who gets paid.
            A single day on the market is a mood; the reasons behind it are the story.
            The headline is the what, and the useful part is usually the why.
            Big numbers only mean something next to the ordinary bills they touch.
            Calm reading beats fast reacting, above all when money is involved.
            Every market story is also a story about people's patience."""
        ),
        _lines(
            """Look for the time frame before you look for the direction.
            Check who is speaking and what they gain if you believe it.
            Notice which costs nobody in the story mentions.
            Compare it with the last time you heard something similar.
            Ask what would have to be true for the opposite to happen."""
        ),
        _lines(
            """How do you read it?
            What would you want to know before drawing a conclusion?
            Does it change anything in your own plans?
            Which part of it deserves a plainer explanation?
            Who do you listen to when the market gets loud?"""
        ),
        "desk with a notebook and a simple chart without figures, morning light",
        "📊🧾🔎💬",
        ("Finance", "Economy", "Markets", "MoneyTalk"),
        ("ReadTheFinePrint", "MarketNotes", "MoneyInPlainWords", "SlowMoney"),
    ),
    "entertainment": Angles(
        _lines(
            """The best part of any release is the argument with friends afterwards.
            A good story finds its audience one recommendation at a time.
            What we watch and hear together becomes the way we talk to each other.
            Great performances make the hard part look like play.
            Some moments belong to the crowd as much as to the stage.
            Taste is personal, and that is what makes sharing it fun."""
        ),
        _lines(
            """Watch the small choices, because that is where the craft hides.
            Listen to what happens between the big moments.
            Notice who is in the credits, not only who is on the poster.
            Pay attention to the first scene; it makes a promise.
            See it with somebody who will disagree with you."""
        ),
        _lines(
            """Are you in, or are you waiting for the reviews?
            Who are you taking with you?
            What would you put on the same playlist?
            Which moment do you expect everyone to quote?
            Is this one for the big screen or for the sofa?"""
        ),
        "audience in warm stage light seen from behind, cinematic depth",
        "🎬🎶🍿✨",
        ("Entertainment", "PopCulture", "NowPlaying", "Culture"),
        ("CultureNotes", "FrontRow", "WatchAndTalk", "BehindTheScenes"),
    ),
    "news": Angles(
        _lines(
            """A headline is a beginning; the people it touches are the story.
            It is worth reading slowly before repeating it quickly.
            What happens next matters more than who posts about it first.
            Every public decision ends up in somebody's kitchen, street or school.
            Good questions are worth more than fast opinions here.
            Context is the part that rarely fits into a headline."""
        ),
        _lines(
            """Look for the source before you look for a side.
            Check what is known and what is only being said.
            Notice whose voice is missing from the first reports.
            Ask what would change if it turned out differently.
            Come back to it when the noise has settled."""
        ),
        _lines(
            """What do you want to know before you make up your mind?
            How does it look from where you are?
            Which question is still open for you?
            Who should be heard on this?
            What would you ask the people involved?"""
        ),
        "quiet documentary street scene, neutral light, no identifiable faces",
        "📰🔎💬🗞️",
        ("News", "InTheNews", "CurrentAffairs", "TodayInNews"),
        ("ReadTheSource", "ContextMatters", "SlowNews", "AskBetter"),
    ),
    "crypto": Angles(
        _lines(
            """In crypto the quiet details usually matter more than the loud ones.
            Code can settle a payment; trust still has to be earned.
            The useful question is what people do with it when nobody is watching the price.
            New rails are only as good as the day something goes wrong on them.
            Hype fades quickly, and what remains is whatever solves a real problem.
            Keeping your own keys also means keeping your own head."""
        ),
        _lines(
            """Look at who holds the keys before you look at the chart.
            Read the terms before you read the replies.
            Check whether the code is open and who has reviewed it.
            Notice who is in a hurry, and ask why.
            Ask what still works when the network is busy."""
        ),
        _lines(
            """Signal or noise, how do you read it?
            What would you check first?
            Which part would you explain to a friend before anything else?
            What would change your mind about it?
            Where do you see the real use?"""
        ),
        "abstract network of light over a dark desk, hardware key in focus",
        "🔗🔐🧠💬",
        ("Crypto", "Blockchain", "Web3", "CryptoNews"),
        ("KeysAndCode", "CryptoInPlainWords", "ReadTheTerms", "OnChainNotes"),
    ),
    "other": Angles(
        _lines(
            """Small stories like this one say a lot about what people care about.
            The detail worth keeping is usually the one nobody expected.
            It is easy to scroll past, and worth a second look.
            Some subjects arrive quietly and stay for a long time.
            What people pick up and pass on is a story in itself.
            There is always somebody who has been doing this for years, unnoticed."""
        ),
        _lines(
            """Look for the people behind it.
            Notice what made you stop at it.
            Ask how it looked a while ago, and what has changed.
            See whether you find an example close to home.
            Think of who would want to hear about it."""
        ),
        _lines(
            """What do you make of it?
            Have you come across it yourself?
            Who would you send this to?
            What is your own take?
            What would you add to the story?"""
        ),
        "everyday scene with a strong single subject, natural light",
        "👀✨💬🌍",
        ("Trending", "Community", "Stories", "GoodToKnow"),
        ("WorthASecondLook", "EverydayStories", "SmallDetails", "LookCloser"),
    ),
}
