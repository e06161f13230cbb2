"""Which memories a thought is given: others than the last one had, and no two that say the same."""

import pytest

from reveries.monologue.memory_choice import chosen_memories
from reveries.monologue.thought import ActivatedMemory

TREE = ActivatedMemory("tree", "Mother planted the pear tree.", "in May", False)
TREE_AGAIN = ActivatedMemory("again", "The pear tree that mother planted.", "in May", False)
BOAT = ActivatedMemory("boat", "Paul repairs an old sailing boat.", "in June", False)
CHOIR = ActivatedMemory("choir", "The choir rehearses on Tuesdays.", "in June", False)
FOUND = (TREE, TREE_AGAIN, BOAT, CHOIR)


def test_what_the_last_thought_had_does_not_come_again() -> None:
    assert chosen_memories(FOUND, {"tree", "again"}, 5) == (BOAT, CHOIR)


def test_two_that_say_the_same_count_once_and_the_nearer_is_taken() -> None:
    assert chosen_memories(FOUND, (), 2) == (TREE, BOAT)


def test_what_was_just_said_is_no_memory_beside_it() -> None:
    assert chosen_memories(FOUND, (), 5, told=["Mother planted our pear tree."]) == (BOAT, CHOIR)


@pytest.mark.requirement("R-61", "R-62")
def test_the_memory_that_surfaced_comes_first_whatever_the_last_thought_had() -> None:
    assert chosen_memories(FOUND, {"choir"}, 2, about_id="choir") == (CHOIR, TREE)


def test_a_mind_with_nothing_else_thinks_of_the_same_again() -> None:
    assert chosen_memories((TREE, BOAT), {"tree", "boat"}, 5) == (TREE, BOAT)
    assert chosen_memories((), {"tree"}, 5) == ()
