"""Projects of a database of Visioneer arrive whole, under another program's name, and begin nothing (V-137)."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.errors import InputDataError, InputFileError, ModelUnavailableError
from reveries.knowledge.model import ChunkType, Confidence, RelationType
from reveries.llm.base import Vectors
from reveries.projects.model import AgentStatus, Phase, QuestionStatus, TaskStatus
from reveries.projects.visioneer_file import read_texts, read_time, read_visioneer_file
from reveries.projects.visioneer_import import SOURCE, import_projects, read_page
from reveries.protocol import ImportedProject
from tests.memory.kit import WordEmbedder
from tests.projects.kit import Work, open_work
from tests.projects.test_worker import Hand
from tests.rows import check_rows

TABLES = """
CREATE TABLE projects (id TEXT PRIMARY KEY, created_at TEXT);
CREATE TABLE orientation (project_id TEXT, content TEXT, last_rewritten TEXT, version INTEGER DEFAULT 1);
CREATE TABLE tasks (id TEXT, project_id TEXT, title TEXT, description TEXT, status TEXT DEFAULT 'ready',
    skill_area TEXT,
    depends_on TEXT, blocked_by TEXT, outcome TEXT, created_at TEXT, updated_at TEXT, started_at TEXT,
    completed_at TEXT);
CREATE TABLE questions (id TEXT, project_id TEXT, question TEXT, context TEXT, status TEXT DEFAULT 'open', answer TEXT,
    blocks_tasks TEXT, asked_at TEXT, answered_at TEXT);
CREATE TABLE activities (id TEXT, project_id TEXT, action TEXT, details TEXT, timestamp TEXT);
CREATE TABLE chunks (id TEXT, project_id TEXT, content TEXT, type TEXT, tags TEXT NOT NULL, confidence TEXT,
    source TEXT, created_at TEXT, last_accessed TEXT, last_useful TEXT);
CREATE TABLE relationships (id TEXT, from_chunk_id TEXT, to_chunk_id TEXT, type TEXT, weight REAL DEFAULT 0.5,
    last_activated TEXT, activation_count INTEGER DEFAULT 0, context_tags TEXT, origin TEXT DEFAULT 'explicit',
    created_at TEXT);
CREATE TABLE coretrieval (id TEXT, chunk_a_id TEXT, chunk_b_id TEXT, session_id TEXT, query_context TEXT,
    timestamp TEXT);
CREATE TABLE relationships_archive (id TEXT, from_chunk_id TEXT, to_chunk_id TEXT, type TEXT, final_weight REAL,
    reason TEXT, archived_at TEXT, original_data TEXT);
"""
PAGE = {
    "project_id": "v1", "vision_summary": "Play jazz piano in six months", "success_criteria": ["Three standards"],
    "constraints": ["Five hours a week"], "current_phase": "execution", "active_priorities": ["chords"],
    "skill_map": [{"skill": "chords", "parent": None, "dependencies": [], "status": "in_progress", "notes": "slow"}],
    "key_decisions": [{"decision": "Rootless", "reasoning": "It is shorter.", "date": "2026-02-01T10:00:00Z"}],
    "progress_snapshot": [{"area": "chords", "status": "early", "percent": 20, "blockers": []}], "version": 4,
}  # fmt: skip
DAY = "2026-03-{:02}T10:00:00.000Z"


def insert(connection: sqlite3.Connection, table: str, **row: object) -> None:
    row = {name: json.dumps(value) if isinstance(value, list | dict) else value for name, value in row.items()}
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


def chunk(connection: sqlite3.Connection, name: str, content: str, **more: object) -> None:
    row = {"type": "research", "tags": ["piano"], "confidence": "verified", "source": "research"}
    row |= {"created_at": DAY.format(1), "last_accessed": DAY.format(5)}
    insert(connection, "chunks", id=name, project_id="v1", content=content, **(row | more))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "visioneer.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(TABLES)
        insert(connection, "projects", id="v1", created_at=DAY.format(1))
        insert(connection, "orientation", project_id="v1", content=PAGE, last_rewritten=DAY.format(4))
        # fmt: off
        task = {"project_id": "v1", "description": "d", "skill_area": "chords", "created_at": DAY.format(2)}
        insert(connection, "tasks", id="t1", title="Learn voicings", status="done", outcome="Learned.",
               completed_at=DAY.format(3), **task)
        insert(connection, "tasks", id="t2", title="Practise", status="blocked", depends_on=["t1", "t3"],
               blocked_by=["q1"], **task)
        insert(connection, "tasks", id="t3", title="Buy a metronome", status="in_progress", **task)
        insert(connection, "questions", id="q1", project_id="v1", question="Which standards?", blocks_tasks=["t2"],
               asked_at=DAY.format(2))
        insert(connection, "questions", id="q2", project_id="v1", question="How much time?", status="answered",
               answer="Five hours", asked_at=DAY.format(1), answered_at=DAY.format(2))
        insert(connection, "activities", id="a1", project_id="v1", action="task_completed", details="Learn voicings",
               timestamp=DAY.format(3))
        chunk(connection, "c1", "Rootless voicings leave the bass to the bassist.")
        chunk(connection, "c2", "Q: How much time?\nA: Five hours", type="user_input", source="user")
        later = {"created_at": DAY.format(2), "last_useful": DAY.format(3)}
        chunk(connection, "c3", "Shell voicings are enough for a trio.", **later)
        relation = {"last_activated": DAY.format(6), "activation_count": 4, "created_at": DAY.format(2)}
        insert(connection, "relationships", id="r1", from_chunk_id="c3", to_chunk_id="c1", type="replaces", weight=0.8,
               context_tags=["piano"], **relation)
        insert(connection, "relationships", id="r2", from_chunk_id="c1", to_chunk_id="gone", type="enables", **relation)
        original = {"weight": 0.3, "origin": "implicit", "activation_count": 2, "created_at": DAY.format(1)}
        insert(connection, "relationships_archive", id="x1", from_chunk_id="c2", to_chunk_id="c1", type="related_to",
               final_weight=0.0, reason="contradicted", archived_at=DAY.format(4), original_data=original)
        insert(connection, "coretrieval", id="o1", chunk_a_id="c1", chunk_b_id="c3", session_id="s")
        # fmt: on
        connection.commit()
    return path


def at(day: int) -> float:
    found = read_time(DAY.format(day))
    assert found is not None
    return found


async def bring_in(work: Work, file: Path) -> ImportedProject:
    [imported] = await import_projects(work.store, read_visioneer_file(file))
    return imported


@pytest.mark.requirement("V-137")
async def test_a_project_of_visioneer_arrives_with_all_that_it_held_and_the_same_times(
    tmp_path: Path, file: Path
) -> None:
    async with open_work(tmp_path, Hand()) as work:
        imported = await bring_in(work, file)
        assert (imported.tasks, imported.questions, imported.chunks, imported.relations, imported.log_lines) == (
            3, 2, 3, 2, 1,
        )  # fmt: skip
        assert list(imported.left_out.values()) == [1, 1]
        project = await work.store.find(imported.name)
        state = await work.state(project)
        page = state.orientation.content
        assert (page.vision_summary, page.current_phase) == (PAGE["vision_summary"], Phase.EXECUTION)
        assert page.key_decisions[0].date == read_time("2026-02-01T10:00:00Z")
        assert (page.skill_map[0].notes, page.progress_snapshot[0].percent) == ("slow", 20)

        tasks = {one.title: one for one in state.tasks}
        done = tasks["Learn voicings"]
        assert (done.status, done.outcome, done.completed_at) == (TaskStatus.DONE, "Learned.", at(3))
        assert tasks["Practise"].needs == tuple(sorted((done.id, tasks["Buy a metronome"].id)))
        [asked] = state.open_questions
        assert (tasks["Practise"].status, tasks["Practise"].blocked_by) == (TaskStatus.BLOCKED, (asked.id,))
        assert tasks["Buy a metronome"].status is TaskStatus.READY
        [answered] = [one for one in state.questions if one.status is QuestionStatus.ANSWERED]
        assert (answered.answer, answered.answered_at) == ("Five hours", at(2))

        chunks = {one.content.split()[0]: one for one in await work.store.knowledge.of_project(project.id)}
        rootless, shell = chunks["Rootless"], chunks["Shell"]
        assert (rootless.type, rootless.confidence, rootless.tags) == (
            ChunkType.RESEARCH, Confidence.VERIFIED, ("piano", "research"),
        )  # fmt: skip
        assert (rootless.superseded_by, shell.created_at, shell.last_useful_at) == (shell.id, at(2), at(3))
        relations = {one.type: one for one in await work.store.knowledge.relations(project.id)}
        replaces, archived = relations[RelationType.REPLACES], relations[RelationType.RELATED_TO]
        assert (replaces.weight, replaces.activation_count, replaces.last_activated_at) == (0.8, 4, at(6))
        assert (archived.archived_at, archived.archive_reason, archived.weight) == (at(4), "contradicted", 0.3)
        found = await work.store.knowledge.search.hybrid(project.id, "voicings for a trio", 5)
        assert found[0].chunk.id == shell.id


@pytest.mark.requirement("V-137", "F3")
async def test_nothing_of_another_programs_project_is_the_owners_word_and_nothing_begins_before_a_goal(
    tmp_path: Path, file: Path
) -> None:
    hand = Hand()
    async with open_work(tmp_path, hand) as work:
        imported = await bring_in(work, file)
        project = await work.store.find(imported.name)
        state = await work.state(project)
        assert (project.state, state.goal, state.status) == ("paused", None, AgentStatus.WAITING)
        chunks = await work.store.knowledge.of_project(project.id)
        sources = [one.foreign_sources for one in chunks] + [one.foreign_sources for one in state.tasks]
        sources += [one.foreign_sources for one in state.questions]
        assert all(SOURCE in one for one in (*sources, state.orientation.foreign_sources))
        assert state.activities == () or all("Learn voicings" not in one.details for one in state.activities)
        # Brought in once more it has another name; the first stays as it is.
        assert (await bring_in(work, file)).name != imported.name
        assert hand.requests == 0


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"x" * 200])
def test_a_file_that_is_no_database_of_visioneer_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.db"
    path.write_bytes(content)
    with pytest.raises(InputDataError):
        read_visioneer_file(path)
    with pytest.raises(InputFileError):
        read_visioneer_file(tmp_path / "nowhere.db")


@pytest.mark.parametrize(
    "page",
    [
        "[" * 100_000,
        '{"vision_summary": ' + "9" * 5_000 + "}",
        json.dumps(PAGE | {"key_decisions": [{"decision": "d", "date": 10**400}]}),
        json.dumps(PAGE | {"progress_snapshot": [{"area": "a", "percent": 10**400}]}),
        json.dumps(PAGE | {"skill_map": [{"skill": "s", "status": "\ud800", "dependencies": ["\ud800"]}]}),
        json.dumps(PAGE | {"vision_summary": "deadbeefdeadbeef"}),
    ],
)
async def test_a_page_that_nobody_would_write_leaves_nothing_else_behind(tmp_path: Path, file: Path, page: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE orientation SET content = ?", (page,))
        connection.execute("DROP TABLE coretrieval")
        connection.execute(
            "CREATE VIEW coretrieval AS WITH RECURSIVE n(chunk_a_id) AS (SELECT 1 UNION ALL SELECT 1 FROM n) "
            "SELECT * FROM n"  # It has no end.
        )
        connection.commit()
    async with open_work(tmp_path, Hand()) as work:
        imported = await bring_in(work, file)
        assert (imported.tasks, imported.questions, imported.chunks) == (3, 2, 3)


async def test_a_project_that_cannot_be_stored_whole_is_not_stored_at_all(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise InputDataError("broken", advice="")

    async with open_work(tmp_path, Hand()) as work:
        monkeypatch.setattr(work.store.tasks, "release", fail)
        with pytest.raises(InputDataError):
            await bring_in(work, file)
        assert await work.store.projects() == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(page=st.fixed_dictionaries({}, optional=dict.fromkeys(PAGE, JSON)), value=JSON)
def test_a_page_of_any_form_is_read_as_far_as_it_can_be(page: Mapping[str, object], value: object) -> None:
    assert read_page(page).current_phase in Phase
    assert all(isinstance(one, str) for one in read_texts(value))
    assert read_time(value) is None or (read_time(value) or 0.0) >= 0.0


@check_rows(
    ("value", "seconds"),
    [
        ("2026-03-01T10:00:00Z", 1772359200.0),
        ("2026-03-01T11:00:00+01:00", 1772359200.0),
        ("2026-03-01 10:00:00", 1772359200.0),
        (1772359200, 1772359200.0),
        (1772359200000, 1772359200.0),
        ("soon", None),
        (None, None),
        (True, None),
        (float("nan"), None),
    ],
)
def test_a_time_is_read_in_the_forms_that_are_in_use(value: object, seconds: float | None) -> None:
    assert read_time(value) == seconds


class FailingEmbedder(WordEmbedder):
    """Fails for the texts of one project."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if any("balcony" in text for text in texts):
            raise ModelUnavailableError("The embedder does not answer.", advice="Try again.")
        return await super().embed(texts)


async def test_where_the_second_project_of_a_file_cannot_be_brought_in_the_first_is_not_either(
    tmp_path: Path, file: Path
) -> None:
    with closing(sqlite3.connect(file)) as connection:
        insert(connection, "projects", id="v2", created_at=DAY.format(2))
        page = PAGE | {"project_id": "v2", "vision_summary": "Grow tomatoes on a balcony"}
        insert(connection, "orientation", project_id="v2", content=page, last_rewritten=DAY.format(4))
        row = {"type": "research", "tags": [], "confidence": "verified", "source": "research"}
        insert(connection, "chunks", id="c9", project_id="v2", content="The balcony faces south.", **row)
        connection.commit()
    async with open_work(tmp_path, Hand(), embedder=FailingEmbedder()) as work:
        with pytest.raises(ModelUnavailableError):
            await import_projects(work.store, read_visioneer_file(file))
        assert await work.store.projects() == []
    async with open_work(tmp_path, Hand(), first_id=100) as work:
        imported = await import_projects(work.store, read_visioneer_file(file))
        assert {one.name for one in imported} == {one.name for one in await work.store.projects()}
        assert len(imported) == 2
