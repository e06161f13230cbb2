"""Damaged documents: whatever is in a file, its reader gives pages or refuses it, and ends within its limits.

python -m tests.fuzz.documents SEED COUNT        # one process reads COUNT mutants; it prints what came of them
"""

import io
import json
import random
import signal
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from reveries.tools.reading_child.document import open_document
from reveries.tools.reading_child.refusal import RefusalError
from tests.fakes.made_pdf import MadePage, grid_lines, make_pdf
from tests.fuzz.given import mutated

SECONDS = 20
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _pdf() -> bytes:
    table = grid_lines(60, 300, [80, 120, 90], [20] * 6)
    cells = [(64 + 90 * at, 315 + 20 * row, 10, f"cell {row}.{at}") for row in range(6) for at in range(3)]
    first = MadePage([(72, 100, 12, "The rent is 950 euros."), *cells], [(72, 60, 18, "Lease")], lines=table)
    second = MadePage([(72, 120, 12, "Column C4")], turned=[(40, 500, 10, "turned")], rotation=90)
    return make_pdf([first, second], labels="0 << /S /r >>", title="Lease")


def _zipped(parts: dict[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return content.getvalue()


def _docx() -> dict[str, bytes]:
    cell = "<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr><w:p><w:r><w:t>oak</w:t></w:r></w:p></w:tc>"
    body = f"<w:p><w:r><w:t>The door</w:t></w:r></w:p><w:tbl><w:tr>{cell}{cell}</w:tr></w:tbl>"
    return {"word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>".encode()}


def _xlsx() -> dict[str, bytes]:
    rows = '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f>A1*2</f></c></row>'
    return {
        "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" Type="{_OFFICE}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>'.encode(),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Costs" sheetId="1" '
        'r:id="r1"/></sheets></workbook>'.encode(),
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="r1" '
        f'Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'.encode(),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'.encode(),
    }


_MAIL = (
    b"From: Ada <ada@example.org>\nSubject: =?utf-8?q?The_beam?=\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="m"\n\n--m\nContent-Type: text/html; charset=utf-8\n\n'
    b"<p>The beam is <b>late</b>.</p>\n--m\nContent-Type: application/pdf; name=x.pdf\n"
    b"Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nAAAA\n--m--\n"
)
_PAGE = b"<html><body><h1>Lease</h1><table><tr><td rowspan=3>a<td>b</table><ul><li>c<ul><li>d</ul></ul></body></html>"
PLAIN: dict[str, bytes] = {
    "a.pdf": _pdf(),
    "a.eml": _MAIL,
    "a.html": _PAGE,
    "a.csv": b"a;b\n1;2\n",
    "a.md": b"# A\n\n|a|\n|-|\n",
}
ZIPPED: dict[str, dict[str, bytes]] = {"a.docx": _docx(), "a.xlsx": _xlsx()}


def make_mutant(chance: random.Random) -> tuple[str, bytes]:
    """The name and the content of a damaged file. Of archives, half are damaged within their parts."""
    name = chance.choice([*PLAIN, *ZIPPED])
    if name in PLAIN:
        return name, mutated(PLAIN[name], chance)
    parts = dict(ZIPPED[name])
    if chance.random() < 0.5:
        return name, mutated(_zipped(parts), chance)
    part = chance.choice(list(parts))
    return name, _zipped(parts | {part: mutated(parts[part], chance)})


def read_mutants(seed: int, count: int) -> Counter[str]:
    """What came of each mutant: pages, the fault of a refusal, or an error, which the child tells as damage."""
    chance, results = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="rv") as folder:
        for _ in range(count):
            name, content = make_mutant(chance)
            path = Path(folder) / name
            path.write_bytes(content)
            signal.alarm(SECONDS)  # Ends the process: a hang is seen by whoever started it.
            results[_read(path)] += 1
            signal.alarm(0)
    return results


def _read(path: Path) -> str:
    try:
        for _ in open_document(str(path), path.name, "").read_pages(1, frozenset()):
            pass
    except RefusalError as error:
        return error.fault.value
    except Exception as error:  # noqa: BLE001  # As the child does.
        return type(error).__name__
    return "pages"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(read_mutants(int(sys.argv[1]), int(sys.argv[2]))))
