"""PDF by PDFium: words with their places, pictures, drawn lines, page labels, the outline, and pictures of pages."""

import ctypes
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pypdfium2 as pdfium
import pypdfium2.raw as api

from reveries.errors import DocumentFault
from reveries.knowledge.reading.content import PageContent, Rectangle, Word
from reveries.knowledge.reading.layout import TextSource
from reveries.tools.reading_child.refusal import RefusalError

MOST_PAGES: Final = 20_000
_MOST_OBJECTS: Final = 80_000
_MOST_DRAWINGS: Final = 40_000
_MOST_CHARACTERS: Final = 400_000
_MOST_DEPTH: Final = 3
_LETTER: Final = (612.0, 792.0)
_MOST_PIXELS: Final = 40_000_000
_SMALLEST_TYPE_POINTS: Final = 1.5
_SMALLEST_FILL_POINTS: Final = 4.0
"""In points of height: lower shapes are lines, and no ground to read on."""
_DRAWN: Final = frozenset({api.FPDF_PAGEOBJ_PATH, api.FPDF_PAGEOBJ_IMAGE, api.FPDF_PAGEOBJ_SHADING})
_SMALLEST_PICTURE_POINTS: Final = 4.0
"""In square points: some programs write hatches as thousands of images."""
_BOLD_WEIGHT: Final = 600
_BOLD_NAME: Final = re.compile(rb"bold|black|heavy|semibd|demi", re.IGNORECASE)
_FONT_NAME_BYTES: Final = 200
_INVISIBLE: Final = 3
_WHITE: Final = 250
_HYPHENS: Final = frozenset("\x02\ufffe\u00ad")


@dataclass(frozen=True, slots=True)
class _Frame:
    """How places of the file become places on the page as it is seen."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int
    width: float
    height: float

    def place(self, left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
        if self.rotation == 90:
            return bottom - self.bottom, left - self.left, top - self.bottom, right - self.left
        if self.rotation == 180:
            return self.right - right, bottom - self.bottom, self.right - left, top - self.bottom
        if self.rotation == 270:
            return self.top - top, self.right - right, self.top - bottom, self.right - left
        return left - self.left, self.top - top, right - self.left, self.top - bottom


class PdfFile:
    """An open PDF. Raises RefusalError for what cannot be opened."""

    def __init__(self, content: bytes | str, password: str = "") -> None:
        try:
            self._document = pdfium.PdfDocument(content, password=password or None)
        except pdfium.PdfiumError as error:
            raise _explain(error) from error
        if len(self._document) == 0:
            raise RefusalError(DocumentFault.EMPTY, "has no pages", "Export it again from the program that made it.")
        if len(self._document) > MOST_PAGES:
            raise RefusalError(
                DocumentFault.TOO_MANY_PAGES,
                f"has {len(self._document):,} pages; up to {MOST_PAGES:,} are read",
                "Split it into parts.",
            )
        self._headings = self._read_outline()

    @property
    def page_count(self) -> int:
        return len(self._document)

    @property
    def title(self) -> str:
        return str(self._document.get_metadata_value("Title") or "").strip()

    @property
    def attachment_count(self) -> int:
        return int(self._document.count_attachments())

    def read_page(self, number: int) -> PageContent:
        """Words, pictures and drawings of a page, counted from 1."""
        try:
            page = self._document[number - 1]
        except pdfium.PdfiumError:  # This page alone is damaged.
            return PageContent(number, *_LETTER, text_from=TextSource.NONE)
        try:
            frame = _frame_of(page)
            content = PageContent(number, frame.width, frame.height, frame.rotation)
            content.label = self._document.get_page_label(number - 1) or ""
            content.headings = self._headings.get(number, ())
            graphics = _read_graphics(page, frame)
            content.pictures, content.drawings = graphics.pictures, graphics.drawings
            content.words = [word for word in _read_words(page, frame, graphics) if _is_on_page(word, frame)]
            content.text_from = TextSource.LAYER if content.words else TextSource.NONE
        finally:
            page.close()
        return content

    def draw_pixels(self, number: int, dpi: float) -> tuple[bytes, int, int]:
        """RGB rows of the page, with their width and height; smaller than asked if it would have too many pixels."""
        page = self._document[number - 1]
        width, height = page.get_size()
        scale = min(dpi / 72, 0.999 * math.sqrt(_MOST_PIXELS / max(1.0, width * height)))
        bitmap = page.render(scale=scale, rev_byteorder=True, force_bitmap_format=api.FPDFBitmap_BGR)
        try:
            stride, row = bitmap.stride, bitmap.width * 3
            view = memoryview(bitmap.buffer).cast("B")
            lines = (bytes(view[at * stride : at * stride + row]) for at in range(bitmap.height))
            return b"".join(lines), bitmap.width, bitmap.height
        finally:
            bitmap.close()
            page.close()

    def _read_outline(self) -> dict[int, tuple[str, ...]]:
        """Headings that each page stands under, by the outline of the file."""
        starts: dict[int, tuple[str, ...]] = {}
        path: list[str] = []
        try:
            for entry in self._document.get_toc(max_depth=4):
                destination, title = entry.get_dest(), " ".join((entry.get_title() or "").split())
                index = destination.get_index() if destination else None
                path = [*path[: entry.level], title]
                if index is not None and title:
                    starts.setdefault(index + 1, tuple(path))
        except (pdfium.PdfiumError, ValueError, RecursionError):
            return {}
        headings: dict[int, tuple[str, ...]] = {}
        current: tuple[str, ...] = ()
        for number in range(1, len(self._document) + 1) if starts else ():
            current = starts.get(number, current)
            headings[number] = current
        return headings


def _explain(error: pdfium.PdfiumError) -> RefusalError:
    if getattr(error, "err_code", None) == api.FPDF_ERR_PASSWORD or "password" in str(error).lower():
        return RefusalError(DocumentFault.ENCRYPTED, "needs a password", "Save a copy without one, and add the copy.")
    return RefusalError(DocumentFault.DAMAGED, "is damaged: it cannot be opened as a PDF", "Fetch or export it again.")


def _frame_of(page: Any) -> _Frame:
    left, bottom, right, top = page.get_bbox()
    rotation = page.get_rotation()
    wide, high = (right - left, top - bottom) if rotation in (0, 180) else (top - bottom, right - left)
    return _Frame(left, bottom, right, top, rotation, wide, high)


def _is_on_page(word: Word, frame: _Frame) -> bool:
    x, y = (word.left + word.right) / 2, (word.top + word.bottom) / 2
    return 0 <= x <= frame.width and 0 <= y <= frame.height


# --- pictures and drawn lines ----------------------------------------------------------------------------------------


class _Graphics:
    def __init__(self) -> None:
        self.pictures: list[Rectangle] = []
        self.drawings: list[Rectangle] = []
        self.filled: list[Rectangle] = []
        """Shapes with a colour that white text can be read on."""


def _read_graphics(page: Any, frame: _Frame) -> _Graphics:
    graphics = _Graphics()
    bounds = [ctypes.c_float() for _ in range(4)]
    for item, kind, matrix in _walk_objects(page.raw):
        if kind not in _DRAWN or not api.FPDFPageObj_GetBounds(item, *bounds):
            continue
        left, bottom, right, top = _apply(matrix, *(value.value for value in bounds))
        place = Rectangle(*frame.place(left, bottom, right, top))
        if place.right < 0 or place.bottom < 0 or place.left > frame.width or place.top > frame.height:
            continue
        if kind == api.FPDF_PAGEOBJ_IMAGE:
            if place.area > _SMALLEST_PICTURE_POINTS:
                graphics.pictures.append(place)
        else:
            _note_shape(graphics, item, kind, place)
    return graphics


def _note_shape(graphics: _Graphics, item: Any, kind: int, place: Rectangle) -> None:
    if kind == api.FPDF_PAGEOBJ_SHADING:
        graphics.filled.append(place)
        return
    if len(graphics.drawings) < _MOST_DRAWINGS:
        graphics.drawings.append(place)
    if place.height <= _SMALLEST_FILL_POINTS:
        return
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    has_fill = api.FPDFPageObj_GetFillColor(item, red, green, blue, alpha) and alpha.value
    if has_fill and min(red.value, green.value, blue.value) < _WHITE:
        graphics.filled.append(place)


_Matrix = tuple[float, float, float, float, float, float]


def _walk_objects(page: Any) -> Iterator[tuple[Any, int, _Matrix | None]]:
    """Objects of a page and of the forms in it, with the matrix of the form that they are in."""
    seen = 0
    counter, getter = api.FPDFPage_CountObjects, api.FPDFPage_GetObject
    waiting: list[tuple[Any, Any, Any, _Matrix | None, int]] = [(page, counter, getter, None, 0)]
    while waiting:
        holder, count, get, matrix, depth = waiting.pop()
        for index in range(count(holder)):
            seen += 1
            if seen > _MOST_OBJECTS:
                return
            item = get(holder, index)
            kind = api.FPDFPageObj_GetType(item)
            if kind == api.FPDF_PAGEOBJ_FORM and depth < _MOST_DEPTH:
                own = api.FS_MATRIX()
                api.FPDFPageObj_GetMatrix(item, own)
                within = _multiply((own.a, own.b, own.c, own.d, own.e, own.f), matrix)
                waiting.append((item, api.FPDFFormObj_CountObjects, api.FPDFFormObj_GetObject, within, depth + 1))
            else:
                yield item, kind, matrix


def _multiply(inner: _Matrix, outer: _Matrix | None) -> _Matrix:
    if outer is None:
        return inner
    a, b, c, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc, a * ob + b * od, c * oa + d * oc, c * ob + d * od, e * oa + f * oc + oe, e * ob + f * od + of
    )  # fmt: skip


def _apply(
    matrix: _Matrix | None, left: float, bottom: float, right: float, top: float
) -> tuple[float, float, float, float]:
    if matrix is None:
        return left, bottom, right, top
    a, b, c, d, e, f = matrix
    xs = [a * x + c * y + e for x in (left, right) for y in (bottom, top)]
    ys = [b * x + d * y + f for x in (left, right) for y in (bottom, top)]
    return min(xs), min(ys), max(xs), max(ys)


# --- words -----------------------------------------------------------------------------------------------------------


def _read_words(page: Any, frame: _Frame, graphics: _Graphics) -> Iterator[Word]:
    text_page = page.get_textpage()
    try:
        yield from _WordReader(text_page.raw, frame, graphics).words(min(text_page.count_chars(), _MOST_CHARACTERS))
    finally:
        text_page.close()


class _WordReader:
    """Joins the letters of a page, in the order of the file, into words."""

    def __init__(self, text: Any, frame: _Frame, graphics: _Graphics) -> None:
        self._text = text
        self._frame = frame
        self._graphics = graphics
        self._letters: list[str] = []
        self._place: list[float] = []
        self._first = 0
        self._angle = 0
        self._is_after_space = False
        self._bold_fonts: dict[int, bool] = {}
        self._colour = tuple(ctypes.c_uint() for _ in range(4))

    def words(self, count: int) -> Iterator[Word]:
        text, box = self._text, api.FS_RECTF()
        unicode_of, box_of = api.FPDFText_GetUnicode, api.FPDFText_GetLooseCharBox
        for index in range(count):
            letter = _letter(unicode_of(text, index))
            if letter.isspace() or not letter:
                yield from self._end()
                self._is_after_space = letter == " " and not api.FPDFText_IsGenerated(text, index)
                continue
            if not box_of(text, index, box):
                continue
            place = self._frame.place(box.left, box.bottom, box.right, box.top)
            if self._letters and not self._goes_on(place, letter):
                yield from self._end()
            if self._letters:
                own = self._place
                self._place = [
                    min(own[0], place[0]), min(own[1], place[1]), max(own[2], place[2]), max(own[3], place[3])
                ]  # fmt: skip
            else:
                self._place, self._first = list(place), index
                self._angle = self._angle_at(index)
            self._letters.append(letter)
        yield from self._end()

    def _angle_at(self, index: int) -> int:
        degrees = math.degrees(api.FPDFText_GetCharAngle(self._text, index))
        return (round(degrees / 90) * 90 + self._frame.rotation) % 360

    def _goes_on(self, place: tuple[float, float, float, float], letter: str) -> bool:
        """Whether a letter stands where the next one of the word would."""
        left, top, right, bottom = self._place
        if self._angle in (0, 180):
            size, shift = bottom - top, abs((place[1] + place[3]) - (top + bottom)) / 2
            gap = place[0] - right if self._angle == 0 else left - place[2]
        else:
            size, shift = right - left, abs((place[0] + place[2]) - (left + right)) / 2
            gap = place[1] - bottom if self._angle == 90 else top - place[3]
        if letter >= "\u0590" and "\u0590" <= self._letters[-1] <= "\u08ff":
            return shift < 0.5 * size
        return shift < 0.5 * size and -1.2 * size < gap < 0.3 * size

    def _end(self) -> Iterator[Word]:
        if not self._letters:
            return
        text, self._letters = "".join(self._letters), []
        is_after_space, self._is_after_space = self._is_after_space, False
        left, top, right, bottom = self._place
        size = bottom - top if self._angle in (0, 180) else right - left
        if size < _SMALLEST_TYPE_POINTS or right <= left or bottom <= top:
            return
        item = api.FPDFText_GetTextObject(self._text, self._first)
        if self._is_hidden(item, self._first, (left + right) / 2, (top + bottom) / 2):
            return
        yield Word(left, top, right, bottom, text, size, self._is_bold(item), self._angle, is_after_space)

    def _is_bold(self, item: Any) -> bool:
        """By the name of its font, as many files state no weight."""
        font = api.FPDFTextObj_GetFont(item) if item else None
        key = ctypes.cast(font, ctypes.c_void_p).value if font else None
        if key is None:
            return False
        if key not in self._bold_fonts:
            name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
            api.FPDFFont_GetBaseFontName(font, name, _FONT_NAME_BYTES)
            weight = api.FPDFFont_GetWeight(font)
            self._bold_fonts[key] = weight >= _BOLD_WEIGHT or _BOLD_NAME.search(name.value) is not None
        return self._bold_fonts[key]

    def _is_hidden(self, item: Any, index: int, x: float, y: float) -> bool:
        """White on white or invisible. Invisible letters over a picture are its words, as a scanner stored them."""
        if item and api.FPDFTextObj_GetTextRenderMode(item) == _INVISIBLE:
            return not any(picture.holds(x, y) for picture in self._graphics.pictures)
        red, green, blue, alpha = self._colour
        if not api.FPDFText_GetFillColor(self._text, index, red, green, blue, alpha):
            return False
        if alpha.value == 0:
            return True
        if min(red.value, green.value, blue.value) < _WHITE:
            return False
        behind = (*self._graphics.filled, *self._graphics.pictures)
        return not any(shape.holds(x, y) for shape in behind)


def _letter(code: int) -> str:
    letter = chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ("" if code == 0 else "\ufffd")
    if letter in _HYPHENS:
        return "-"
    return " " if letter and (letter < " " or "\x7f" <= letter < "\xa0") else letter
