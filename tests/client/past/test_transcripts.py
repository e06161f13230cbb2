"""Transcripts without times: who is a speaker is decided from the whole file."""

from pathlib import Path

import pytest

from reveries.client.past.parsed import ReadChoices
from reveries.client.past.people import Author, Names, WhyOwner, iterate_messages, list_people
from reveries.client.past.turns import make_turns
from reveries.errors import UsageError
from tests.client.past.kit import CHOICES, NOW, lines_of, read_text


def spoken(folder: Path, text: str, choices: ReadChoices = CHOICES) -> list[tuple[str, str]]:
    return [(sender, words) for _, sender, words in lines_of(read_text(folder, text, choices=choices))]


@pytest.mark.requirement("F12")
@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("Ana: hi\nTom: hello\n", [("Ana", "hi"), ("Tom", "hello")]),
        ("# Chat of Monday\n\n**Ana**: hi\nand more\n\n**Tom:** hello\n", [("Ana", "hi\nand more"), ("Tom", "hello")]),
        (
            "Ana: Shopping\nMilk: 2 litres\nNote: Ben is allergic to nuts\nBen: ok\nAna: good\nBen: yes\n",
            [("Ana", "Shopping\nMilk: 2 litres\nNote: Ben is allergic to nuts"), ("Ben", "ok"), ("Ana", "good"),
             ("Ben", "yes")],
        ),
        ("Ana: hi\nNote: Ben is away\nAna: bye\n", [("Ana", "hi\nNote: Ben is away"), ("Ana", "bye")]),
        (
            "## User\n\nWrite code: now\n\n## Assistant\n\n```\nUser: x\n```\nDone: yes\n",
            [("User", "Write code: now"), ("Assistant", "```\nUser: x\n```\nDone: yes")],
        ),
        (
            "ANA: Hello.\nBEN: Hi.\nANA (laughs): What?\nBEN: Nothing.\n",
            [("ANA", "Hello."), ("BEN", "Hi."), ("ANA", "What?"), ("BEN", "Nothing.")],
        ),
        ("You said:\nHi\nChatGPT said:\nHello: you\n", [("You", "Hi"), ("ChatGPT", "Hello: you")]),
        ("Du: Hallo\nChatGPT: Guten Tag\n", [("Du", "Hallo"), ("ChatGPT", "Guten Tag")]),
        ("- Eva: jo\n- Pål: ja\nhttps://example.org: x\n", [("Eva", "jo"), ("Pål", "ja\nhttps://example.org: x")]),
    ],
)  # fmt: skip
def test_speakers_are_decided_from_the_whole_file(tmp_path: Path, text: str, messages: list[tuple[str, str]]) -> None:
    assert spoken(tmp_path, text) == messages


def test_names_that_were_not_taken_for_speakers_are_said_and_can_be_chosen(tmp_path: Path) -> None:
    text = "Ana: one\nCleo: two\nBen: three\nAna: four\nBen: five\n"
    assert read_text(tmp_path, text).ignored_names == ("Cleo",)
    choices = ReadChoices(NOW, CHOICES.day, speakers=("Ana", "Ben", "Cleo"))
    assert [sender for sender, _ in spoken(tmp_path, text, choices)] == ["Ana", "Cleo", "Ben", "Ana", "Ben"]


def test_a_longer_version_of_a_transcript_begins_with_the_same_turns_whenever_it_is_read(tmp_path: Path) -> None:
    text = "Ana: hi\nTom: hello\n"
    names = Names("", "Reverie")
    first = make_turns(read_text(tmp_path, text), names)
    later = ReadChoices(NOW + 9e6, CHOICES.day.replace(day=27))
    longer = make_turns(read_text(tmp_path, f"{text}Ana: hi\n", "other.txt", later), names)
    assert [turn.key for turn in longer[:2]] == [turn.key for turn in first]
    assert len({turn.key for turn in longer}) == 3


def test_who_is_the_owner_follows_from_the_file_the_settings_or_the_choice(tmp_path: Path) -> None:
    parsed = read_text(tmp_path, "Ana: hi\nYou: hello\nReverie: good day\nAna: bye\nYou: bye\n")

    def authors(names: Names) -> dict[str, tuple[Author, WhyOwner | None]]:
        return {person.name: (person.author, person.why) for person in list_people(parsed, names)}

    nobody = authors(Names("", "Reverie"))
    assert nobody == {"Ana": (Author.SOMEBODY, None), "You": (Author.SOMEBODY, None)}
    assert authors(Names("ana", "Reverie"))["Ana"] == (Author.OWNER, WhyOwner.BY_NAME)
    chosen = authors(Names("Ana", "Reverie", "you"))
    assert chosen == {"Ana": (Author.SOMEBODY, None), "You": (Author.OWNER, WhyOwner.CHOSEN)}
    with pytest.raises(UsageError, match=r"Its people: (Ana, You|You, Ana)"):
        list_people(parsed, Names("", "Reverie", "Zoe"))


def test_the_account_of_somebody_else_can_be_imported_as_such(tmp_path: Path) -> None:
    parsed = read_text(tmp_path, "User: hi\nAssistant: hello\n")
    assert [message.is_holder for message in iterate_messages(parsed)] == [True, False]
    authors = [turn.author for turn in make_turns(parsed, Names("Ana", "Reverie"))]
    assert authors == ["owner", "other"]
    assert [turn.author for turn in make_turns(parsed, Names("Ana", "Reverie", ""))] == ["other", "other"]
