"""What a format's reader hands to the cut: words with their places, pictures and ruling lines. In points, top left."""

from dataclasses import dataclass, field

from reveries.knowledge.reading.layout import TextSource


@dataclass(slots=True, eq=False)
class Rectangle:
    """A rectangle in points from the top left of the page as it is seen."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def area(self) -> float:
        return max(0.0, self.width) * max(0.0, self.height)

    def holds(self, x: float, y: float) -> bool:
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def shared_area(self, other: "Rectangle") -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0


@dataclass(slots=True, eq=False)
class Word(Rectangle):
    """A word, or a piece of one where the file places its letters apart."""

    text: str
    size: float
    """Height of its font in points."""
    is_bold: bool = False
    angle: int = 0
    """By how many degrees its reading direction is turned clockwise: 0, 90, 180 or 270."""
    is_after_space: bool = False
    """Whether the file has a space before it: lines that are set tight have spaces as narrow as gaps within a word."""


@dataclass(slots=True)
class PageContent:
    """One page as a format's reader found it."""

    number: int
    width: float
    height: float
    rotation: int = 0
    label: str = ""
    """As the file itself numbers the page; may be empty."""
    headings: tuple[str, ...] = ()
    """The outline of the file at this page, from the chapter down; may be empty."""
    words: list[Word] = field(default_factory=list)
    pictures: list[Rectangle] = field(default_factory=list)
    drawings: list[Rectangle] = field(default_factory=list)
    """Bounds of drawn lines and shapes, at most some ten thousand."""
    text_from: TextSource = TextSource.LAYER
    is_slide: bool = False


def bounds_of(rectangles: "list[Word] | list[Rectangle] | list[Line]") -> Rectangle:
    """The smallest rectangle around all of them; there must be some."""
    return Rectangle(
        min(part.left for part in rectangles),
        min(part.top for part in rectangles),
        max(part.right for part in rectangles),
        max(part.bottom for part in rectangles),
    )


def is_within(part: Rectangle, place: Rectangle) -> bool:
    """Whether the middle of one lies in the other."""
    return place.holds((part.left + part.right) / 2, (part.top + part.bottom) / 2)


@dataclass(slots=True, eq=False)
class Line(Rectangle):
    """Words of one line that belong together: a line of a column, or a cell of a table."""

    words: list[Word]
    size: float
    is_bold: bool
    angle: int

    @property
    def text(self) -> str:
        return join_words(self.words)


def join_words(words: list[Word]) -> str:
    """Words with spaces where the page has a gap between them: pieces of a word that were placed apart are one."""
    text, last = "", None
    for word in words:
        text += f" {word.text}" if last is not None and is_gap(last, word) else word.text
        last = word
    return text


def is_gap(word: Word, following: Word) -> bool:
    """Whether there is a space between two words of a line."""
    if following.is_after_space:
        return True
    if word.angle in (90, 270):
        gap = following.top - word.bottom if word.angle == 90 else word.top - following.bottom
    else:
        gap = following.left - word.right if word.angle == 0 else word.left - following.right
    return not -1.2 * word.size < gap < 0.12 * word.size
