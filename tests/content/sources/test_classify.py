"""Category and sentiment of headlines."""

import pytest

from content.sources.classify import category, sentiment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Addis street style is back", "fashion"),
        ("Bitcoin wallet adds stablecoin", "crypto"),
        ("Startup builds a robot", "technology"),
        ("Inflation worries investors", "finance"),
        ("Film festival opens", "entertainment"),
        ("Parliament passes law", "news"),
        ("A quiet morning", "other"),
        ("Robot film", "other"),
    ],
)
def test_the_most_named_category_wins_and_a_tie_is_other(text: str, expected: str) -> None:
    assert category(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A wonderful success for the village choir", "positive"),
        ("Terrible disaster destroys homes", "negative"),
        ("Council meets on Tuesday evening", "neutral"),
        ("Choir", "unknown"),
        ("የአዲስ አበባ የመንገድ ፋሽን ተመልሷል", "unknown"),
        ("Great win after a terrible loss", "mixed"),
    ],
)
def test_sentiment_is_unknown_where_there_is_little_to_judge_by(text: str, expected: str) -> None:
    assert sentiment(text) == expected
