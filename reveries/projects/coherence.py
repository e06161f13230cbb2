"""Does a task serve the goal? It warns and never skips by itself (V-91): shared words or nearness settle most tasks,
and a capable model is asked about the rest."""

import msgspec
import numpy as np

from reveries.index.terms import terms_of
from reveries.llm.tier import Tier
from reveries.projects.model import AgentState, WorkTask
from reveries.projects.store import ProjectStore
from reveries.projects.work_model import WorkModel
from reveries.prompts import prompt

LEAST_COSINE = 0.15
_ANSWER_TOKENS = 80


class CoherenceAnswer(msgspec.Struct, frozen=True):
    why: str
    serves: bool


async def why_off_track(store: ProjectStore, model: WorkModel, state: AgentState, task: WorkTask) -> str:
    """Why the task does not seem to serve the goal; empty where it does."""
    if state.goal is None or shares_words(state, task):
        return ""
    goal, own = await store.knowledge.embed_texts([state.goal.text, f"{task.title}. {task.description}"])
    if float(np.dot(goal, own)) >= LEAST_COSINE:
        return ""
    if model.tier is not Tier.CAPABLE:
        return "It shares no word with the goal, and its meaning is far from it."
    text = prompt("coherent", goal=state.goal.text, title=task.title, description=task.description)
    answer = await model.ask("coherence", text, CoherenceAnswer, tokens=_ANSWER_TOKENS)
    return answer.why.strip() if answer is not None and not answer.serves else ""


def shares_words(state: AgentState, task: WorkTask) -> bool:
    """Whether the task has a word in common with the goal, a criterion, or an area of the skill map. Pure."""
    orientation = state.orientation.content
    texts = [state.goal.text if state.goal else ""]
    texts += [one.text for one in orientation.success_criteria]
    texts += [node.skill for node in orientation.skill_map]
    own = set(terms_of(f"{task.title} {task.description} {task.skill_area}"))
    return not own or bool(own & set(terms_of(" ".join(texts))))
