"""Views of the daemon: the context of the last turn, why something surfaced, the self-model."""

from pathlib import Path

import pytest

from reveries import protocol
from reveries.daemon.talk.last_turns import KEPT_CONVERSATIONS, LastTurns, context_parts
from reveries.db.database import Transaction
from reveries.errors import ModelUnavailableError, NotFoundError, UsageError
from reveries.llm.base import Prompt
from reveries.llm.tier import Tier
from reveries.memory.changes import ChangeSet, Dormancy
from reveries.memory.importing import PastTurn
from tests.daemon.asking import ask
from tests.daemon.kit import Talk, small, talking
from tests.memory.kit import NOW, WordEmbedder, episode

_DAY = 86_400.0


async def remember(talk: Talk, *texts: str, days_ago: float = 30.0) -> None:
    """Import a past conversation, one episode per text."""
    now = talk.clock.now()
    turns = [PastTurn(now - (days_ago - place) * _DAY, "Tom", text) for place, text in enumerate(texts)]
    await talk.memory.begin_import("past").add(turns)
    await talk.memory.light_sleep()


def parts_of(told: protocol.Frame) -> dict[str, protocol.ContextPart]:
    assert isinstance(told, protocol.ToldContext)
    return {part.name: part for part in told.parts}


async def test_before_the_first_turn_there_is_nothing_to_show_and_it_says_so(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        with pytest.raises(NotFoundError, match="only kept while it is awake"):
            await ask(talk, protocol.AskContext(1))
        with pytest.raises(NotFoundError, match="in that conversation"):
            await ask(talk, protocol.AskContext(1, "nowhere"))


@pytest.mark.requirement("R-90")
async def test_every_part_of_the_prompt_is_shown_with_its_words(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm")
        await talk.memory.self_edits.edit("owner_facts", "Ana likes tea.")
        await talk.say("hello there")
        talk.around.thought = "Perhaps the wall leans."
        events = await talk.say("what about the pear tree?")
        parts = parts_of(told := await ask(talk, protocol.AskContext(1)))
        assert isinstance(told, protocol.ToldContext)
        assert list(parts) == [
            "rules", "self-model", "folded history", "history", "time", "recalled", "thought", "your words",
        ]  # fmt: skip
        sent = "\n".join(message.text for message in talk.model.prompts[-1].messages)
        assert parts["rules"].text in sent
        assert "Ana likes tea." in parts["self-model"].text
        assert "hello there" in parts["history"].text
        assert parts["thought"].text.endswith("Perhaps the wall leans.")
        assert parts["your words"].text == "what about the pear tree?"
        assert [one.line for one in told.memories if one.was_told] == [item.line for item in events.memories]
        assert all(one.line in sent for one in told.memories if one.was_told)
        assert told.memories[0].episode_id
        assert told.memories[0].turn_id


async def test_the_tokens_of_the_parts_add_up_to_what_was_sent(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm")
        await talk.say("hello there")
        await talk.say("what about the pear tree?")
        told = await ask(talk, protocol.AskContext(1))
        assert isinstance(told, protocol.ToldContext)
        counted = [await talk.conversation.turns.tokens.count(m.text) for m in talk.model.prompts[-1].messages]
        assert told.total_tokens == pytest.approx(sum(counted), abs=4)
        assert told.total_tokens + told.reply_tokens <= told.context_tokens


async def test_the_time_and_what_a_silence_means_are_parts_too(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE) as talk:
        for day in range(9):
            await talk.say(f"hello, it is day {day}")
            await talk.memory.conversations.mark_conversation_idle(talk.conversation.conversation_id)
            await talk.clock.advance(86_400.0 * (60 if day == 7 else 1))
        told = await ask(talk, protocol.AskContext(1))
        parts = parts_of(told)
        sent = [message.text for message in talk.model.prompts[-1].messages]
        assert sent[-1] == "\n".join(parts[name].text for name in ("time", "silence", "your words"))
        assert isinstance(told, protocol.ToldContext)
        counted = [await talk.conversation.turns.tokens.count(text) for text in sent]
        assert told.total_tokens == pytest.approx(sum(counted), abs=4)


async def test_what_a_small_model_was_not_told_is_shown_with_why(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(
            talk, *[f"The pear tree number {n} " + f"stands by the wall of garden {n} " * 8 for n in range(9)]
        )
        await talk.say("which pear tree stands by the wall?")
        told = await ask(talk, protocol.AskContext(1))
        assert isinstance(told, protocol.ToldContext)
        left = [one for one in told.memories if not one.was_told]
        assert left
        assert any("did not take it" in one.why_not for one in left)
        # A client that attaches later shows the same.
        assert isinstance(told.recalled, list)
        assert {one.was_told for one in told.recalled} == {True, False}
        assert all(one.why_not for one in left)


async def test_a_fold_shows_as_a_part_and_says_how_much_was_folded(tmp_path: Path) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024, tier=Tier.CAPABLE) as talk:
        folded: list[str] = []
        for number in range(30):
            await talk.say(f"Today I did thing number {number}. " + "It went on and on. " * 6)
            part = parts_of(await ask(talk, protocol.AskContext(1)))["folded history"]
            folded += [part.note] if part.note else []
        assert "thing number" in part.text
        assert 0 < part.tokens <= part.budget + 64
        assert any("folded for this turn" in note for note in folded)


async def test_words_that_were_too_long_are_told(tmp_path: Path) -> None:
    async with talking(tmp_path, settings=small(), context_tokens=1024) as talk:
        await talk.say("long " * 4000)
        told = await ask(talk, protocol.AskContext(1))
        assert isinstance(told, protocol.ToldContext)
        assert any("too long for the model" in note for note in told.notes)


async def test_nothing_is_counted_before_a_reply_for_the_sake_of_looking(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("hello there")
        turn = talk.conversation.last_turns.of("")
        assert turn is not None
        counted: list[str] = []

        async def count(text: str) -> int:
            counted.append(text)
            return 1

        await context_parts(turn, count)
        assert counted


def test_only_the_latest_conversations_are_kept() -> None:
    class Turn:
        def __init__(self, name: str) -> None:
            self.conversation_id = name

    kept = LastTurns()
    for number in range(KEPT_CONVERSATIONS + 3):
        kept.keep(Turn(f"c{number:02}"))  # type: ignore[arg-type]
    assert kept.of("c00") is None
    assert kept.of("c02") is None
    assert kept.of("c03") is not None
    assert (last := kept.of("")) is not None
    assert last.conversation_id == "c10"


@pytest.mark.requirement("R-29", "R-125")
async def test_why_without_a_cue_is_about_the_last_turn_and_changes_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm", "Bicycles need oil before winter")
        events = await talk.say("what about the pear tree?")
        assert events.recall is not None
        before = list(talk.memory.live.graph.episodes())
        first = events.recall.episodes[0].episode.id
        told = await ask(talk, protocol.AskWhy(1, first))
        assert isinstance(told, protocol.Why)
        assert told.cue == "what about the pear tree?"
        assert told.rank_then == 1
        assert told.asked_at > 0
        assert told.surfaced
        assert "pear" in told.shared_words
        assert list(talk.memory.live.graph.episodes()) == before


async def test_why_for_a_cue_needs_no_turn(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm", "Bicycles need oil before winter")
        name = next(one.id for one in talk.memory.live.graph.episodes() if "Bicycles" in one.summary)
        told = await ask(talk, protocol.AskWhy(1, name[:8], "oil for bicycles"))
        assert isinstance(told, protocol.Why)
        assert told.surfaced
        assert (told.asked_at, told.rank_then) == (0.0, 0)


@pytest.mark.requirement("R-94")
async def test_why_of_a_turn_without_recall_says_so(tmp_path: Path) -> None:
    embedder = WordEmbedder()
    async with talking(tmp_path, embedder=embedder) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm")
        embedder.error = ModelUnavailableError("It is away.")
        await talk.say("what about the pear tree?")
        (one,) = [e for e in talk.memory.live.graph.episodes() if "pear" in e.summary][:1]
        told = await ask(talk, protocol.AskWhy(1, one.id))
        assert isinstance(told, protocol.Why)
        assert told.entry is not None
        assert told.entry.by_turn


async def test_what_was_said_a_moment_ago_is_found(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("The pear tree by the old wall survived the storm")
        found = await ask(talk, protocol.Search(1, "pear tree"), protocol.Found)
        assert "The pear tree by the old wall survived the storm" in [turn.text for turn in found.turns]


async def test_the_timeline_has_what_was_said_a_moment_ago(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("The pear tree by the old wall survived the storm")
        assert "pear tree" in str(await ask(talk, protocol.AskTimeline(1, "", "", 10), protocol.Timeline))


async def test_a_search_of_a_period_brings_what_was_said_then(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree in bloom", days_ago=400.0)
        await remember_again(talk)
        found = await ask(talk, protocol.Search(1, "pear tree", until="300d"), protocol.Found)
        assert [turn.text for turn in found.turns] == ["The pear tree in bloom"]
        assert len((await ask(talk, protocol.Search(1, "pear tree"), protocol.Found)).turns) == 2
        with pytest.raises(UsageError):
            await ask(talk, protocol.Search(1, "pear tree", since="blah"))


async def remember_again(talk: Talk) -> None:
    await talk.memory.begin_import("later").add(
        [PastTurn(talk.clock.now() - 5 * _DAY, "Tom", "The pear tree in autumn")]
    )
    await talk.memory.light_sleep()


async def test_the_picture_is_about_the_cue_the_episode_or_what_matters_most(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        with pytest.raises(NotFoundError, match="no episode yet"):
            await ask(talk, protocol.AskNeighbourhood(1))
        await remember(talk, "The pear tree [by the wall]", "Bicycles need oil before winter")
        one = next(iter(talk.memory.live.graph.episodes()))
        around = await ask(talk, protocol.AskNeighbourhood(1, one.id))
        assert isinstance(around, protocol.Neighbourhood)
        assert around.nodes[0].episode_id == one.id
        assert around.nodes[0].distance == 0
        assert "[" not in around.nodes[0].label
        cued = await ask(talk, protocol.AskNeighbourhood(1, cue="oil for bicycles"))
        assert isinstance(cued, protocol.Neighbourhood)
        assert "oil for bicycles" in cued.title
        assert max(node.energy for node in cued.nodes) == 1.0
        assert isinstance(await ask(talk, protocol.AskNeighbourhood(1)), protocol.Neighbourhood)


async def test_the_timeline_names_the_period_as_it_was_understood(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree", "Bicycles need oil before winter")
        told = await ask(talk, protocol.AskTimeline(1, since="60 days ago"))
        assert isinstance(told, protocol.Timeline)
        assert len(told.moments) == 2
        assert told.since is not None
        assert told.until is None


@pytest.mark.requirement("R-87")
async def test_each_line_of_an_edit_becomes_a_statement(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        shown = await ask(talk, protocol.EditSelf(1, "owner_facts", "Ana plays the cello.\nAna has a boat."))
        assert isinstance(shown, protocol.SelfModelShown)
        field = next(one for one in shown.fields if one.name == "owner_facts")
        assert [one.text for one in field.statements] == ["Ana plays the cello.", "Ana has a boat."]


@pytest.mark.requirement("R-86", "R-87")
async def test_an_edit_of_the_self_model_is_told_at_the_next_turn(tmp_path: Path) -> None:
    async with talking(tmp_path, tier=Tier.CAPABLE) as talk:
        shown = await ask(talk, protocol.EditSelf(1, "owner_facts", "Ana plays the cello."))
        assert isinstance(shown, protocol.SelfModelShown)
        assert shown.changes == 1
        field = next(one for one in shown.fields if one.name == "owner_facts")
        assert field.statements == [protocol.SelfStatement("Ana plays the cello.", True, NOW)]
        await talk.say("hello")
        assert "Ana plays the cello." in last_prompt(talk).messages[0].text
        history = await ask(talk, protocol.AskSelfHistory(1))
        assert isinstance(history, protocol.SelfHistory)
        assert history.entries[0].by_owner
        await ask(talk, protocol.RevertSelf(1, 1))
        await talk.say("hello again")
        assert "cello" not in last_prompt(talk).messages[0].text


def last_prompt(talk: Talk) -> Prompt:
    return talk.model.prompts[-1]


@pytest.mark.parametrize(
    ("summary", "label"),
    [
        ("Ada: The wall leans. Tom: Ada: I know.", "The wall leans. I know."),
        ("Ada: [shares image: a wall]", "garden, wall"),
        ("… and then: it fell [a long aside] over.", "and then: it fell over."),
        ("At 14:02 it rained.", "At 14:02 it rained."),
    ],
)
async def test_a_label_is_what_was_said_without_who_said_it(tmp_path: Path, summary: str, label: str) -> None:
    async with talking(tmp_path) as talk:
        one = episode("e1", summary=summary, topics=("garden", "wall"))
        talk.memory.live.apply(ChangeSet(episodes=(one,)))
        shown = await ask(talk, protocol.AskNeighbourhood(1, "e1"))
        assert isinstance(shown, protocol.Neighbourhood)
        assert shown.nodes[0].label == label


async def test_a_search_says_the_same_with_reasons_as_without(tmp_path: Path) -> None:
    """Memories with the mood of the cue rank higher, by either request."""
    async with talking(tmp_path) as talk:
        await remember(talk, "I am so happy about the garden, wonderful!", "The garden was horrible and sad today")
        plainly = await ask(talk, protocol.Search(1, "so happy, wonderful garden", 5), protocol.Found)
        explained = await ask(talk, protocol.Search(1, "so happy, wonderful garden", 5, explain=True), protocol.Found)
        assert plainly.episodes
        assert [one.episode_id for one in explained.episodes] == [one.episode_id for one in plainly.episodes]
        assert [one.energy for one in explained.episodes] == pytest.approx([one.energy for one in plainly.episodes])


async def test_why_says_of_a_dormant_episode_that_it_is_only_on_disk(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await remember(talk, "The pear tree by the old wall survived the storm")
        (home,) = talk.memory.live.graph.ids()

        async def work(_: Transaction) -> ChangeSet:
            return ChangeSet(dormant=(Dormancy(home, talk.clock.now(), "faded"),))

        await talk.memory._store.commit(work)
        for request in (protocol.AskWhy(1, home[:8], "pear tree"), protocol.AskNeighbourhood(1, home, "", 5)):
            with pytest.raises(NotFoundError, match="is dormant: it is only on disk"):
                await ask(talk, request)
        with pytest.raises(NotFoundError, match="There is no episode nowhere"):
            await ask(talk, protocol.AskWhy(1, "nowhere", "pear tree"))
