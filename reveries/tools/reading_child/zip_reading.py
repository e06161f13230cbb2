"""Files that are zip archives: parts are read up to a size, and XML without what can grow."""

import re
import zipfile
from typing import Final
from xml.etree import ElementTree

from reveries.errors import DocumentFault
from reveries.tools.reading_child.refusal import RefusalError

MOST_PART_BYTES: Final = 200_000_000
_MOST_UNPACKED_BYTES: Final = 500_000_000
_MOST_RATIO: Final = 300
_SMALL_BYTES: Final = 10_000_000
_MOST_PARTS: Final = 20_000
_ENTITIES: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


class Archive:
    """An open zip archive of a document. Methods raise RefusalError."""

    def __init__(self, path: str) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError) as error:
            raise damage("its parts do not open") from error
        parts = self._archive.infolist()
        unpacked = sum(part.file_size for part in parts)
        packed = sum(part.compress_size for part in parts)
        if (
            len(parts) > _MOST_PARTS
            or unpacked > max(_SMALL_BYTES, _MOST_RATIO * packed)
            or unpacked > _MOST_UNPACKED_BYTES
        ):
            raise RefusalError(
                DocumentFault.TOO_LARGE,
                f"would be {unpacked // 1_000_000:,} MB when unpacked, far more than a document of its size",
                "If you know where it is from, open it and save it again; otherwise do not.",
            )
        self.names: Final = {part.filename: part for part in parts}

    def read(self, name: str) -> bytes:
        """A part; empty where there is none of this name."""
        part = self.names.get(name)
        if part is None:
            return b""
        try:
            with self._archive.open(part) as file:
                content = file.read(MOST_PART_BYTES + 1)
        except (zipfile.BadZipFile, RuntimeError, OSError, ValueError, EOFError) as error:
            if part.flag_bits & 1:
                what = "needs a password"
                raise RefusalError(DocumentFault.ENCRYPTED, what, "Save a copy without one, and add it.") from error
            raise damage(f"its part {name} does not open") from error
        except Exception as error:  # zlib and lzma raise errors of their own.
            raise damage(f"its part {name} does not unpack") from error
        if len(content) > MOST_PART_BYTES:
            raise RefusalError(DocumentFault.TOO_LARGE, "has a part that is too large to be read", "Split it.")
        return content

    def read_xml(self, name: str) -> ElementTree.Element | None:
        """The root of a part; None where there is none."""
        content = self.read(name)
        return parse_xml(content, name) if content else None


def parse_xml(content: bytes, name: str) -> ElementTree.Element:
    """The root of an XML text. Raises RefusalError; what declares entities is refused: it may grow without end."""
    if _ENTITIES.search(content[:4_096]):
        raise damage(f"its part {name} declares entities, which documents do not")
    try:
        return ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise damage(f"its part {name} is not whole") from error


def damage(why: str) -> RefusalError:
    return RefusalError(DocumentFault.DAMAGED, f"is damaged: {why}", "Fetch it or save it again.")


def local_name(element: ElementTree.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
