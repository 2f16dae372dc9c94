"""A report as files: one HTML page that needs nothing from outside, and a table for a spreadsheet."""

import csv
from collections import Counter
from html import escape
from pathlib import Path

from skills.charts import bars
from skills.skill_generate_report.figures import REACTIONS, Figures, Post

COLUMNS = ("platform", "account", "state", "published_at", "url", *REACTIONS, "text")
_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}td,th{border-bottom:1px solid #ccc;padding:.3rem .5rem;"
    "text-align:left;vertical-align:top}svg{max-width:100%;margin:1rem 0}"
)


def write_html(path: Path, title: str, figures: Figures) -> None:
    """The page: figures, charts, and a line for each post. Every text is escaped."""
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_summary(figures)}</p>",
        *_charts(figures),
        "<h2>Posts</h2>",
        _table(figures.posts),
        "</body></html>",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def _summary(figures: Figures) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in figures.reactions().items())
    spent = ", ".join(f"{amount:f} {currency}" for currency, amount in figures.spend.items())
    decided = sum(figures.decisions.values())
    return escape(
        f"{len(figures.posts)} posts, {counts}; {decided} approval requests; "
        f"spent: {spent or 'nothing'}."
    )


def _charts(figures: Figures) -> list[str]:
    platforms = sorted({post.platform for post in figures.posts})
    reactions = [
        (
            platform,
            [
                sum(getattr(post, name) for post in figures.posts if post.platform == platform)
                for name in REACTIONS
            ],
        )
        for platform in platforms
    ]
    states = Counter(post.state for post in figures.posts)
    return [
        bars("Reactions by platform", reactions, REACTIONS),
        bars("Posts by state", [(state, [n]) for state, n in sorted(states.items())], ["posts"]),
        bars(
            "Approval requests by outcome",
            [(status, [n]) for status, n in sorted(figures.decisions.items())],
            ["requests"],
        ),
    ]


def _table(posts: list[Post]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
    rows = (
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(post)) + "</tr>"
        for post in posts
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def write_csv(path: Path, figures: Figures) -> None:
    """A line for each post; a text that a spreadsheet would take for a formula is made plain."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(COLUMNS)
        lines.writerows([_harmless(cell) for cell in _cells(post)] for post in figures.posts)


def _cells(post: Post) -> list[str]:
    at = post.published_at.isoformat() if post.published_at else ""
    shown = {name: str(getattr(post, name)) for name in COLUMNS} | {"published_at": at}
    return [shown[name] for name in COLUMNS]


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.lstrip()[:1] in ("=", "+", "-", "@") or cell[:1] in "\t\r" else cell
