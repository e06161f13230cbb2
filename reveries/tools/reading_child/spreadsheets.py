"""Workbooks by calamine, and CSV: rows under their head, a page for each piece of a sheet."""

import csv
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import python_calamine as calamine

from reveries.errors import DocumentFault
from reveries.knowledge.reading.flow import FlowBlock, table_text
from reveries.knowledge.reading.layout import DocumentForm, PageKind, PointerKind
from reveries.tools.reading_child.flow_document import FlowDocument
from reveries.tools.reading_child.refusal import RefusalError
from reveries.tools.reading_child.zip_reading import Archive
from reveries.tools.sandboxed.text_decoding import decode_text

_PIECE_ROWS: Final = 40
_PIECE_CHARACTERS: Final = 3_000
_MOST_ROWS: Final = 200_000
_FORMULA_WITHOUT_VALUE: Final = re.compile(rb"<f[^>]*>[^<]*</f>\s*(?:<v\s*/>|<v></v>)?\s*</c>")
_ZIP: Final = b"PK\x03\x04"


def open_workbook(path: str) -> FlowDocument:
    """Open a workbook. Raises RefusalError."""
    remarks = list(_zip_remarks(path))
    try:
        workbook = calamine.CalamineWorkbook.from_path(path)
        hidden = [
            sheet.name for sheet in workbook.sheets_metadata if sheet.visible != calamine.SheetVisibleEnum.Visible
        ]
        blocks = [block for name in workbook.sheet_names for block in _sheet(workbook, name, is_hidden=name in hidden)]
    except RefusalError:
        raise
    except calamine.PasswordError as error:
        raise RefusalError(
            DocumentFault.ENCRYPTED, "needs a password", "Save a copy without one, and add it."
        ) from error
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise RefusalError(DocumentFault.DAMAGED, "is damaged: its sheets do not open", "Save it again.") from error
    if hidden:
        remarks.append(f"Hidden in it, but read: {', '.join(hidden)}.")
    return FlowDocument(DocumentForm.WORKBOOK, blocks, remarks=tuple(remarks), kind=PageKind.SPREADSHEET)


def open_csv(path: str) -> FlowDocument:
    """Open a table of plain text. Raises RefusalError."""
    text = read_text(path)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=_find_divider(text)))
    if len(rows) > _MOST_ROWS:
        raise _too_many(len(rows))
    blocks = list(_pieces("Table", rows))
    return FlowDocument(DocumentForm.CSV, blocks, kind=PageKind.SPREADSHEET)


def read_text(path: str) -> str:
    """A file of text in any usual encoding. Raises RefusalError."""
    try:
        return decode_text(Path(path).read_bytes())
    except ValueError as error:
        raise RefusalError(
            DocumentFault.UNKNOWN_FORMAT,
            "is text of an encoding that is not certain",
            "Save it as UTF-8, and add that.",
        ) from error


def _zip_remarks(path: str) -> Iterator[str]:
    """What calamine does not tell: formulas whose value was never computed. Checks for zip bombs as well."""
    with Path(path).open("rb") as file:
        if file.read(4) != _ZIP:
            return
    archive = Archive(path)
    sheets = [name for name in archive.names if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
    missing = sum(len(_FORMULA_WITHOUT_VALUE.findall(archive.read(name))) for name in sheets)
    if missing:
        formulas = "One formula has" if missing == 1 else f"{missing} formulas have"
        yield f"{formulas} no stored value and {'is' if missing == 1 else 'are'} read as empty: open it and save it."


def _sheet(workbook: Any, name: str, *, is_hidden: bool) -> Iterator[FlowBlock]:
    sheet = workbook.get_sheet_by_name(name)
    if sheet.total_height > _MOST_ROWS:
        raise _too_many(sheet.total_height)
    rows = [[_format(cell) for cell in row] for row in sheet.to_python(skip_empty_area=False)]
    yield from _pieces(f"{name} (hidden)" if is_hidden else name, rows)


def _pieces(name: str, rows: Sequence[Sequence[str]]) -> Iterator[FlowBlock]:
    """Rows in pieces of a page, each under the head of the sheet, named by the range of cells."""
    filled = [number for number, row in enumerate(rows) if any(row)]
    yield FlowBlock(PointerKind.PARAGRAPH, "", label=name)
    if not filled:
        return
    head, last_column = filled[0], _column_name(max(len(row) for row in rows))
    piece: list[int] = []
    length = 0
    for number in [*filled, None]:
        size = sum(map(len, rows[number])) if number is not None else 0
        if piece and (number is None or len(piece) >= _PIECE_ROWS or length + size > _PIECE_CHARACTERS):
            shown = piece if piece[0] == head else [head, *piece]
            title = f"{name}!A{piece[0] + 1}:{last_column}{piece[-1] + 1}"
            yield FlowBlock(PointerKind.TABLE, table_text(rows[at] for at in shown), title=title)
            piece, length = [], 0
        if number is not None:
            piece.append(number)
            length += size


def _column_name(count: int) -> str:
    name = ""
    while count > 0:
        count, letter = divmod(count - 1, 26)
        name = chr(65 + letter) + name
    return name or "A"


def _format(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else str(cell)


def _find_divider(text: str) -> str:
    """The sign that divides the cells of most of the first lines into the same number."""
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    alike = {}
    for sign in (";", "\t", "|", ","):
        counts = [line.count(sign) for line in lines]
        alike[sign] = sum(count == counts[0] > 0 for count in counts)
    best = max(alike, key=lambda sign: alike[sign])
    return best if alike[best] else ","


def _too_many(rows: int) -> RefusalError:
    what = f"has {rows:,} rows; up to {_MOST_ROWS:,} are read"
    return RefusalError(DocumentFault.TOO_LARGE, what, "Split it, or add the part that matters.")
