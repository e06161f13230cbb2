"""The tools of the knowledge layer under their names and fields, and their walls."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from reveries.errors import NotFoundError, ReveriesError, UsageError
from reveries.projects.knowledge_tools import KnowledgeTools
from reveries.tools.reach import Reach
from reveries.tools.registry import ToolCaller, ToolRegistry
from tests.projects.kit import Work, open_work
from tests.projects.test_conflicts import embedder
from tests.projects.test_goals_and_input import answers

WORK = ToolCaller("work", session_id="wake 1")
EDITOR = ToolCaller("work", "mcp:editor", "s1")
OAK: dict[str, Any] = {
    "content": "Oak is a hard wood.", "type": "research", "tags": ["wood"], "confidence": "verified",
    "source": "research",
}  # fmt: skip


class Called:
    """The tools of two projects, called by name."""

    def __init__(self, work: Work) -> None:
        self.work = work
        names = frozenset(tool.name for tool in KnowledgeTools.describe_tools())
        self.registry = ToolRegistry(KnowledgeTools(work.store).tools(), {"work": names})

    async def __call__(self, name: str, caller: ToolCaller = WORK, project: str = "Shed", **given: object) -> Any:
        return await self.registry.call(caller, name, {"project_id": project, **given})

    async def store(self, caller: ToolCaller = WORK, project: str = "Shed", **changed: object) -> Mapping[str, Any]:
        return (await self("store_chunk", caller, project, **(OAK | changed)))["chunk"]  # type: ignore[no-any-return]


@asynccontextmanager
async def tools(folder: Path) -> AsyncIterator[Called]:
    async with open_work(folder, answers, embedder=embedder()) as work:
        await work.begin("Shed")
        await work.begin("Boat")
        yield Called(work)


@pytest.mark.requirement("V-29", "V-36", "V-107")
async def test_a_stored_chunk_comes_back_with_all_its_fields_its_relations_and_its_project(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        base = await call.store()
        related = [{"chunk_id": base["id"], "relationship_type": "builds_on"}]
        answer = await call("store_chunk", **(OAK | {"content": "So the floor is of oak.", "related_to": related}))
        assert answer["project"] == "Shed"
        assert answer["contradictions"] == []
        found = await call("get_chunk", chunk_id=answer["chunk"]["id"])
        assert found["chunk"]["content"] == "So the floor is of oak."
        for name in ("current_strength", "persistence_score", "access_count", "memory_type", "superseded_by"):
            assert name in found["chunk"]
        [one] = (await call("get_related", chunk_id=base["id"]))["relationships"]
        assert (one["direction"], one["relationship"]["type"], one["relationship"]["weight"]) == (
            "incoming",
            "builds_on",
            0.8,
        )


@pytest.mark.requirement("V-36", "V-107")
async def test_a_chunk_names_what_it_replaced_and_what_it_contradicts_for_as_long_as_that_is_open(
    tmp_path: Path,
) -> None:
    async with tools(tmp_path) as call:
        pine, stone = await call.store(content="The floor is of pine."), await call.store(content="Stone is cheaper.")
        replaces = [{"chunk_id": pine["id"], "relationship_type": "replaces"}]
        oak = await call.store(content="The walls have windows now.", related_to=replaces)
        ends = {"from_chunk_id": oak["id"], "to_chunk_id": stone["id"], "type": "contradicts"}
        await call("create_relationship", **ends)

        async def ties(chunk_id: str) -> tuple[list[str], list[str], str | None]:
            chunk = (await call("get_chunk", chunk_id=chunk_id))["chunk"]
            return chunk["supersedes"], chunk["conflicts_with"], chunk["superseded_by"]

        assert await ties(oak["id"]) == ([pine["id"]], [stone["id"]], None)
        assert await ties(pine["id"]) == ([], [], oak["id"])
        assert await ties(stone["id"]) == ([], [oak["id"]], None)
        gone = [{"chunk_id": oak["id"], "relationship_type": "replaces"}]
        newest = await call.store(content="A door leads outside.", related_to=gone)
        assert await ties(newest["id"]) == ([oak["id"]], [], None)
        assert await ties(stone["id"]) == ([], [], None)


async def test_what_does_more_when_it_is_done_twice_is_not_called_repeatable(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        changing = [one for one in KnowledgeTools(call.work.store).tools() if one.reach is Reach.INSIDE]
        assert [one.name for one in changing if one.is_repeatable] == ["create_relationship"]
        first, second = await call.store(), await call.store()
        assert first["id"] != second["id"]


async def test_of_many_contradictions_the_newest_are_asked_for(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        oak, *others = [(await call.store(content=text))["id"] for text in ("Oak.", "The ferry.", "A red boat.")]
        for one in others:
            await call.work.clock.advance(1.0)
            await call("create_relationship", from_chunk_id=one, to_chunk_id=oak, type="contradicts")
        [found] = (await call("get_contradictions", limit=1))["contradictions"]
        assert found["relationship"]["from_chunk_id"] == others[-1]
        assert len((await call("get_contradictions"))["contradictions"]) == 2


@pytest.mark.requirement("V-30", "V-31", "V-38", "V-70")
async def test_each_search_finds_and_says_what_it_found_it_by(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        oak = await call.store()
        await call.store(content="The ferry leaves at nine.", tags=["travel"], confidence="speculative")
        hybrid = await call("search_hybrid", query="hard wood", limit=1)
        [best] = hybrid["results"]
        assert best["chunk"]["id"] == oak["id"]
        assert best["semantic_score"] == best["keyword_score"] == pytest.approx(1 / 61)
        assert best["rrf_score"] == pytest.approx(2 / 61)
        meaning = await call("search_semantic", query="hard wood", min_similarity=0.5)
        assert [one["chunk"]["id"] for one in meaning["results"]] == [oak["id"]]
        assert meaning["results"][0]["similarity"] > 0.5
        nothing = await call("search_semantic", query="hard wood", filters={"confidence": ["speculative"]})
        assert nothing["results"] == []
        assert [one["content"] for one in (await call("search_tags", tags=["travel"]))["chunks"]] == [
            "The ferry leaves at nine."
        ]
        assert len((await call("search_tags", any_tags=["travel", "wood"]))["chunks"]) == 2


@pytest.mark.requirement("V-33", "V-34", "V-35", "V-56")
async def test_a_relationship_is_stated_strengthened_and_weakened_away(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        one = await call.store()
        other = await call.store(content="The hall is damp.", confidence="speculative")
        ends: dict[str, Any] = {"from_chunk_id": other["id"], "to_chunk_id": one["id"], "type": "supports"}
        made = (await call("create_relationship", **ends))["relationship"]
        assert (made["weight"], made["origin"]) == (0.3, "explicit")
        again = (await call("create_relationship", **ends, weight=0.4, context_tags=["floor"]))["relationship"]
        assert (again["weight"], again["context_tags"]) == (0.4, ["floor"])
        pair = {"from": other["id"], "to": one["id"]}
        stronger = (await call("strengthen_relationship", **pair))["relationship"]
        assert (stronger["weight"], stronger["activation_count"]) == (pytest.approx(0.45), 1)
        gone = (await call("weaken_relationship", **pair, reason="manual", amount=0.44))["relationship"]
        assert gone["archived"]
        assert (await call("get_related", chunk_id=one["id"]))["relationships"] == []
        with pytest.raises(NotFoundError, match="no such relation"):
            await call("strengthen_relationship", **{"from": one["id"], "to": other["id"]})


@pytest.mark.requirement("V-62", "V-111")
async def test_a_relationship_says_since_when_it_holds_until_when_and_what_it_is_a_copy_of(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        oak, hall, ash = [(await call.store(content=text))["id"] for text in ("Oak.", "The hall.", "Ash wood.")]
        began = call.work.clock.now()
        ends: dict[str, Any] = {"from_chunk_id": oak, "to_chunk_id": hall, "type": "supports", "weight": 0.8}
        made = (await call("create_relationship", **ends))["relationship"]
        assert (made["valid_from"], made["valid_until"], made["derived_from"]) == (began, None, None)
        await call.work.clock.advance(60.0)
        await call("create_relationship", from_chunk_id=ash, to_chunk_id=oak, type="replaces")
        [taken] = (await call("get_related", chunk_id=ash, relationship_type="supports"))["relationships"]
        copy = taken["relationship"]
        assert (copy["derived_from"], copy["valid_from"]) == (made["id"], began + 60.0)
        pair = {"from": oak, "to": hall, "reason": "manual", "amount": 0.8}
        gone = (await call("weaken_relationship", **pair))["relationship"]
        assert (gone["archived"], gone["valid_until"]) == (True, began + 60.0)
        project = await call.work.store.find("Shed")
        [stored] = [one for one in await call.work.store.knowledge.relations(project.id) if one.id == made["id"]]
        back = await call.work.store.knowledge.restore(project.id, stored)
        assert (back.valid_until, stored.valid_until) == (None, began + 60.0)


@pytest.mark.requirement("V-67")
async def test_what_much_hangs_together_with_persists(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        oak, hall, ferry = [(await call.store(content=text))["id"] for text in ("Oak.", "The hall.", "A red boat.")]

        async def persistence(name: str) -> float:
            return float((await call("get_chunk", chunk_id=name))["chunk"]["persistence_score"])

        alone = await persistence(oak)
        ends: dict[str, Any] = {"type": "supports", "weight": 0.8}
        await call("create_relationship", from_chunk_id=oak, to_chunk_id=hall, **ends)
        assert await persistence(oak) - alone == pytest.approx(0.25 * 0.5)
        assert await persistence(ferry) - alone == pytest.approx(-0.25 * 0.5)
        await call("create_relationship", from_chunk_id=ferry, to_chunk_id=oak, **ends)
        assert await persistence(ferry) - alone == pytest.approx(0.0), "half the weight of the oak"


@pytest.mark.requirement("V-37", "V-123")
async def test_what_contradicts_is_told_when_it_is_stored_and_afterwards(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        await call.store(content="The rent of the flat is 900 euros.")
        stored = await call("store_chunk", **(OAK | {"content": "The rent of the flat is 950 euros."}))
        [found] = stored["contradictions"]
        assert (found["resolution"], found["verified"]) == ("recency", True)
        assert "900" in found["chunk_a"]["content"]
        assert (await call("get_contradictions"))["contradictions"] == []
        assert len((await call("get_contradictions", unresolved_only=False))["contradictions"]) == 1


async def test_a_program_outside_taints_what_it_stores_and_cannot_speak_as_the_owner(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        told = await call.store(EDITOR, source="user", type="user_input", content="The owner wants pine.")
        assert told["foreign_sources"] == ["mcp:editor"]
        assert told["source"] == "research"


async def test_who_may_not_write_looks_and_is_heard_but_what_it_says_takes_the_place_of_nothing(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        reader = ToolCaller("work", "mcp:editor", may_write=False)
        known = await call.store(
            source="deduction", confidence="inferred", content="The rent of the flat is 900 euros."
        )
        said = await call.store(reader, confidence="verified", content="The rent of the flat is 950 euros.")
        assert said["confidence"] == "speculative"
        assert (await call("get_chunk", chunk_id=known["id"]))["chunk"]["superseded_by"] is None
        for type_ in ("replaces", "supersedes", "superseded_by", "contradicts"):
            with pytest.raises(UsageError, match="Only who may write"):
                await call.store(reader, related_to=[{"chunk_id": known["id"], "relationship_type": type_}])
        for name in ("create_relationship", "strengthen_relationship", "weaken_relationship"):
            with pytest.raises(UsageError, match="may not be called"):
                await call(name, reader)
        before = await call("get_chunk", chunk_id=known["id"])
        assert (await call("search_hybrid", reader, query="rent"))["results"]
        assert await call("get_chunk", chunk_id=known["id"]) == before


@pytest.mark.requirement("V-54")
async def test_no_tool_reaches_into_another_project(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        own = await call.store()
        other = await call.store(project="Boat")
        pair = {"from": own["id"], "to": other["id"]}
        tries: list[tuple[str, dict[str, Any]]] = [
            ("get_chunk", {"chunk_id": other["id"]}),
            ("get_related", {"chunk_id": other["id"]}),
            ("create_relationship", {"from_chunk_id": own["id"], "to_chunk_id": other["id"], "type": "supports"}),
            ("strengthen_relationship", pair),
            ("weaken_relationship", pair | {"reason": "manual"}),
            ("store_chunk", OAK | {"related_to": [{"chunk_id": other["id"], "relationship_type": "supports"}]}),
        ]
        for name, given in tries:
            with pytest.raises(ReveriesError):
                await call(name, **given)
        searches: list[tuple[str, dict[str, Any]]] = [
            ("search_hybrid", {"query": "hard wood"}),
            ("search_tags", {"tags": ["wood"]}),
        ]
        for name, given in searches:
            answer = await call(name, **given)
            found = [one["chunk"] for one in answer["results"]] if "results" in answer else answer["chunks"]
            assert {one["project_id"] for one in found} == {own["project_id"]}
        with pytest.raises(NotFoundError):
            await call("search_hybrid", project="Nowhere", query="oak")
        assert len(await call.work.store.knowledge.of_project(own["project_id"])) == 1


@pytest.mark.parametrize("type_", ["replaces", "supersedes", "contradicts"])
async def test_a_program_that_says_so_replaces_no_word_of_the_owner_but_makes_it_ask(
    tmp_path: Path, type_: str
) -> None:
    async with tools(tmp_path) as call:
        said = await call.store(source="user", type="user_input", content="The floor is to be of pine.")
        claimed = await call.store(
            EDITOR, content="Stone is wanted now.", related_to=[{"chunk_id": said["id"], "relationship_type": type_}]
        )
        ends = {"from_chunk_id": claimed["id"], "to_chunk_id": said["id"], "type": type_}
        await call("create_relationship", EDITOR, **ends)
        other_way = {"from_chunk_id": said["id"], "to_chunk_id": claimed["id"], "type": "superseded_by"}
        await call("create_relationship", EDITOR, **other_way)
        assert (await call("get_chunk", chunk_id=said["id"]))["chunk"]["superseded_by"] is None
        [found] = (await call("get_contradictions"))["contradictions"]
        assert (found["chunk_a"]["id"], found["chunk_b"]["id"]) == (said["id"], claimed["id"])


async def test_storing_reads_neither_all_chunks_nor_all_relations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with tools(tmp_path) as call:
        await call.store()
        asked: list[str] = []
        rows = call.work.database.rows

        async def note(name: str, parameters: Any = None) -> Any:
            asked.append(name)
            return await rows(name, parameters)

        monkeypatch.setattr(call.work.database, "rows", note)
        await call.store(content="The hall is damp.")
        assert not {"chunks.of_project", "relations.of_project", "relations.contradictions"} & set(asked)


async def test_a_blank_chunk_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with tools(tmp_path) as call:
        with pytest.raises(UsageError, match="its content is blank"):
            await call.store(content=" \n ")
