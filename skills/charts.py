"""Charts as SVG text that stands by itself: no script, no font, no address outside."""

from collections.abc import Sequence
from html import escape

_WIDTH, _ROW, _LABEL, _VALUE = 640, 26, 200, 70
_COLOURS = ("#2f6f9f", "#c9772c", "#5a8f3d", "#8a5a9f")


def bars(title: str, rows: Sequence[tuple[str, Sequence[float]]], series: Sequence[str]) -> str:
    """A bar chart: one group of bars a row `(label, one number per series)`, longest bar full width."""
    most = max((value for _, values in rows for value in values), default=0) or 1
    parts, y = [_text(8, 20, title, "bold")], 34
    for number, name in enumerate(series):
        x = 8 + number * 160
        parts += [_box(x, y, 12, 12, number), _text(x + 18, y + 11, name)]
    y += 24
    for label, values in rows:
        parts.append(_text(8, y + 14, label[:34]))
        height = (_ROW - 6) / max(1, len(values))
        for number, value in enumerate(values):
            width = max(0.0, value) / most * (_WIDTH - _LABEL - _VALUE)
            top = y + number * height
            parts.append(_box(_LABEL, top, width, height - 1, number))
            parts.append(_text(_LABEL + width + 6, top + height - 1, f"{value:g}"))
        y += _ROW + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y + 8}" role="img" '
        f'aria-label="{escape(title, quote=True)}" font-family="sans-serif" font-size="12">'
        f"{''.join(parts)}</svg>"
    )


def _box(x: float, y: float, width: float, height: float, number: int) -> str:
    colour = _COLOURS[number % len(_COLOURS)]
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}">{escape(text)}</text>'
