"""Sample answers of the daemon, for tests of pages, commands and panes."""

from reveries import protocol
from tests.fakes.daemon import NOW

REASONS = [protocol.TurnReason("coverage", 0.9, 1.2, 0.2), protocol.TurnReason("conversation", 0.1, -0.7, 0.4)]
FACTORS = protocol.WhyFactors(1.5, 1.1, 1.2, 0.4)


def why(**chosen: object) -> protocol.Why:
    """An episode that surfaced second, over a link, with `chosen` fields replaced."""
    plain: dict[str, object] = {
        "request_id": 0,
        "cue": "the garden",
        "episode_id": "e1abcdef99",
        "summary": "Ada plans two beds.",
        "happened_at": NOW - 86_400,
        "surfaced": True,
        "rank": 2,
        "surfaced_count": 9,
        "limit": 10,
        "threshold": 0.05,
        "cosine": 0.31,
        "shared_words": ["garden"],
        "unmet_words": ["old"],
        "entry": protocol.WhyEntry(True, True, 0.31, 0.8, 0.6, 0.4),
        "entry_id": "e0abcdef99",
        "entry_summary": "The pear tree stays.",
        "steps": [
            protocol.WhyStep("e0abcdef99", "e1abcdef99", "Ada plans two beds.", [protocol.WhyLink("thematic", 0.82)])
        ],
        "salience": 0.6,
        "factors": FACTORS,
        "energy_direct": 0.5,
        "energy_spread": 0.25,
        "share_of_spread": 0.02,
        "energy_whole": 0.75,
        "energy": 0.505,
        "turns": [protocol.WhyTurn("t1", "Ada", NOW, "the pear stays", 5.1, 1, ["garden"], REASONS)],
        "missing": [],
        "asked_at": 0.0,
        "rank_then": 0,
    }
    return protocol.Why(**(plain | chosen))  # type: ignore[arg-type]


def moment(name: str, at: float, gap: protocol.TimelineGap | None = None, **chosen: object) -> protocol.TimelineMoment:
    """An episode of the timeline."""
    plain: dict[str, object] = {
        "episode_id": name,
        "happened_at": at,
        "ended_at": at + 60,
        "summary": "Ada plans two beds and keeps the pear tree, whatever becomes of the wall behind it.",
        "salience": 0.6,
        "accessibility": 1.0,
        "valence": 0.2,
        "origin": "owner",
        "depth": "deep",
        "conversation_id": "c1",
        "gap": gap,
    }
    return protocol.TimelineMoment(**(plain | chosen))  # type: ignore[arg-type]


TIMELINE = protocol.Timeline(
    request_id=0,
    moments=[
        moment("e0abcdef99", NOW - 9 * 86_400),
        moment("e1abcdef99", NOW - 86_400, protocol.TimelineGap(8 * 86_400.0, "8 days of silence")),
        moment("e2abcdef99", NOW, salience=1.0),
    ],
    earlier_count=4,
    since=None,
    until=None,
    lasting_gap=protocol.TimelineGap(2 * 86_400.0, "2 days of silence"),
)

CONTEXT = protocol.ToldContext(
    request_id=0,
    conversation_id="c1",
    asked_at=NOW,
    model="scripted",
    context_tokens=4096,
    reply_tokens=512,
    total_tokens=321,
    counted_by="scripted",
    parts=[
        protocol.ContextPart("rules", 180, 0, "You are Reverie.", ""),
        protocol.ContextPart("self-model", 20, 0, "The person likes tea.", ""),
        protocol.ContextPart("folded history", 0, 409, "", ""),
        protocol.ContextPart("recalled", 80, 200, "- yesterday", "1 told"),
        protocol.ContextPart("your words", 41, 0, "What about the garden?", "with the time"),
    ],
    memories=[
        protocol.ContextMemory("e1abcdef99", "t1abcdef99", "- yesterday, you said: the pear stays", 80, True, ""),
        protocol.ContextMemory("e2abcdef99", "", "- in May: a walk", 90, False, "no room: 90 tokens, and 20 were left"),
    ],
    notes=["Your words were too long for the model: it read 10 of 20."],
)

SELF = protocol.SelfModelShown(
    request_id=0,
    fields=[
        protocol.SelfField("narrative", False, [protocol.SelfStatement("A calm listener.", True)]),
        protocol.SelfField("owner_facts", True, [protocol.SelfStatement("Ada likes tea.", False)]),
        protocol.SelfField("values", True, []),
    ],
    refused=["Ada has a cat."],
    updated_at=NOW,
    changes=3,
)

HISTORY = protocol.SelfHistory(
    request_id=0,
    entries=[
        protocol.SelfChange(
            number=7,
            at=NOW,
            reason="She said so twice.",
            run_id="r1",
            by_owner=False,
            changes=[protocol.SelfFieldChange("owner_facts", ["Ada likes coffee."], ["Ada likes tea."])],
            evidence=[protocol.SelfEvidence("e1abcdef99", "Ada plans two beds.", "tea, always", NOW, "e2abcdef99")],
        )
    ],
    total=3,
)

NEIGHBOURHOOD = protocol.Neighbourhood(
    request_id=0,
    title="What “the garden” brings to mind",
    nodes=[
        protocol.GraphNode("e1", NOW, "Ada: the pear stays", 0.8, 1.0, 0.2, "owner", "the pear stays", 0, 1.0),
        protocol.GraphNode("e2", NOW - 86_400, "Tom: a walk", 0.3, 0.4, 0.0, "owner", "a walk", 1, 0.0),
    ],
    ties=[protocol.GraphTie("e1", "e2", "thematic", 0.8, False)],
    left_out=0,
)

_CITIES = [protocol.ClaimSaid(f"I live in {city}.", "Ana", NOW, "owner", "t1") for city in ("Lisbon", "Porto")]
CONTRADICTIONS = protocol.Contradictions(
    0, [protocol.Contradiction("c0ffee12", "contradiction", "Both within a day.", _CITIES[0], _CITIES[1], "")]
)
_RENTS = [
    protocol.ChunkEntry(f"deadbeef{rent}", "", f"The hall costs {rent} euros.", "research", "verified", "", [], NOW)
    for rent in (300, 350)
]
CONFLICTS = protocol.ProjectConflicts(
    0, [protocol.ProjectConflict("abc123def4", "Fair", _RENTS[0], _RENTS[1], "likeness", "")]
)
LOOKS: dict[str, protocol.Frame] = {
    "AskWhy": why(),
    "AskTimeline": TIMELINE,
    "AskContext": CONTEXT,
    "AskSelf": SELF,
    "EditSelf": SELF,
    "RevertSelf": SELF,
    "AskSelfHistory": HISTORY,
    "AskNeighbourhood": NEIGHBOURHOOD,
    "AskContradictions": CONTRADICTIONS,
    "AskProjectConflicts": CONFLICTS,
}
