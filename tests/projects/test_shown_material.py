"""What a capable model is shown: pieces of a file in the order of the file, and the contradictions found before."""

from dataclasses import replace
from pathlib import Path

from reveries.knowledge.model import Chunk, ChunkSource, ChunkType, Confidence
from reveries.projects.prompt_material import list_chunks
from reveries.tools.sandbox import find_sandbox
from tests.projects.kit import finished, open_work, tool_services
from tests.projects.test_worker import GOAL, Hand, task_of
from tests.tools.test_task_with_a_folder import step


def make_piece(name: str, document: str | None, line: int) -> Chunk:
    piece = Chunk(
        id=name, project_id="p", title=document or "", content=f"It says {name}.", type=ChunkType.RESOURCE, tags=(),
        confidence=Confidence.VERIFIED, source=ChunkSource.RESEARCH, rests_on=(), task_id=None, fell_because="",
        created_at=0.0, foreign_sources=frozenset(),
    )  # fmt: skip
    return replace(piece, document_id=document, first_line=line)


def test_pieces_of_a_file_stand_together_in_the_order_of_the_file_whatever_fits_best() -> None:
    pieces = [
        make_piece("end", "page.md", 30),
        make_piece("answer", None, 0),
        make_piece("middle", "page.md", 12),
        make_piece("other", "mail.txt", 1),
        make_piece("beginning", "page.md", 1),
    ]
    text, names = list_chunks(pieces, 2_000)
    assert list(names.values()) == ["beginning", "middle", "end", "answer", "other"]
    assert text.index("beginning") < text.index("middle") < text.index("end") < text.index("mail.txt")
    _, fitting = list_chunks(pieces, len(text) - 20)
    assert "beginning" not in fitting.values(), "what fits least is left out first, wherever it stands"


async def test_contradictions_that_were_found_reach_the_plan_the_work_and_the_audit(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "readme.md").write_text("# Shop\n\nThe lease starts on 11 January 2027.\n")
    (folder / "terms.txt").write_text("The lease starts on 4 January 2027.\n")
    hand = Hand(
        plans=[{"tasks": [task_of("Do it")], "success_criteria": ["It is there"]}],
        steps=[step("write_file", path="page.md", text="It is so.\n"), finished()],
        verdicts=[{"why": "It is so.", "accepted": True, "reached": [1]}],
    )
    pair = {"number": 1, "quote_a": "11 January 2027", "quote_b": "4 January 2027", "why": "", "verdict": "contradict"}

    def answer(text: str) -> object:
        return {"pairs": [pair]} if text.startswith("You compare lines") else hand(text)

    async with open_work(tmp_path, answer, services=tool_services(tmp_path, find_sandbox())) as work:
        project = await work.store.create("Shop", str(folder), may_write=True)
        await work.store.set_goal(project, GOAL, None)
        await work.wake(project)
        for kind in ("plan", "step", "audit"):
            [*_, shown] = hand.shown[kind]
            _, _, listed = shown.partition("not to go together, and open")
            assert "readme.md:3: “The lease starts on 11 January 2027.”" in listed, kind
            assert "terms.txt:1: “The lease starts on 4 January 2027.”" in listed, kind
