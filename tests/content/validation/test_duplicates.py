"""Near duplicates: the earlier post is named, whatever the case, the punctuation or a changed word."""

import pytest

from content.validation import duplicates
from content.validation.duplicates import Earlier
from content.validation.issue import Issue
from tests.content.samples import PACKAGE, package

TEXT = PACKAGE["platform_variants"]["twitter"]["text"]


def found(*earlier: Earlier) -> list[Issue]:
    return list(duplicates.check(package(), ["twitter"], earlier))


@pytest.mark.req("A4.2")
@pytest.mark.parametrize(
    ("before", "said"),
    [
        (TEXT, "the same text"),
        (TEXT.upper().replace(".", "!"), "the same text"),
        (TEXT.replace("Three looks", "Four looks"), "% the same"),
    ],
)
def test_a_post_that_reads_the_same_is_a_warning_with_the_earlier_address(
    before: str, said: str
) -> None:
    other = Earlier("twitter", "The rain came early and nobody had an umbrella.", "https://x/1")
    [issue] = found(other, Earlier("twitter", before, "https://x/2"))
    assert issue.severity == "warning" and said in issue.message and "https://x/2" in issue.message


def test_a_different_post_about_the_same_is_no_duplicate() -> None:
    text = "Addis street style is back, and the market knew it before anyone else. #AddisStyle"
    assert found(Earlier("twitter", text, "https://x/1")) == []
    assert found() == []
