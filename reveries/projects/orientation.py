"""Rewrite a project's orientation: a model proposes, code enforces the invariants, the old version becomes a chunk
(V-92..V-98)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

import msgspec

from reveries.db.database import Transaction
from reveries.knowledge.model import ARCHIVE_TAG, Chunk, ChunkSource, ChunkType, Confidence, NewChunk
from reveries.llm.tier import Tier
from reveries.projects.answers import CRITERION_TAG
from reveries.projects.intake import CONSTRAINTS_TAG, CRITERIA_TAG, GIVEN_TAG
from reveries.projects.model import (
    AgentState,
    Orientation,
    OrientationVersion,
    OwnerQuestion,
    Phase,
    Project,
    QuestionStatus,
    SkillNode,
    TaskStatus,
)
from reveries.projects.orientation_rewrite import Proposal, RewriteInput, rewrite
from reveries.projects.premise import Fallen
from reveries.projects.prompt_material import describe_orientation, describe_tasks, list_chunks
from reveries.projects.store import ProjectStore
from reveries.projects.triggers import (
    DECISION_TRIGGER,
    INTAKE_TAG,
    LEFT_TRIGGER,
    REACHED_TAG,
    REDO_TRIGGER,
    SETTLED_TRIGGER,
    is_shown_reached,
)
from reveries.projects.work_model import WorkModel
from reveries.projects.yes_answers import YesTo, is_yes
from reveries.prompts import prompt

_ANSWER_TOKENS = 900
_NOTHING = ("no", "none", "nothing", "nein", "nichts")
_LONGEST_VISION = 600


class SkillProposal(msgspec.Struct, frozen=True):
    skill: str
    depends_on: tuple[str, ...] = ()


class OrientAnswer(msgspec.Struct, frozen=True):
    vision_summary: str
    success_criteria: tuple[str, ...]
    constraints: tuple[str, ...]
    skills: tuple[SkillProposal, ...]
    phase: Phase
    priorities: tuple[str, ...]


async def write_orientation(
    store: ProjectStore,
    model: WorkModel,
    state: AgentState,
    fallen: Fallen,
    trigger: str,
    proposal: Proposal | None = None,
) -> int | None:
    """Write the next version because of `trigger`; return its number. None, and nothing is written, if the owner or a
    program wrote one meanwhile. `proposal`: what a plan said for the page; without it a capable model is asked, if
    there is something that the page does not know."""
    chunks = await store.knowledge.of_project(state.project.id)
    triggers = set(trigger.split())
    may_change_goal = bool({"goal", INTAKE_TAG, CRITERION_TAG} & triggers) or _has_new_words(state)
    if proposal is None and model.tier is Tier.CAPABLE and is_news(state, chunks, triggers):
        proposal = await _propose(model, state, chunks)
    plain = _plain_proposal(state)
    if model.tier is Tier.CAPABLE:
        plain = _keep_written(plain, state.orientation.content)
    if is_said_reached(_asked_of_goal(state)) or is_shown_reached(state):
        plain, proposal = replace(plain, phase=Phase.COMPLETE), proposal and replace(proposal, phase=Phase.COMPLETE)
    if proposal is None:
        proposal = plain
    elif not proposal.success_criteria and not state.orientation.content.success_criteria:
        proposal = replace(proposal, success_criteria=plain.success_criteria)
    elif not proposal.success_criteria:
        proposal = replace(proposal, success_criteria=None)
    if given_criteria := _given_criteria(state):
        proposal = replace(proposal, success_criteria=given_criteria)
    if not proposal.skills:
        proposal = replace(proposal, skills=plain.skills)
    old = state.orientation
    given = RewriteInput(old.content, state.tasks, chunks, fallen, proposal, may_change_goal)
    new = rewrite(
        replace(
            given,
            criteria_bases=_criteria_bases(state, chunks),
            is_premise_settled=bool({CRITERION_TAG, SETTLED_TRIGGER, REDO_TRIGGER, LEFT_TRIGGER} & triggers),
            is_reached=_is_ended_by_yes(state, triggers),
        )
    )
    prepared = await store.knowledge.prepare(state.project.id, [archive_chunk(old)])
    sources = frozenset[str]().union(*(task.foreign_sources for task in state.tasks))
    sources = sources.union(*(chunk.foreign_sources for chunk in chunks))
    async with store.transaction() as transaction:
        newest = await store.orientation(state.project.id, transaction)
        if newest.version != old.version:
            await _try_again(store, transaction, state.project, newest)
            return None
        await store.knowledge.put(transaction, state.project.id, prepared)
        await store.put_orientation(transaction, state.project.id, old, new, trigger, sources)
    return old.version + 1


def is_news(state: AgentState, chunks: Sequence[Chunk], triggers: AbstractSet[str]) -> bool:
    """Whether a page is worth a request: for a goal, for answers, when it is old or long, and else when something was
    learned that is verified. What tasks became of, and what fell, code writes by itself. Pure."""
    if triggers - {"milestone", "all-done", "planned", "premise", DECISION_TRIGGER, LEFT_TRIGGER, REDO_TRIGGER}:
        return True
    since = state.orientation.written_at
    return any(
        chunk.stands and chunk.task_id and chunk.confidence is Confidence.VERIFIED and chunk.created_at > since
        for chunk in chunks
    )


def _has_new_words(state: AgentState) -> bool:
    """Whether the owner answered something since the page was written: then what a model makes of it is kept."""
    since = state.orientation.written_at
    return any(
        question.status is QuestionStatus.ANSWERED
        and not question.answered_by
        and question.payload == "{}"
        and (question.answered_at or 0.0) > since
        and REACHED_TAG not in question.context_tags
        for question in state.questions
    )


async def _try_again(
    store: ProjectStore, transaction: Transaction, project: Project, newest: OrientationVersion
) -> None:
    """Let what made a rewrite due be due on the newer page, too, unless the owner chose that page."""
    if project.rewrite_due and newest.reverted_to is None:
        await store.note_rewrite_due(transaction, project)


def archive_chunk(old: OrientationVersion) -> NewChunk:
    """Return a chunk with the content of an old orientation (V-17). Pure."""
    return NewChunk(
        content=describe_orientation(old.content),
        type=ChunkType.DECISION,
        confidence=Confidence.VERIFIED,
        source=ChunkSource.DEDUCTION,
        title=f"Orientation, version {old.version}",
        tags=(ARCHIVE_TAG, f"v{old.version}"),
        foreign_sources=old.foreign_sources,
    )


async def _propose(model: WorkModel, state: AgentState, chunks: Sequence[Chunk]) -> Proposal | None:
    assert state.goal is not None
    standing = [chunk for chunk in chunks if chunk.stands and ARCHIVE_TAG not in chunk.tags]
    chunk_list, _ = list_chunks(standing[::-1], model.context_chars // 2)
    text = prompt(
        "orient",
        owner=model.owner,
        goal=state.goal.text,
        orientation=describe_orientation(state.page),
        tasks=describe_tasks(state.tasks),
        known=chunk_list,
    )
    answer = await model.ask("orient", text, OrientAnswer, tokens=_ANSWER_TOKENS)
    if answer is None:
        return None
    return Proposal(
        phase=answer.phase,
        priorities=answer.priorities,
        skills=tuple(SkillNode(skill.skill.strip(), dependencies=skill.depends_on) for skill in answer.skills),
        vision_summary=answer.vision_summary.strip()[:_LONGEST_VISION] or None,
        success_criteria=answer.success_criteria,
        constraints=answer.constraints,
    )


def _plain_proposal(state: AgentState) -> Proposal:
    """Propose without a model: the goal and the first answers, in the owner's own words."""
    assert state.goal is not None
    areas = tuple(dict.fromkeys(task.skill_area for task in state.tasks if task.skill_area))
    return Proposal(
        vision_summary=state.goal.text[:_LONGEST_VISION],
        success_criteria=_given_criteria(state) or _said_of_project(_asked_of_goal(state), CRITERIA_TAG),
        constraints=_said_of_project(state.questions, CONSTRAINTS_TAG),
        skills=tuple(SkillNode(area) for area in areas),
    )


def _keep_written(plain: Proposal, page: Orientation) -> Proposal:
    """Of what code proposes, leave what a capable model has written as it is."""
    if not page.success_criteria:
        return replace(plain, phase=page.current_phase)
    return Proposal(phase=page.current_phase, skills=plain.skills)


def _asked_of_goal(state: AgentState) -> list[OwnerQuestion]:
    """Return the questions since the goal was set; answers about an earlier goal do not apply to this one."""
    return [
        question for question in state.questions if state.goal is not None and question.asked_at >= state.goal.said_at
    ]


def _given_criteria(state: AgentState) -> tuple[str, ...]:
    """Return the criteria that the owner said last with the goal itself."""
    given = [question for question in _asked_of_goal(state) if {GIVEN_TAG, CRITERIA_TAG} <= set(question.context_tags)]
    return _said_of_project(given[-1:], CRITERIA_TAG)


def _criteria_bases(state: AgentState, chunks: Sequence[Chunk]) -> tuple[str, ...]:
    """Return ids of the owner's answers that new criteria rest on; if one is retracted, its criteria are in doubt."""
    since = state.goal.said_at if state.goal is not None else 0.0
    wanted = {INTAKE_TAG, CRITERIA_TAG}
    return tuple(
        chunk.id
        for chunk in chunks
        if chunk.stands
        and chunk.type is ChunkType.USER_INPUT
        and wanted <= set(chunk.tags)
        and chunk.created_at >= since
    )


def is_said_reached(questions: Sequence[OwnerQuestion]) -> bool:
    """Whether the owner's latest answer says that the goal is reached. Pure."""
    answers = [
        question
        for question in questions
        if REACHED_TAG in question.context_tags and question.status is QuestionStatus.ANSWERED
    ]
    return bool(answers) and is_yes(answers[-1].answer, YesTo.REACHED)


def _is_ended_by_yes(state: AgentState, triggers: AbstractSet[str]) -> bool:
    """Whether the owner's yes ends the goal now, or ended it and nothing is to be done again since (V-77)."""
    if not is_said_reached(_asked_of_goal(state)):
        return False
    is_open = any(task.status not in (TaskStatus.DONE, TaskStatus.DROPPED) for task in state.tasks)
    is_in_doubt = "premise" in triggers and any(task.flagged_because for task in state.tasks)
    was_ended = state.orientation.content.current_phase is Phase.COMPLETE
    return REACHED_TAG in triggers or (was_ended and not is_open and not is_in_doubt)


def _said_of_project(questions: Sequence[OwnerQuestion], tag: str) -> tuple[str, ...]:
    own = [
        question for question in questions if question.status is QuestionStatus.ANSWERED and not question.answered_by
    ]
    answers = [question.answer for question in own if tag in question.context_tags]
    lines = [line.strip(" -*") for answer in answers for line in answer.splitlines()]
    return tuple(line for line in lines if line and line.lower().rstrip(".") not in _NOTHING)
