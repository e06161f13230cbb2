"""The gates that hold foreign text: what is inherited from it, and what it can never do (F1, F3). Pure.

Filters do not find poisoned memories, and a model may obey whatever it reads. So each gate is code that asks where a
text came from, never what it says. Each has a name, for a test of the tests: with any one of them taken out, the test
that feeds an obedient model with poisoned memories must fail. Nothing here can open one: there is no state.
"""

from enum import StrEnum


class Gate(StrEnum):
    """What stands between foreign text and the rest of the mind."""

    RECALL = "recall"
    """A reply inherits the taint of what was recalled for it."""
    TALK = "talk"
    """A reply inherits the taint of the conversation and of the thought that stand before it."""
    EXCHANGE = "exchange"
    """An exchange inherits the taint of its turns."""
    THOUGHT = "thought"
    """A thought inherits the taint of the talk and the memories before it, and of its occasion."""
    LAST_THOUGHT = "last thought"
    """A tainted thought leads no other thought; one that takes it up again after a cut is tainted too."""
    EPISODE = "episode"
    """An episode inherits the taint of its experiences."""
    CLAIM = "claim"
    """A claim inherits the taint of its turn."""
    MERGE = "merge"
    """Nothing tainted becomes one with what is not."""
    SUPERSEDE = "supersede"
    """What is trusted less never outranks what is trusted more."""
    CAUSE = "cause"
    """Nothing tainted stands before sleep beside what is not."""
    SELF_WORDS = "self words"
    """The self-model is made of trusted words alone."""
    SELF_PATTERNS = "self patterns"
    """No pattern of the self-model comes from an experience with foreign words in it."""
    ACT = "act"
    """Nothing that is tainted acts, or reaches the owner by itself."""
    INDICATOR = "indicator"
    """What foreign text makes the mind say of its own state is not counted as its state."""
    RECORD = "record"
    """A remembered text cannot end the record that it stands in."""
    VOICE = "voice"
    """No line of a text can pass for a line that somebody else said."""
    MARKS = "marks"
    """No text carries a chat template's token to a model."""
    FOLD = "fold"
    """The summary of a long conversation, which stands among the instructions, quotes nothing tainted."""


class ToolGate(StrEnum):
    """What stands between a tool and the rest of the world."""

    LISTED = "listed"
    """A caller calls what its role lists, and nothing else."""
    GRANT = "grant"
    """A tool that reaches out goes only where the owner granted it."""
    SOURCE = "source"
    """Where foreign text was read, it reaches out only if the owner granted each of its sources, too."""
    RESULT = "result"
    """What is done after a result was read inherits that result's sources."""
    ADDRESS = "address"
    """An address is fetched that the owner wrote, or that stands in what was fetched before: none that a model made."""
    PUBLIC = "public"
    """An address within a network is not fetched, whatever name leads to it."""
    UNKNOWN = "unknown"
    """What was begun and may have happened is not done again without a word of the owner."""


def stands(gate: Gate | ToolGate) -> bool:
    """Whether `gate` holds: always. It is asked so that a test can take one out and see that it is missed."""
    return gate in type(gate)


def inherited(gate: Gate, *sources: bool) -> bool:
    """Whether something derived from these sources is tainted: as soon as one of them is."""
    return any(sources) and stands(gate)


def may_act(*, is_tainted: bool, is_confirmed: bool = False) -> bool:
    """Whether a text may have an effect beyond being said, thought and remembered: a note to the owner today, a tool
    whenever there is one. What is tainted needs the owner's word on it, given in the client."""
    return is_confirmed or not is_tainted or not stands(Gate.ACT)
