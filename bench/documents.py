"""Documents: the right page, the right place on it, and a quote that stands there, on public sets of PDFs.

    python bench/documents.py --data DIR [--sets financebench mmdoc] [--out FOLDER] [--scorer score_pages.py]

DIR has a folder for each set: `questions.jsonl` (`id`, `question`, `document`) and `pdfs/DOCUMENT.pdf`. Files are read
by the product's child, pages without text by its OCR, and ranked by `DocumentIndex`, which answers in the product too:
there is no ranking code here. One configuration for all sets; no language model takes part. Gold is not read: runs are
written for a scorer, which is called if it is named.

Two runs a set: `SET.named` searches within the document that a question names (its words are weighed over all),
`SET.all` over every document of the set. `--words` ranks without vectors, `--layer` reads no pictures. Pages that were
read and vectors are kept in --cache.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from reveries.errors import DocumentError
from reveries.knowledge.document_index import DocumentIndex, IndexedPage, IndexedPointer, RankedPointer, rank_pages
from reveries.knowledge.pages import situate
from reveries.knowledge.reading.layout import CutPage, CutPointer
from reveries.llm.assets import find_weights
from reveries.llm.onnx_embedding import OnnxEmbedder
from reveries.tools.document_reader import SandboxedDocumentReader
from reveries.tools.sandbox import find_sandbox

SETS = ("financebench", "mmdoc")
DEPTH = 3_000
"""Pointers that are ranked: several share a page."""
LISTED = 100
READERS = 2
BATCH = 64
decode_pages = msgspec.msgpack.Decoder(list[CutPage]).decode


@dataclass
class ReadSet:
    """The documents of a set, read, and its questions."""

    name: str
    folder: Path
    pages: dict[str, list[CutPage]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def questions(self) -> Iterator[dict[str, str]]:
        for line in (self.folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield {"id": row["id"], "question": row["question"], "document": row["document"]}


# --- reading ---------------------------------------------------------------------------------------------------------


async def read_set(folder: Path, cache: Path, *, recognise: bool) -> ReadSet:
    """Read every PDF of a set, or take what an earlier run read."""
    read = ReadSet(folder.name, folder)
    paths = sorted((folder / "pdfs").glob("*.pdf"))
    waiting = iter(paths)
    began = time.perf_counter()

    async def work() -> None:
        reader = SandboxedDocumentReader(await asyncio.to_thread(find_sandbox))
        try:
            for path in waiting:
                read.pages[path.stem] = await read_document(reader, path, cache, recognise=recognise)
        finally:
            await reader.close()

    async with asyncio.TaskGroup() as group:
        for number in range(READERS):
            group.create_task(work(), name=f"reader {number}")
    read.seconds = time.perf_counter() - began
    read.pages = {path.stem: read.pages[path.stem] for path in paths}
    return read


async def read_document(reader: SandboxedDocumentReader, path: Path, cache: Path, *, recognise: bool) -> list[CutPage]:
    """Pages of a document; those without text from their picture."""
    kept = cache / f"{path.stem}.pages"
    if kept.exists():
        pages = decode_pages(kept.read_bytes())
    else:
        pages = [page async for page in reader.read(path)]
        kept.write_bytes(msgspec.msgpack.encode(pages))
    if not recognise:
        return pages
    return [await recognise_page(reader, path, page, cache) if page.needs_recognition else page for page in pages]


async def recognise_page(reader: SandboxedDocumentReader, path: Path, page: CutPage, cache: Path) -> CutPage:
    kept = cache / f"{path.stem}.{page.number}.recognised"
    if kept.exists():
        return msgspec.msgpack.decode(kept.read_bytes(), type=CutPage)
    try:
        recognised = await reader.recognise(path, page.number)
    except DocumentError as error:
        print(f"{path.name}, page {page.number}: {error}", file=sys.stderr)
        return page
    kept.write_bytes(msgspec.msgpack.encode(recognised))
    return recognised


# --- the index -------------------------------------------------------------------------------------------------------


def pointers_of(read: ReadSet) -> Iterator[tuple[str, CutPage, int, CutPointer]]:
    """Every pointer with its document, page and place on the page."""
    for document, pages in read.pages.items():
        for page in pages:
            for at, pointer in enumerate(page.pointers, 1):
                yield document, page, at, pointer


async def embed_pointers(read: ReadSet, embedder: OnnxEmbedder, cache: Path) -> npt.NDArray[np.float32]:
    """Vectors of all pointers, each with the line that situates it, document by document."""
    parts = [np.zeros((0, embedder.dimensions), np.float32)]
    for document, pages in read.pages.items():
        texts = [
            f"{situate(document, page, pointer.title)}\n{pointer.text}" for page in pages for pointer in page.pointers
        ]
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
        kept = cache / f"{document}.{digest}.npy"
        if not kept.exists():
            vectors = [np.asarray(await embedder.embed(texts[at : at + BATCH])) for at in range(0, len(texts), BATCH)]
            np.save(kept, np.concatenate([parts[0], *vectors]).astype(np.float32))
        parts.append(np.load(kept))
    return np.concatenate(parts)


def build_index(read: ReadSet, dimensions: int, vectors: npt.NDArray[np.float32] | None) -> DocumentIndex:
    """The product's index over all pages of a set. Ids are `document#page#place`."""
    index, at = DocumentIndex(dimensions), 0
    for document, pages in read.pages.items():
        indexed = []
        for page in pages:
            pointers = []
            for place, pointer in enumerate(page.pointers, 1):
                vector = vectors[at] if vectors is not None else None
                name = f"{document}#{page.number}#{place}"
                pointers.append(IndexedPointer(name, situate(document, page, pointer.title), pointer.text, vector))
                at += 1
            context = f"{document} {page.section} {page.label}"
            indexed.append(
                IndexedPage(f"{document}#{page.number}", document, page.number, context, page.text, pointers)
            )
        index.add(indexed)
    return index


def list_pages(ranked: Iterable[RankedPointer]) -> list[list[object]]:
    return [[item.page_id.rpartition("#")[0], item.page_number] for item in rank_pages(list(ranked))][:LISTED]


def list_boxes(ranked: Iterable[RankedPointer], places: dict[str, list[list[object]]]) -> list[list[object]]:
    return [box for item in ranked for box in places[item.pointer_id]][:LISTED]


def place_boxes(read: ReadSet) -> dict[str, list[list[object]]]:
    """Boxes of each pointer in points."""
    places: dict[str, list[list[object]]] = {}
    for document, page, at, pointer in pointers_of(read):
        sizes = {
            other.number: (other.width, other.height)
            for other in read.pages[document][page.number - 1 : page.number + 5]
        }
        boxes: list[list[object]] = []
        for placed in pointer.boxes:
            width, height = sizes.get(placed.page, (page.width, page.height))
            box = placed.box
            if box.width > 0 and box.height > 0:
                corners = (box.x * width, box.y * height, (box.x + box.width) * width, (box.y + box.height) * height)
                boxes.append([document, placed.page, *(round(value, 1) for value in corners)])
        places[f"{document}#{page.number}#{at}"] = boxes
    return places


# --- runs ------------------------------------------------------------------------------------------------------------


async def write_runs(read: ReadSet, index: DocumentIndex, embedder: OnnxEmbedder, out: Path, suffix: str) -> list[Path]:
    """One run within the named document, one over all."""
    questions, places = list(read.questions), place_boxes(read)
    cues = await embedder.embed([row["question"] for row in questions])
    written = []
    for where in ("named", "all"):
        path = out / f"{read.name}.{where}{suffix}.jsonl.gz"
        with gzip.open(path, "wt", encoding="utf-8") as file:
            for row, cue in zip(questions, cues, strict=True):
                documents = {row["document"]} if where == "named" else None
                ranked = index.rank(row["question"], cue, DEPTH, documents=documents)
                line = {"id": row["id"], "pages": list_pages(ranked), "boxes": list_boxes(ranked, places)}
                file.write(json.dumps(line) + "\n")
        written.append(path)
    return written


async def measure(chosen: argparse.Namespace) -> None:
    weights = find_weights("all-minilm-l6-v2")
    embedder = OnnxEmbedder(weights / "model.onnx", weights / "tokenizer.json")
    for name in chosen.sets:
        cache = chosen.cache / name
        cache.mkdir(parents=True, exist_ok=True)
        read = await read_set(chosen.data / name, cache, recognise=not chosen.layer)
        pages = sum(map(len, read.pages.values()))
        print(f"{name}: {len(read.pages)} documents, {pages} pages, {sum(1 for _ in pointers_of(read))} pointers")
        print(f"{name}: read in {read.seconds:.0f} s")
        if chosen.read:
            continue
        vectors = None if chosen.words else await embed_pointers(read, embedder, cache)
        index = build_index(read, embedder.dimensions, vectors)
        for run in await write_runs(read, index, embedder, chosen.out, ".words" if chosen.words else ""):
            print(f"\n{run.name}")
            if chosen.scorer:
                command = [sys.executable, str(chosen.scorer), str(run), "--data", str(chosen.data / name)]
                await asyncio.to_thread(subprocess.run, command, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--out", type=Path, default=Path("/tmp"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/reveries-documents"))
    parser.add_argument("--scorer", type=Path)
    parser.add_argument("--words", action="store_true", help="rank by words alone")
    parser.add_argument("--layer", action="store_true", help="no OCR")
    parser.add_argument("--read", action="store_true", help="read into the cache, and stop")
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    asyncio.run(measure(chosen))


if __name__ == "__main__":
    main()
