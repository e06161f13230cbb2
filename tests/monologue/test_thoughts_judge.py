"""The judge of an hour of thoughts: what counts as a thought, and what does not."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))  # The benchmarks are not part of the package.

from thoughts_judge import Thought, judge, judge_all, rests_on, table

RADIO = "My father let me take the radio apart when I was eight. I still have it in the cellar."
SCOPE = "Daniel brought me an old oscilloscope from his grandfather. It does not work."
REPLY = "It is important to take care of plants, especially those that suffer."
OWN = (
    "The radio in the cellar and the broken oscilloscope of Daniel ask for the same patience; "
    "perhaps repairing one heals something about the father."
)


def _thought(text: str, *, is_kept: bool = True) -> Thought:
    return Thought(text, is_kept, (RADIO, SCOPE), (REPLY,))


def test_a_thought_with_words_of_its_own_that_rests_on_two_memories_counts() -> None:
    verdict = judge(_thought(OWN), [])
    assert (verdict.rests_on, verdict.counts) == (2, True)


def test_what_was_not_kept_retells_copies_or_rests_on_one_memory_does_not_count() -> None:
    assert not judge(_thought(OWN, is_kept=False), []).counts
    assert not judge(_thought(f"{RADIO} {SCOPE}"), []).counts
    assert not judge(_thought("The radio in the cellar deserves patience, courage and daylight."), []).counts
    copied = judge(_thought(f"{OWN} {REPLY}"), [])
    assert (copied.copies_reply, copied.counts) == (True, False)


def test_a_sentence_of_an_earlier_thought_does_not_count_again() -> None:
    first, second = judge_all([_thought(OWN), _thought(f"{OWN} And courage.")])
    assert (first.counts, second.repeats_thought, second.counts) == (True, True, False)
    assert table([first, second])["the same, of all thoughts"] == "1 of 2"


def test_a_word_that_stands_in_both_memories_shows_only_one_of_them() -> None:
    one, other = "The garden and the kitchen need paint.", "The garden and the kitchen are cold."
    assert rests_on("Garden and kitchen could wait.", (one, other)) == 1
    assert rests_on("Garden, kitchen, paint: something else altogether.", (one, other)) == 1
    assert rests_on("", (one, other)) == 0
