"""Text from the picture of a page (OCR), by ocrust. Its models lie beside it; nothing is fetched."""

import functools
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any, Final, Protocol

from reveries.errors import DocumentFault
from reveries.knowledge.reading.content import PageContent, Word
from reveries.knowledge.reading.layout import TextSource
from reveries.tools.reading_child.png import encode_png
from reveries.tools.reading_child.refusal import RefusalError

_DPI: Final = 150.0
_MOST_PIXELS_A_SIDE: Final = 2_600
"""A larger page is drawn smaller: the model looks at pieces of a line, and time grows with the area."""
_FEWEST_SURE: Final = 0.5
"""Words that the model itself is less sure of are left out."""
_THREADS: Final = 2


class PageDrawer(Protocol):
    def draw_pixels(self, number: int, dpi: float) -> tuple[bytes, int, int]: ...


def recognise_page(drawer: PageDrawer, content: PageContent) -> PageContent:
    """The page with the words of its picture. Its own are kept if they are more. Raises RefusalError."""
    longest = max(content.width, content.height, 1.0) / 72
    pixels, width, height = drawer.draw_pixels(content.number, min(_DPI, _MOST_PIXELS_A_SIDE / longest))
    words = recognise_words(pixels, width, height, content.width / width)
    content.text_from = TextSource.OCR
    if sum(len(word.text) for word in words) >= sum(len(word.text) for word in content.words):
        content.words = words
    return content


def recognise_words(pixels: bytes, width: int, height: int, points_per_pixel: float) -> list[Word]:
    """Words in a picture of RGB rows, placed in points. Raises RefusalError."""
    engine = _load_engine()
    try:
        document = engine.scan(encode_png(pixels, width, height, 3), name="page")
    except (RuntimeError, ValueError, OSError) as error:
        raise RefusalError(
            DocumentFault.CANNOT_RECOGNISE, f"has a page whose picture cannot be read ({type(error).__name__})"
        ) from error
    lines = [line for page in document.pages for line in page.lines if line.confidence >= _FEWEST_SURE]
    return [word for line in lines for word in _words_of(line, points_per_pixel)]


def convert_image(path: Path) -> bytes:
    """A PDF of a picture with its words beneath it, unseen. Raises RefusalError."""
    try:
        return bytes(_load_engine().searchable_pdf(path))
    except (RuntimeError, ValueError, OSError) as error:
        raise RefusalError(
            DocumentFault.DAMAGED, "is damaged: it does not open as a picture", "Fetch it or save it again."
        ) from error


def _words_of(line: Any, scale: float) -> list[Word]:
    angle = _angle_of(line)
    words = []
    for word in line.words or (line,):
        left, top, right, bottom = (value * scale for value in word.box.as_tuple())
        size = right - left if angle in (90, 270) else bottom - top
        if word.text.strip() and right > left and bottom > top:
            words.append(Word(left, top, right, bottom, word.text.strip(), size, angle=angle))
    return words


def _angle_of(line: Any) -> int:
    """Lines that are higher than wide are turned; which way the order of their words says."""
    left, top, right, bottom = line.box.as_tuple()
    if bottom - top < 1.5 * (right - left) or len(line.text) < 3:
        return 0
    tops = [word.box.as_tuple()[1] for word in line.words]
    return 90 if len(tops) > 1 and tops[-1] > tops[0] else 270


@functools.cache
def _load_engine() -> Any:
    """Load the models once: about a second."""
    _point_to_runtime()
    try:
        import ocrust

        return ocrust.Ocr(threads=_THREADS, device="cpu")
    except (ImportError, RuntimeError, ValueError, OSError) as error:
        raise RefusalError(
            DocumentFault.CANNOT_RECOGNISE,
            "has pages without text, and what reads pictures of text does not start here",
            "Run: reveries doctor",
        ) from error


def _point_to_runtime() -> None:
    """Name the runtime's library, so that the whole of its Python package is not loaded to find it."""
    runtime = importlib.util.find_spec("onnxruntime")
    pattern = "libonnxruntime*.dylib" if sys.platform == "darwin" else "libonnxruntime.so*"
    for folder in (runtime.submodule_search_locations or ()) if runtime else ():
        for library in sorted((Path(folder) / "capi").glob(pattern)):
            os.environ["ORT_DYLIB_PATH"] = str(library)
