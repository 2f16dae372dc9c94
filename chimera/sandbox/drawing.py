"""A picture from a prompt: a soft gradient, a composition of simple shapes, a headline."""

import math
import re
from random import Random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

from chimera.sandbox.chance import seeded

LABEL = "sandbox media"
_PALETTES = (  # deep, body, glow, accent, paper
    ("#1b1f3b", "#53354a", "#e84545", "#ffb26b", "#fff4e6"),
    ("#0b3c49", "#13747d", "#fc7753", "#f2efc7", "#fffdf2"),
    ("#2d132c", "#801336", "#ee4540", "#f9b384", "#fff1e6"),
    ("#10312b", "#2f6b4f", "#b9c95f", "#f4d35e", "#fbfaf0"),
    ("#17223b", "#263859", "#ff6768", "#ffd6a5", "#f6f6f6"),
    ("#241e4e", "#5b5f97", "#ffc145", "#ff6b6c", "#fffffb"),
    ("#3d2c2e", "#855a5c", "#e0a458", "#ffdbb5", "#fff8ee"),
    ("#0d1b2a", "#415a77", "#48bfe3", "#f7b267", "#f5faff"),
)
_Colour = tuple[int, int, int]


def draw(
    prompt: str, size: tuple[int, int], *, variant: int = 0, phase: float = 0.0
) -> Image.Image:
    """The picture of the prompt. variant: another composition; phase 0..1: moment of a clip."""
    chance = seeded(variant, prompt)
    palette = [_rgb(text) for text in chance.choice(_PALETTES)]
    image = _gradient(size, palette, chance, phase)
    compose = chance.choice((_sun_and_hills, _circles, _arches, _tiles))
    shapes = Image.new("RGBA", (size[0] * 2, size[1] * 2))
    compose(ImageDraw.Draw(shapes), shapes.size, palette, chance, phase)
    image.paste(shapes.resize(size, Image.Resampling.LANCZOS), (0, 0), shapes.resize(size))
    _shade(image)
    _headline(image, headline(prompt), palette[4])
    _label(image)
    return image


def headline(prompt: str, limit: int = 80) -> str:
    """The first sentence of the prompt, cut between words."""
    first = re.split(r"(?<=[.!?])\s|[\n;]", prompt.strip(), maxsplit=1)[0].rstrip(".")
    if len(first) <= limit:
        return first
    return first[:limit].rsplit(" ", 1)[0].rstrip(",:;- ") + "…"


def _rgb(text: str) -> _Colour:
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


def _gradient(
    size: tuple[int, int], palette: list[_Colour], chance: Random, phase: float
) -> Image.Image:
    """A mesh of nine colour points, blended; the middle one wanders with the phase."""
    mesh = Image.new("RGB", (3, 3))
    points = [palette[0], palette[1], palette[1], palette[0], palette[2]]
    for index in range(9):
        mesh.putpixel((index % 3, index // 3), chance.choice(points))
    glow = (1 + math.sin(2 * math.pi * phase)) / 2
    middle = tuple(round(a + (b - a) * glow) for a, b in zip(palette[1], palette[2], strict=True))
    mesh.putpixel((1, 1), middle)
    return mesh.resize(size, Image.Resampling.BICUBIC)


def _sun_and_hills(
    pen: ImageDraw.ImageDraw,
    size: tuple[int, int],
    palette: list[_Colour],
    chance: Random,
    phase: float,
) -> None:
    width, height = size
    radius = min(size) * chance.uniform(0.16, 0.24)
    x, y = width * chance.uniform(0.3, 0.7), height * (0.36 - 0.06 * _wave(phase))
    for ring in (1.9, 1.45, 1.0):
        alpha = 255 if ring == 1.0 else 46
        pen.circle((x, y), radius * ring, fill=(*palette[3], alpha))
    for layer in range(4):
        base = height * (0.46 + layer * 0.12)
        swing, shift = height * chance.uniform(0.03, 0.08), chance.uniform(0, 6.28)
        turns = chance.uniform(0.7, 1.6)
        crest = [
            (px, base + swing * math.sin(shift + turns * 6.28 * px / width + phase * 6.28))
            for px in range(0, width + 8, 8)
        ]
        colour = palette[(2, 1, 1, 0)[layer]]
        pen.polygon([*crest, (width, height), (0, height)], fill=(*colour, 150 + layer * 32))


def _circles(
    pen: ImageDraw.ImageDraw,
    size: tuple[int, int],
    palette: list[_Colour],
    chance: Random,
    phase: float,
) -> None:
    width, height = size
    for number in range(7):
        radius = min(size) * chance.uniform(0.1, 0.34)
        angle = 6.28 * (phase + number / 7)
        x = width * chance.uniform(0.1, 0.9) + radius * 0.12 * math.cos(angle)
        y = height * chance.uniform(0.05, 0.68) + radius * 0.12 * math.sin(angle)
        colour = palette[chance.choice((1, 2, 3, 3))]
        if number % 3 == 2:
            pen.circle((x, y), radius, outline=(*palette[4], 200), width=max(4, width // 180))
        else:
            pen.circle((x, y), radius, fill=(*colour, chance.randint(120, 215)))


def _arches(
    pen: ImageDraw.ImageDraw,
    size: tuple[int, int],
    palette: list[_Colour],
    chance: Random,
    phase: float,
) -> None:
    width, height = size
    centre = width * chance.uniform(0.35, 0.65)
    base = height * 0.74
    outer = min(width * 0.46, height * 0.5)
    for step in range(6):
        radius = outer * (1 - step / 6.5) * (1 + 0.03 * math.sin(6.28 * (phase + step / 6)))
        colour = palette[(2, 3, 1, 4, 2, 0)[step]]
        box = (centre - radius, base - radius * 1.25, centre + radius, base + radius * 0.75)
        pen.pieslice(box, 180, 360, fill=(*colour, 235))
        pen.rectangle((box[0], base - radius * 0.26, box[2], height), fill=(*colour, 235))


def _tiles(
    pen: ImageDraw.ImageDraw,
    size: tuple[int, int],
    palette: list[_Colour],
    chance: Random,
    phase: float,
) -> None:
    side = min(size) // 4
    for row in range(size[1] // side + 1):
        for column in range(size[0] // side + 1):
            x, y = column * side, row * side
            back, front = chance.sample((0, 1, 2, 3), 2)
            pen.rectangle((x, y, x + side, y + side), fill=(*palette[back], 170))
            turn = chance.choice((0, 90, 180, 270)) + 90 * round(phase * 4)
            corner = {0: (0, 0), 90: (1, 0), 180: (1, 1), 270: (0, 1)}[turn % 360]
            cx, cy = x + side * corner[0], y + side * corner[1]
            box = (cx - side, cy - side, cx + side, cy + side)
            pen.pieslice(box, turn % 360, turn % 360 + 90, fill=(*palette[front], 220))


def _wave(phase: float) -> float:
    return (1 - math.cos(2 * math.pi * phase)) / 2


def _shade(image: Image.Image) -> None:
    """Darken the lower part so that the headline can be read on any composition."""
    width, height = image.size
    ramp = Image.new("L", (1, 64))
    for row in range(64):
        ramp.putpixel((0, row), min(215, max(0, (row - 22) * 8)))
    mask = ramp.resize((width, height), Image.Resampling.BICUBIC)
    image.paste((10, 10, 18), (0, 0), mask.filter(ImageFilter.GaussianBlur(6)))


def _headline(image: Image.Image, text: str, colour: _Colour) -> None:
    width, height = image.size
    pen = ImageDraw.Draw(image)
    points = max(24, int(min(size_of_letters(text, width), min(width, height) * 0.085)))
    font = _font(text, points)
    lines = _wrapped(pen, text, font, width * 0.86)
    y = height - width * 0.075 - len(lines) * points * 1.18
    for line in lines:
        pen.text((width * 0.07, y), line, font=font, fill=colour, stroke_width=max(1, points // 34))
        y += points * 1.18


def size_of_letters(text: str, width: int) -> float:
    """Large letters for few words: about three lines whatever the text."""
    return width * 2.2 / max(14, len(text)) * 1.9


def _wrapped(
    pen: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, room: float
) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and pen.textlength(longer, font=font) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _label(image: Image.Image) -> None:
    width, _ = image.size
    points = max(13, width // 54)
    font = _font(LABEL, points)
    pen = ImageDraw.Draw(image, "RGBA")
    edge = points * 0.9
    room = pen.textlength(LABEL, font=font)
    box = (width - room - edge * 2.4, edge, width - edge, edge + points * 1.9)
    pen.rounded_rectangle(box, radius=points, fill=(10, 10, 18, 140))
    middle = (box[1] + box[3]) / 2
    pen.text((box[0] + edge * 0.7, middle), LABEL, font=font, fill="#ffffff", anchor="lm")


def _font(text: str, points: int) -> ImageFont.FreeTypeFont:
    """Pillow's own face, the same on every machine; a system face where it lacks the letters."""
    latin = all(ord(letter) < 0x250 or 0x2010 <= ord(letter) <= 0x2026 for letter in text)
    if not latin:
        try:
            return ImageFont.truetype("DejaVuSans-Bold.ttf", points)
        except OSError:
            pass
    font = ImageFont.load_default(points)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow is built without FreeType"
    return font
