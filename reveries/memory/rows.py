"""Converts the data types of memory to database rows and back. No other module knows the column formats.

Text columns hold JSON arrays and objects; vectors are float32, little-endian; every row with text has its checksum.
"""

import json
from collections.abc import Iterable

import msgspec
import numpy as np

from reveries.db.checksums import checksum
from reveries.db.database import Row
from reveries.db.typed_rows import read_row
from reveries.llm.base import Vector
from reveries.memory.claims import Claim, Conflict
from reveries.memory.echoes import Span
from reveries.memory.model import (
    DayUnit,
    Episode,
    Experience,
    Gap,
    Pattern,
    SelfModel,
    StatementDay,
    Turn,
)

_CLAIM_TEXTS = (
    "id", "subject", "relation", "value", "quote", "turn_id", "experience_id", "speaker", "found_by",
)  # fmt: skip
ALL = "all"
"""Stored instead of echo spans when the whole turn is an echo: it then has no vector and is not in the live index."""
_OWNER_ID = "default"
"""`relationship` is keyed by user; there is one (RA-20)."""


def make_storable(text: str) -> str:
    """Replace lone surrogates, which SQLite cannot store, by U+FFFD."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() and _has_surrogates(text) else text


def turn_row(turn: Turn, import_key: bytes | None = None) -> dict[str, object]:
    return {
        "id": turn.id,
        "conversation_id": turn.conversation_id,
        "experience_id": turn.experience_id,
        "position": turn.position,
        "origin": turn.origin.value,
        "tainted": int(turn.tainted or turn.origin.is_tainted),
        "speaker": turn.speaker,
        "text": turn.text,
        "said_at": turn.said_at,
        "is_partial": int(turn.is_partial),
        "import_key": import_key,
        "checksum": checksum(turn.speaker, turn.text),
        "echoes": _json(ALL if turn.is_echo else turn.echoes),
    }


def turn_of(row: Row) -> Turn:
    return read_row(Turn, row, echoes=_read_spans(row["echoes"], row["text"]))


def experience_row(experience: Experience, turn_count: int) -> dict[str, object]:
    """Return R-147's row; the metadata has R-64's keys, and why a thought ended (R-43)."""
    metadata = {
        "conversationId": experience.conversation_id,
        "turnCount": turn_count,
        "emotionalValence": experience.valence,
        "topics": experience.topics,
        "partial": experience.is_partial,
        "reason": experience.end_reason,
        "echoes": experience.echoes,
        "taintedBy": experience.tainted_by,
    }
    return {
        "id": experience.id,
        "kind": experience.kind.value,
        "happened_at": experience.happened_at,
        "content": experience.content,
        "salience": experience.salience,
        "valence": experience.valence,
        "conversation_id": experience.conversation_id,
        "metadata": _json({key: value for key, value in metadata.items() if value not in (None, "", ())}),
        "origin": experience.origin.value,
        "tainted": int(experience.tainted),
        "checksum": checksum(experience.content),
    }


def experience_of(row: Row) -> Experience:
    metadata = json.loads(row["metadata"])
    return read_row(
        Experience,
        row,
        topics=metadata.get("topics", ()),
        is_partial=bool(metadata.get("partial", False)),
        end_reason=metadata.get("reason", ""),
        echoes=metadata.get("echoes", ()),
        tainted_by=metadata.get("taintedBy", ()),
    )


def episode_row(episode: Episode) -> dict[str, object]:
    gap = {"duration": episode.gap_seconds, "significance": episode.gap_significance or None}
    return {
        "id": episode.id,
        "created_at": episode.created_at,
        "ended_at": episode.ended_at,
        "last_accessed_at": episode.last_accessed_at,
        "access_count": episode.access_count,
        "summary": episode.summary,
        "exemplars": msgspec.json.encode(episode.exemplars).decode("utf-8"),
        "temporal_before": _json(episode.before),
        "temporal_after": _json(episode.after),
        "gap": None if episode.gap_seconds is None else _json(gap),
        "salience": episode.salience,
        "confidence": episode.confidence,
        "accessibility": episode.accessibility,
        "valence": episode.valence,
        "topics": _json(episode.topics),
        "entities": _json(episode.entities),
        "last_decayed_at": episode.last_decayed_at,
        "conversation_id": episode.conversation_id,
        "depth": episode.depth,
        "merged_into": episode.merged_into,
        "origin": episode.origin.value,
        "tainted": int(episode.tainted),
        "checksum": checksum(episode.summary),
    }


def episode_of(row: Row, experience_ids: Iterable[str]) -> Episode:
    gap = json.loads(row["gap"]) if row["gap"] else {}
    return read_row(
        Episode,
        row,
        experience_ids=tuple(experience_ids),
        gap_seconds=gap.get("duration"),
        gap_significance=gap.get("significance") or "",
        before=_read_strings(row["temporal_before"]),
        after=_read_strings(row["temporal_after"]),
    )


def self_model_row(model: SelfModel) -> dict[str, object]:
    relationship = {
        _OWNER_ID: {
            "communicationStyle": model.communication_style,
            "sharedContext": model.owner_facts,
            "patterns": [
                {"description": p.description, "confidence": p.confidence, "exemplarIds": p.episode_ids}
                for p in model.patterns
            ],
            "pinnedFields": model.pinned_fields,
            "pinned": model.pinned,
            "refused": model.refused,
        }
    }
    return {
        "narrative": model.narrative,
        "values": _json(model.values),
        "tendencies": _json(model.tendencies),
        "relationship": _json(relationship),
        "strengths": _json(model.strengths),
        "limitations": _json(model.limitations),
        "current_focus": model.current_focus,
        "unresolved_threads": _json(model.unresolved_threads),
        "anticipations": _json(model.anticipations),
        "updated_at": model.updated_at,
        "closed_threads": _json(model.closed_threads),
        "past_facts": _json(model.past_facts),
        "days": _json([(day.text, day.at, day.said_at, day.unit) for day in model.days]),
    }


def _statement_day(text: str, at: float, said_at: float, unit: str = DayUnit.DAY) -> StatementDay:
    return StatementDay(text, at, said_at, DayUnit(unit))


def self_model_of(row: Row) -> SelfModel:
    owner = json.loads(row["relationship"]).get(_OWNER_ID, {})
    return SelfModel(
        narrative=row["narrative"],
        values=_read_strings(row["values"]),
        tendencies=_read_strings(row["tendencies"]),
        owner_facts=tuple(owner.get("sharedContext", ())),
        communication_style=owner.get("communicationStyle", ""),
        patterns=tuple(
            Pattern(p["description"], p["confidence"], tuple(p["exemplarIds"])) for p in owner.get("patterns", ())
        ),
        strengths=_read_strings(row["strengths"]),
        limitations=_read_strings(row["limitations"]),
        current_focus=row["current_focus"],
        unresolved_threads=_read_strings(row["unresolved_threads"]),
        anticipations=_read_strings(row["anticipations"]),
        updated_at=row["updated_at"],
        pinned_fields=tuple(owner.get("pinnedFields", ())),
        pinned=tuple(owner.get("pinned", ())),
        refused=tuple(owner.get("refused", ())),
        closed_threads=_read_strings(row["closed_threads"]),
        past_facts=_read_strings(row["past_facts"]),
        days=tuple(_statement_day(*day) for day in json.loads(row["days"])),
    )


def claim_row(claim: Claim) -> dict[str, object]:
    return {
        **{name: getattr(claim, name) for name in _CLAIM_TEXTS},
        "said_at": claim.said_at,
        "is_change": int(claim.is_change),
        "origin": claim.origin.value,
        "tainted": int(claim.tainted),
        "checksum": checksum(claim.value, claim.quote),
    }


def claim_of_row(row: Row) -> Claim:
    return read_row(Claim, row)


def conflict_row(conflict: Conflict) -> dict[str, object]:
    return {
        "id": conflict.id,
        "earlier_id": conflict.earlier.id,
        "later_id": conflict.later.id,
        "kind": conflict.kind,
        "reason": conflict.reason,
        "found_at": conflict.found_at,
    }


def gap_of(row: Row) -> Gap:
    return read_row(Gap, row, is_left_open=bool(row["left_open"]))


def vector_bytes(vector: Vector) -> bytes:
    return vector.astype("<f4").tobytes()


def vector_of(raw: bytes) -> Vector:
    return np.frombuffer(raw, dtype="<f4").astype(np.float32)


def _read_strings(raw: str) -> tuple[str, ...]:
    return tuple(json.loads(raw))


def _read_spans(raw: str, text: str) -> tuple[Span, ...]:
    if raw == "[]":
        return ()
    spans = json.loads(raw)
    return ((0, len(text)),) if spans == ALL else tuple((start, end) for start, end in spans)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
