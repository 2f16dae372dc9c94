"""Category and sentiment of a headline: a keyword count and the VADER lexicon.

Both are shallow on purpose: they see words, not meaning. What they are not sure of they call
`other` and `unknown`.
"""

import re
from functools import cache

from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

from content.schemas import Category, Sentiment

SENTIMENT_CONFIDENCE = 0.7

# Our own choice of words that rarely mean anything else in a headline.
_KEYWORDS: dict[Category, str] = {
    "crypto": "bitcoin ethereum crypto cryptocurrency blockchain stablecoin defi nft token altcoin"
    " dogecoin solana usdc tether binance coinbase wallet web3 btc eth",
    "fashion": "fashion style streetwear couture runway designer outfit outfits wardrobe vogue"
    " luxury sneaker sneakers dress dresses tailor tailoring textile apparel thrift vintage"
    " collection garment denim jewellery jewelry handbag makeup beauty knitwear",
    "technology": "ai tech technology software app apps startup startups robot robots robotics"
    " chip chips smartphone phone laptop computer computing quantum algorithm cyber hack hacker"
    " data internet cloud gadget android iphone battery semiconductor open-source developer"
    " developers programming satellite",
    "finance": "market markets stock stocks shares bank banks inflation economy economic earnings"
    " investor investors bond bonds trade tariffs dollar euro revenue profit profits mortgage"
    " recession fund budget ipo currency wages",
    "entertainment": "film films movie movies music album song songs singer actor actress festival"
    " tv show series game games gaming concert celebrity netflix oscar oscars band trailer"
    " comedy theatre theater premiere dance streaming football cup match",
    "news": "government president minister election elections police court war parliament senate"
    " protest protests treaty border law crisis strike earthquake flood floods storm attack"
    " referendum mayor council ceasefire summit",
}
_CATEGORY_OF = {word: name for name, words in _KEYWORDS.items() for word in words.split()}
_WORD = re.compile(r"[\w-]+")


def category(text: str) -> Category:
    """The category with most keywords in the text; `other` when there is none or a tie."""
    votes: dict[Category, int] = {}
    for word in _WORD.findall(text.lower()):
        if word in _CATEGORY_OF:
            votes[_CATEGORY_OF[word]] = votes.get(_CATEGORY_OF[word], 0) + 1
    best = [name for name, count in votes.items() if count == max(votes.values())]
    return best[0] if len(best) == 1 else "other"


@cache
def _analyzer() -> SentimentIntensityAnalyzer:
    return SentimentIntensityAnalyzer()


def sentiment(text: str) -> Sentiment:
    """Sentiment by VADER, `unknown` where its confidence is below 0.7.

    Confidence of a polar reading is 0.5 + |compound|, so it takes |compound| >= 0.2. A text with
    strong words of both kinds is mixed. A text without a word of feeling is neutral when it has at
    least four words to judge by, else unknown.
    """
    scores = _analyzer().polarity_scores(text)
    if min(scores["pos"], scores["neg"]) >= 0.15:
        return "mixed"
    if scores["pos"] == scores["neg"] == 0:
        return "neutral" if len(_WORD.findall(text)) >= 4 and text.isascii() else "unknown"
    if 0.5 + abs(scores["compound"]) < SENTIMENT_CONFIDENCE:
        return "unknown"
    return "positive" if scores["compound"] > 0 else "negative"
