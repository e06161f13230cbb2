"""PDFs written by hand, so that a test knows where each word stands."""

import math
from dataclasses import dataclass, field


@dataclass
class MadePage:
    """Texts are (x, y, size, text) with y of the base line from the top, in points; lines are (x0, y0, x1, y1)."""

    texts: list[tuple[float, float, float, str]] = field(default_factory=list)
    bold: list[tuple[float, float, float, str]] = field(default_factory=list)
    turned: list[tuple[float, float, float, str]] = field(default_factory=list)
    """Read from the bottom to the top."""
    lines: list[tuple[float, float, float, float]] = field(default_factory=list)
    raw: str = ""
    """Further operators of the page's content."""
    width: float = 612
    height: float = 792
    rotation: int = 0
    crop: tuple[float, float, float, float] | None = None


def make_pdf(pages: list[MadePage], *, labels: str = "", title: str = "") -> bytes:
    """A PDF of these pages; `labels` is the content of its /PageLabels /Nums."""
    kids = " ".join(f"{5 + 2 * at} 0 R" for at in range(len(pages)))
    page_labels = f" /PageLabels << /Nums [{labels}] >>" if labels else ""
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{page_labels} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    ]
    for at, page in enumerate(pages):
        crop = f" /CropBox [{' '.join(map(str, page.crop))}]" if page.crop else ""
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {page.width} {page.height}]{crop} /Rotate {page.rotation} "
            f"/Contents {6 + 2 * at} 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>"
        )
        content = _content(page)
        objects.append(f"<< /Length {len(content.encode('cp1252'))} >>\nstream\n{content}\nendstream")
    if title:
        objects.append(f"<< /Title ({title}) >>")
    return _write(objects, info=len(objects) if title else 0)


def make_text_pdf(*lines: str) -> bytes:
    """One page with these lines."""
    return make_pdf([MadePage([(72, 100 + 16 * at, 12, line) for at, line in enumerate(lines)])])


def _content(page: MadePage) -> str:
    parts = [page.raw] if page.raw else []
    for font, texts in (("F1", page.texts), ("F2", page.bold)):
        parts += [
            f"BT /{font} {size} Tf 1 0 0 1 {x} {page.height - y} Tm ({_escape(text)}) Tj ET"
            for x, y, size, text in texts
        ]
    parts += [
        f"BT /F1 {size} Tf 0 1 -1 0 {x} {page.height - y} Tm ({_escape(text)}) Tj ET"
        for x, y, size, text in page.turned
    ]
    parts += [f"0.5 w {x0} {page.height - y0} m {x1} {page.height - y1} l S" for x0, y0, x1, y1 in page.lines]
    return "\n".join(parts)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _write(objects: list[str], *, info: int) -> bytes:
    content, places = bytearray(b"%PDF-1.7\n"), []
    for number, text in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{text}\nendobj\n".encode("cp1252")
    start = len(content)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    content += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
    named = f" /Info {info} 0 R" if info else ""
    content += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R{named} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(content)


def grid_lines(
    left: float, top: float, widths: list[float], heights: list[float]
) -> list[tuple[float, float, float, float]]:
    """The ruling lines of a table with columns of these widths and rows of these heights."""
    right, bottom = left + math.fsum(widths), top + math.fsum(heights)
    xs = [left + math.fsum(widths[:at]) for at in range(len(widths) + 1)]
    ys = [top + math.fsum(heights[:at]) for at in range(len(heights) + 1)]
    return [(x, top, x, bottom) for x in xs] + [(left, y, right, y) for y in ys]
