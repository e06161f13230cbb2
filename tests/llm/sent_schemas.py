"""Every JSON schema that is sent to a model, by name; those that are made at run time at their largest."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from unittest.mock import Mock

import msgspec

import reveries
from reveries.daemon.models.model_probe import ProbeAnswer
from reveries.llm.base import Role
from reveries.llm.structured import schema_of
from reveries.llm.tier_test_tasks import all_tasks, prompt_of
from reveries.memory.model import SelfModel
from reveries.memory.sleep.conversation_question import conversation_schema
from reveries.memory.sleep.questions import Asker, deep_schema, self_question
from reveries.memory.sleep.self_model_changes import trait_question
from reveries.monologue.thinking import _ASSESSMENT
from reveries.projects import note_reading
from reveries.projects.conflict_judging import JudgedPairs
from reveries.projects.conflicts import ConflictAnswer
from reveries.projects.orientation import OrientAnswer
from reveries.projects.result_audit import AuditAnswer, CoherenceAnswer
from reveries.projects.task_execution import FinishStep
from reveries.projects.task_tools import SearchKnowledge
from reveries.projects.work_planning import WorkPlan
from reveries.tools.folder_tools import FolderTools
from reveries.tools.loop import answer_type
from reveries.tools.mcp_tools import OfferedTool, arguments_type
from reveries.tools.reach import Reach
from reveries.tools.registry import Tool
from reveries.tools.web import WebTools

PROJECT_ANSWERS: Final[tuple[type[msgspec.Struct], ...]] = (
    WorkPlan, ConflictAnswer, AuditAnswer, CoherenceAnswer, OrientAnswer, JudgedPairs,
)  # fmt: skip

_SENTENCE: Final = 'The pear tree in the «old» garden, said Zoë, "stays"; 梨の木. ' * 5
_SENTENCES: Final = [f"{number}. {_SENTENCE}"[:300] for number in range(24)]
_ASKER: Final = Asker("Zoë", "Reverie", SelfModel())
_MAIL: Final = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}, "minItems": 1},
        "subject": {"type": "string", "maxLength": 5000, "pattern": "^(?!Re:)"},
        "priority": {"type": "integer", "minimum": 1, "maximum": 5},
        "draft": {"type": "boolean", "default": False},
        "from": {"$ref": "#/$defs/person"},
        "mode": {"enum": ["now", "later"]},
    },
    "required": ["to", "subject"],
    "$defs": {"person": {"type": "object", "properties": {"name": {"type": ["string", "null"]}}, "required": ["name"]}},
}
_OPEN: Final = {"type": "object", "properties": {"headers": {"type": "object"}, "body": {}}, "required": ["body"]}


def sent_schemas() -> Mapping[str, Mapping[str, object]]:
    """The schemas by what they are for."""
    tools = [
        Tool("", Reach.LOOK, name="search", server="knowledge", arguments=SearchKnowledge, run=Mock()),
        *FolderTools(Mock(), Mock()).tools(),
        *WebTools("").tools(),
    ]
    served = [_served("mail", _MAIL)]
    found = {
        "thought": _ASSESSMENT,
        "probe": schema_of(ProbeAnswer),
        "deep sleep": deep_schema(_SENTENCES, 3),
        "deep sleep without a quote": deep_schema([]),
        "sleep on a conversation": conversation_schema(has_self=True),
        "sleep on untrusted text": conversation_schema(has_self=False),
        "self-model": self_question(_ASKER, "").schema,
        "trait": trait_question(_ASKER, "values", "\n".join(_SENTENCES)).schema,
        "step": schema_of(answer_type(tools[:1], FinishStep)),
        "step with every tool": schema_of(answer_type(tools, FinishStep)),
        "step with a server": schema_of(answer_type([*tools, *served], FinishStep)),
        "step with an open server": schema_of(answer_type([*tools, _served("http", _OPEN)], FinishStep)),
        "line of a note": schema_of(note_reading.choice_type(("n1", "n2", "n3"))),
        **{type_.__name__: schema_of(type_) for type_ in PROJECT_ANSWERS},
        **{f"tier test: {number}": prompt_of(task, Role.WORK).schema for number, task in enumerate(all_tasks())},
    }
    return {name: schema for name, schema in found.items() if schema is not None}


def answer_types_asked_for() -> set[str]:
    """The names of the types that the program passes to `WorkModel.ask`, read from its source."""
    folder = Path(reveries.__file__).parent / "projects"
    calls = [
        node
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask"
    ]
    return {ast.unparse(call.args[2]) for call in calls if len(call.args) > 2}


def _served(name: str, schema: Mapping[str, object]) -> Tool:
    arguments = arguments_type(OfferedTool(name, "", dict(schema)))
    assert arguments is not None
    return Tool("", Reach.OUT, name=f"server.{name}", server="server", arguments=arguments, run=Mock())
