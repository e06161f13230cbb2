"""`memory why`, `timeline`, `graph`, `search` with a period, `context` and `self` as real processes."""

import json
import stat
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from reveries import protocol
from reveries.config import Home
from tests.client.command_line import in_terminal, reveries
from tests.client.looks import LOOKS
from tests.client.test_cli import FOUND
from tests.fakes.daemon import Script, awake_in_thread


@pytest.mark.requirement("R-28")
@pytest.mark.parametrize(
    "words",
    [
        ("memory", "why", "e1"),
        ("memory", "timeline"),
        ("memory", "graph", "--svg", "/dev/null"),
        ("context",),
        ("self",),
        ("self", "history"),
        ("self", "revert", "1"),
        ("self", "edit", "narrative", "--set", "x"),
    ],
)
def test_looking_at_a_mind_that_sleeps_says_how_to_wake_it(home: Home, words: tuple[str, ...]) -> None:
    ran = reveries(home, *words)
    assert ran.code == 3
    assert ran.err == "reveries: The mind is asleep. Wake it: reveries wake\n"


@pytest.mark.requirement("V-106")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("memory", "why", "e1", "--for", "the garden"), "thematic 0.82"),
        (("memory", "timeline", "--since", "last spring"), "8 days of silence"),
        (("context",), "321 of 3,584 tokens"),
        (("self",), "A calm listener."),
        (("self", "history"), "tea, always"),
        (("self", "revert", "7"), "A calm listener."),
        (("self", "edit", "narrative", "--set", "x"), "A calm listener."),
    ],
)
def test_each_look_is_a_page_for_people_and_json_for_programs(home: Home, words: tuple[str, ...], said: str) -> None:
    with awake_in_thread(home, Script(looks=LOOKS)):
        shown, told = reveries(home, *words), reveries(home, *words, "--json")
    assert (shown.code, told.code) == (0, 0)
    assert said in shown.out
    values = json.loads(told.out)
    assert values
    assert "t" not in values
    assert "request_id" not in values


def test_the_words_of_a_look_reach_the_mind(home: Home) -> None:
    with awake_in_thread(home, Script(looks=LOOKS, found=FOUND)) as fake:
        reveries(home, "memory", "why", "e1", "--for", "the garden")
        reveries(home, "memory", "timeline", "--since", "last spring", "--until", "yesterday", "--limit", "7")
        reveries(home, "self", "edit", "owner-facts", "--set", "Ada likes tea.")
        reveries(home, "memory", "search", "pear", "--since", "May", "--explain")
    unasked = protocol.Hello | protocol.AskSelf
    asked = [request for request in fake.received if not isinstance(request, unasked)]
    assert [msgspec.structs.replace(request, request_id=1) for request in asked] == [
        protocol.AskWhy(1, "e1", "the garden"),
        protocol.AskTimeline(1, "last spring", "yesterday", 7),
        protocol.EditSelf(1, "owner_facts", "Ada likes tea."),
        protocol.Search(1, "pear", 10, since="May", explain=True),
    ]


@pytest.mark.requirement("R-22")
def test_a_plain_search_has_the_json_it_always_had(home: Home) -> None:
    with awake_in_thread(home, Script(found=FOUND)) as fake:
        ran = reveries(home, "memory", "search", "pear", "--json")
    episode = json.loads(ran.out)["episodes"][0]
    kept = "episode_id summary happened_at energy salience origin depth quote quote_speaker path"
    assert set(episode) == set(kept.split())
    (asked,) = fake.requests(protocol.Search)
    assert isinstance(asked, protocol.Search)
    assert protocol.encode(asked) == protocol.encode(protocol.Search(asked.request_id, "pear", 10))


def test_a_picture_is_written_and_said_where(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "memory.svg"
    file.write_text("an older picture")
    file.chmod(0o644)
    with awake_in_thread(home, Script(looks=LOOKS)):
        ran = reveries(home, "memory", "graph", "--for", "the garden", "--svg", str(file), "--light")
    assert ran.out == f"Wrote {file}: 2 episodes and their links.\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    ET.fromstring(file.read_text(encoding="utf-8"))


def test_a_picture_without_a_place_is_refused(home: Home) -> None:
    ran = reveries(home, "memory", "graph")
    assert ran.code == 2
    assert "--svg memory.svg" in ran.err


def test_a_field_is_edited_in_the_owners_editor(home: Home, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsleep 0.01\necho "Ada runs." >> "$1"\n')
    editor.chmod(0o700)
    with awake_in_thread(home, Script(looks=LOOKS)) as fake:
        _, code = in_terminal(home, [(b"calm listener", b"")], "self", "edit", "owner_facts", EDITOR=str(editor))
    assert code == 0
    (asked,) = fake.requests(protocol.EditSelf)
    assert asked.text == "Ada likes tea.\nAda runs."


def test_without_an_editor_it_is_said_what_else_there_is(home: Home) -> None:
    with awake_in_thread(home, Script(looks=LOOKS)) as fake:
        output, code = in_terminal(
            home, [(b"--set", b"")], "self", "edit", "narrative", EDITOR="/nowhere/editor", VISUAL=""
        )
    assert code == 2
    assert b"--set" in output
    assert b"Traceback" not in output
    assert fake.requests(protocol.EditSelf) == []


def test_an_editor_that_saves_nothing_changes_nothing(home: Home) -> None:
    with awake_in_thread(home, Script(looks=LOOKS)) as fake:
        output, code = in_terminal(home, [(b"Nothing was changed.", b"")], "self", "edit", "narrative", EDITOR="true")
    assert code == 0
    assert b"Nothing was changed." in output
    assert fake.requests(protocol.EditSelf) == []


def test_a_field_that_is_none_is_told_with_those_that_are(home: Home) -> None:
    with awake_in_thread(home, Script(looks=LOOKS)):
        ran = reveries(home, "self", "edit", "mood")
    assert ran.code == 2
    assert "owner_facts" in ran.err
