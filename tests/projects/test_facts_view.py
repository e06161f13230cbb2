"""The facts of a project are a view: what its notes, documents and answers say now, each value with its line."""

from datetime import date
from pathlib import Path
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from reveries.llm.tier import Tier
from reveries.projects.document_texts import build_documents
from reveries.projects.documents import note_fallen_chunk, update_document
from reveries.projects.facts_view import ProjectFacts, read_facts
from reveries.projects.model import NewQuestion, QuestionKind
from reveries.projects.sections import split_text
from reveries.projects.timeline import add_tables, build_timeline
from reveries.projects.wake import note_answers
from reveries.protocol import Due
from tests.knowledge.kit import stored_chunk
from tests.projects.kit import Work, open_work
from tests.rows import check_rows

ORCHARD = dedent(
    """\
    ---
    tags: [trees]
    ---
    # Orchard

    ## Nursery, 3 November 2026

    - [ ] pay the deposit by 1 December
    The trees cost 240 EUR in all.

    ## Planting

    Holes 60 cm deep. We plant on 12 December 2026 at 9:30.
    Not on the 5 December 2026, that is called off.
    """
)


def values(found: ProjectFacts) -> set[tuple[str, str, int]]:
    return {(fact.kind.value, fact.value, fact.line) for fact in found.facts}


def facts_of(**documents: str) -> ProjectFacts:
    """The facts of documents by name, as if each was added on 20 November 2026."""
    chunks = [
        stored_chunk(
            id=f"{name}{number}", title=section.title, content=section.content, type=section.type,
            first_line=section.first_line, lead=section.lead, written_on="2026-11-20", document_id=name, document=name,
        )
        for name, text in ((key.replace("_", "."), text) for key, text in documents.items())
        for number, section in enumerate(split_text(name, text, is_own=True))
    ]  # fmt: skip
    return read_facts(chunks)


async def say(work: Work, project_id: str, question: str, answer: str) -> None:
    async with work.store.transaction() as transaction:
        asked = NewQuestion(question, QuestionKind.QUESTION)
        question_id = await work.store.questions.put(transaction, project_id, asked)
    await work.store.questions.answer(question_id, answer)
    await note_answers(work.store, project_id)


def test_each_value_has_its_line_of_the_whole_document_and_days_are_counted_from_its_own_day() -> None:
    found = facts_of(orchard_md=ORCHARD)
    assert {
        ("date", "2026-12-01", 8),
        ("open", "", 8),
        ("amount", "240", 9),
        ("measure", "60", 13),
        ("date", "2026-12-12T09:30", 13),
        ("date", "2026-12-05", 14),
    } <= values(found)


@given(
    st.lists(
        st.sampled_from(["# A", "text", "", "  - item 3 m", "x" * 900, "y" * 2500, "```", "1 May 2027"]), max_size=40
    )
)
def test_a_document_is_put_together_from_its_sections_line_by_line(lines: list[str]) -> None:
    chunks = [
        stored_chunk(
            id=f"k{n:03}", title=s.title, content=s.content, type=s.type, first_line=s.first_line, lead=s.lead,
            document_id="a", document="a.md",
        )
        for n, s in enumerate(split_text("a.md", "\n".join(lines), is_own=True))
    ]  # fmt: skip
    for document in build_documents(chunks):
        known = document.text.split("\n")
        assert [line.strip() for line in known] == [line.strip() for line in lines[: len(known)]]
        assert all(not line.strip() or line.startswith(("#", "`")) for line in lines[len(known) :])


async def test_a_changed_note_a_retracted_piece_and_an_answer_are_seen_at_once(tmp_path: Path) -> None:
    async with open_work(tmp_path, lambda prompt: "", tier=Tier.SMALL) as work:
        project = await work.begin("Orchard")
        await update_document(work.store, project, "orchard.md", ORCHARD, is_own=True)
        await say(
            work, project.id, "How deep do the holes have to be, 60 cm or 80 cm?", "The holes have to be 80 cm deep."
        )
        found = await work.store.read_facts(project.id)
        assert {fact.value for fact in found.facts if fact.unit == "cm"} == {"60", "80"}
        [conflict] = found.conflicts
        assert {conflict.a.value, conflict.b.value} == {"60", "80"}
        moved = ORCHARD.replace("# Orchard\n", "# Orchard\n\nA line more.\n").replace("240", "265")
        await update_document(work.store, project, "orchard.md", moved, is_own=True)
        assert {("amount", "265", 11), ("date", "2026-12-12T09:30", 15)} <= values(
            await work.store.read_facts(project.id)
        )
        [planting] = [one for one in await work.store.knowledge.of_project(project.id) if "Planting" in one.title]
        await note_fallen_chunk(work.store, project, planting.id, "Other trees.")
        after = await work.store.read_facts(project.id)
        assert {fact.value for fact in after.facts if fact.unit == "cm"} == {"80"}
        assert not after.conflicts


def test_what_was_called_off_is_in_no_timeline_and_what_was_missed_is_overdue() -> None:
    found = facts_of(
        plan_txt="Written 2 November 2026\n\n- [ ] order glass by 16 November\nWe met on 9 November.\n"
        "The fitter comes on 24 November at 8:00.\nThe party on 28 November is cancelled.\nHandover: 15 January 2027"
    )
    timeline = build_timeline(found, [], date(2026, 11, 20))
    assert [(entry.due, entry.value, entry.line) for entry in timeline] == [
        (Due.OVERDUE, "2026-11-16", 3),
        (Due.DUE, "2026-11-24T08:00", 5),
        (Due.AHEAD, "2027-01-15", 7),
    ]


@check_rows(
    ("name", "text", "total"),
    [
        ("costs_csv", "what,price\nlamps,12.50 EUR\nwire,7.50 EUR\nTotal,20.00 EUR\n", 20.0),
        ("costs_md", "# Costs\n\n| what | price |\n|---|---|\n| Lampen | 12,50 € |\n| Draht | 7,50 € |\n", 20.0),
        ("back_csv", "what;price\nlamps;612,00\nlamps sent back;-120,00\n", 492.0),
        (
            "zurück_md",
            "| was | Preis |\n|---|---|\n| Filz | 80,00 € |\n| retour | −35 € |\n| Garn | 5,- |\n",
            50.0,
        ),
        ("ledger_md", "| item | amount |\n|---|---|\n| paint | £145.00 |\n| returned tin | (45.00) |\n", 100.0),
        (
            "retour_md",
            "| quoi | prix |\n|---|---|\n| bois | 210 € |\n| clous | 10,00- |\n| vis | - 3 € |\n",
            197.0,
        ),
        ("resa_md", "| voce | importo |\n|---|---|\n| vetro | € 90 |\n| reso | -€ 15,50 |\n", 74.5),
        ("unsure_csv", "what;price\ncloth;80,00\nGutschrift;20,00\n", None),
        ("talk_md", "The lamps were 12.50 EUR and last year we paid 7.50 EUR.\n", None),
    ],
)
def test_tables_are_added_up_with_what_came_back_taken_off_and_no_total_twice(
    name: str, text: str, total: float | None
) -> None:
    sums = add_tables(facts_of(**{name: text}))
    assert [item.value for item in sums] == ([] if total is None else [total])
