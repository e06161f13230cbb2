"""The gates that restrict untrusted text: how taint is inherited, and what tainted text can never do (F1, F3). Pure.

Filters do not find poisoned memories, and a model may obey whatever it reads. So each gate is code that checks the
origin of a text, never its content. Each has a name, so that a test can prove that the gates are needed: with any one
of them disabled, the test that feeds poisoned memories to an obedient model must fail. Nothing here can open a gate:
this module has no state.
"""

from enum import StrEnum


class Gate(StrEnum):
    """Gates between untrusted text and the rest of the mind."""

    RECALL = "recall"
    """A reply inherits the taint of the memories recalled for it."""
    TALK = "talk"
    """A reply inherits the taint of the conversation and the thought in its prompt."""
    EXCHANGE = "exchange"
    """An exchange inherits the taint of its turns."""
    THOUGHT = "thought"
    """A thought inherits the taint of the conversation and the memories in its prompt, and of its reactivation."""
    LAST_THOUGHT = "last thought"
    """A tainted thought is not in the prompt of the next thought; a thought that continues it after a cut is
    tainted."""
    EPISODE = "episode"
    """An episode inherits the taint of its experiences."""
    CLAIM = "claim"
    """A claim inherits the taint of its turn."""
    MERGE = "merge"
    """A tainted episode is never merged with an untainted one."""
    SUPERSEDE = "supersede"
    """A less trusted claim never supersedes a more trusted one."""
    CAUSE = "cause"
    """Sleep never reads a tainted episode together with an untainted one."""
    SELF_WORDS = "self words"
    """The self-model is made only of trusted words."""
    SELF_PATTERNS = "self patterns"
    """No pattern of the self-model comes from an experience with untrusted text in it."""
    ACT = "act"
    """Nothing tainted triggers an action, or notifies the owner."""
    INDICATOR = "indicator"
    """What the mind says about its own state under the influence of untrusted text is not counted as its state."""
    RECORD = "record"
    """A remembered text cannot close the bracketed record that it is in."""
    VOICE = "voice"
    """No line of a text can look like a line of another speaker."""
    MARKS = "marks"
    """No text carries a chat template's token to a model."""
    FOLD = "fold"
    """The summary of a long conversation, which is part of the instructions, quotes nothing tainted."""


class ToolGate(StrEnum):
    """Gates between a tool and the rest of the world."""

    LISTED = "listed"
    """A caller can call only the tools that its role lists."""
    GRANT = "grant"
    """A tool that reaches out needs the owner's grant."""
    SOURCE = "source"
    """After untrusted text was read, a tool reaches out only if the owner also granted each of its sources."""
    RESULT = "result"
    """Calls made after a result was read inherit that result's sources."""
    ADDRESS = "address"
    """Only addresses that the owner wrote, or that occur in what was fetched before, are fetched: none from a model."""
    PUBLIC = "public"
    """An address of a private network is not fetched, whatever name resolves to it."""
    UNKNOWN = "unknown"
    """A call that was started and may have had its effect is not repeated without the owner's approval."""


def is_enforced(gate: Gate | ToolGate) -> bool:
    """Whether `gate` is enforced: always. A function, so that a test can disable a gate and see that it is needed."""
    return gate in type(gate)


def inherits_taint(gate: Gate, *sources: bool) -> bool:
    """Whether something derived from these sources is tainted: if any of them is."""
    return any(sources) and is_enforced(gate)


def may_act(*, is_tainted: bool, is_confirmed: bool = False) -> bool:
    """Whether a text may have an effect beyond being said, thought and remembered: a note to the owner, or a tool call.
    A tainted text needs the owner's confirmation, given in the client."""
    return is_confirmed or not is_tainted or not is_enforced(Gate.ACT)
