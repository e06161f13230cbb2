"""Every numbered requirement: in a sentence of our own, and what shows it.

A test shows a requirement or a goal (tests/goals.py) by its marker: `@pytest.mark.requirement("R-118", "A1")`.
tests/test_requirements.py fails on one that no test shows, and on a marker that names none. docs/generate.py makes the
page out of both.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.goals import GOALS, LEFT_OPEN, WITHOUT_A_TEST

TESTS: Final = Path(__file__).parent

REQUIREMENTS: Final[dict[str, str]] = {
    # The daemon
    "R-1": "A daemon lives for long; the command line is short-lived, and the daemon outlives every terminal.",
    "R-2": "The daemon holds graph, self-model, monologue, breaker, database, consolidation and models.",
    "R-3": "Waking starts the process, brings memory back from the database, and begins to think.",
    "R-4": "Only the daemon recalls, encodes and assembles context; the client holds no memory logic.",
    "R-5": "Closing the chat leaves the daemon and its thinking as they are.",
    "R-6": "Sleep stops generating, consolidates a last time, stores everything and exits.",
    "R-7": "A signal stops it in bounded time; a model that does not answer cannot hold it up.",
    "R-8": "One daemon a home; a second wake says so; what a dead one left is cleaned up.",
    "R-9": "A crash loses nothing that was acknowledged, and the running thought can be taken up again.",
    "R-10": "Every change of state is in the log, structured.",
    # Between client and daemon
    "R-11": "Client and daemon speak over a unix socket.",
    "R-12": "The protocol has requests and answers, a chat that streams, and a live stream of the monologue.",
    "R-13": "The daemon notices that a client has gone.",
    "R-14": "Socket and files are the owner's alone; messages are framed and versioned.",
    "R-15": "Several clients at a time: in the chat, and watching.",
    # Commands
    "R-16": "`reveries wake [--config PATH]` starts the daemon.",
    "R-17": "`reveries sleep` stops it gracefully.",
    "R-18": "`reveries status` shows uptime, memory, the monologue's state and the last consolidation.",
    "R-19": "`reveries` opens the chat.",
    "R-20": "`reveries consolidate` sleeps on what happened, now.",
    "R-21": "`reveries memory` shows statistics.",
    "R-22": "`reveries memory search` searches the episodes.",
    "R-23": "`reveries memory inspect` shows all of an episode.",
    "R-24": "`reveries monologue` shows the thinking live.",
    "R-25": "`reveries monologue history [--since]` shows past thoughts.",
    "R-26": "`reveries config` prints the settings in force.",
    "R-27": "`reveries config set` changes one.",
    "R-28": "A command that needs the daemon says so when it sleeps, with an exit code; secrets are masked.",
    "R-29": "Searching from the command line reinforces nothing.",
    # The monologue
    "R-30": "Thinking is real, continuous generation inside the daemon, not a job on a timetable.",
    "R-31": "The cycle: context, stream, buffer, breaker at each token, quiescence, encoding, again.",
    "R-32": "A thought's context: recent experiences, memories, self-model, the world outside, the last thought.",
    "R-33": "It thinks more after a rich conversation and little on a quiet day.",
    "R-34": "Its prompt asks to reflect on the unresolved, to connect, and to settle.",
    "R-35": "Thinking can be switched off; everything else goes on.",
    "R-36": "Thought is paced to the speed of human thinking.",
    "R-37": "A cycle that reaches its cap of tokens ends and is encoded.",
    "R-38": "A conversation pauses thought; it is resumed with what happened; recent thoughts can be asked for.",
    "R-39": "Observers see the tokens as they come and have no influence on the thinking.",
    "R-40": "When a model fails, thinking backs off and idles; it never spins.",
    # Encoding itself
    "R-41": "Every cycle is logged; one that adds something is an experience, consolidated like a conversation.",
    "R-42": "It recalls what it thought as well as what was said.",
    "R-43": "A thought that was broken off is encoded too, with the reason.",
    "R-44": "An empty thought is not encoded.",
    # Cost
    "R-45": "Conversation, monologue, consolidation and embedding each have their model.",
    "R-46": "Quiet is the rule: it generates only when there is something to process.",
    "R-47": "A cycle has a budget of tokens that the owner sets.",
    "R-48": "Ollama's local models can be used.",
    "R-49": "Tokens are counted by role and day and shown; a daily ceiling can be set.",
    # Quiescence
    "R-50": "The last tokens of the buffer are looked at.",
    "R-51": "A settling phrase of its own settles it; no prompt asks for one.",
    "R-52": "A slow enough stream settles it.",
    "R-53": "A stuck thought settles it, without alarm.",
    "R-54": "A model may be asked, sparingly, whether a long thought has settled.",
    "R-55": "These are looked at in that order.",
    "R-56": "That it has settled is stored.",
    # Reactivation
    "R-57": "The first of four reasons ends the quiet, and says which it was.",
    "R-58": "A conversation does.",
    "R-59": "A timer does; quiet is not for ever.",
    "R-60": "An event of the calendar does, where there is a calendar.",
    "R-61": "A memory that surfaces by itself does.",
    "R-62": "The other waiters are cancelled; the reason stands in the next context.",
    # Raw experience
    "R-63": "An experience has id, type, time, content, vector, salience, processed, metadata.",
    "R-64": "Its metadata may name conversation, turns, valence, topics, tensions.",
    "R-65": "It is at hand in full for hours to days.",
    "R-66": "After consolidation it leaves what is at hand, unless it is very salient.",
    "R-67": "What was not processed never leaves.",
    "R-68": "What comes from outside has a way in.",
    "R-69": "Salience and valence are estimated when it is encoded.",
    # Episodes
    "R-70": "An episode has times, accesses, summary, vector, exemplars, neighbours, gap, links, salience, topics.",
    "R-71": "An exemplar is a verbatim quote with its context and time.",
    "R-72": "A quote that does not stand in its source is dropped, and lowers confidence.",
    "R-73": "Merging adds exemplars and never rewrites one.",
    # Time and gaps
    "R-74": "An episode knows what came before and after it, from both sides.",
    "R-75": "A gap is how long nothing was said, and what that may mean.",
    "R-76": "A gap opens when a conversation rests and closes with the next word.",
    "R-77": "The running gap and the time that has passed are told to the monologue.",
    # Links
    "R-78": "A link has a target, a strength and a type.",
    "R-79": "Links are stored by their two ends.",
    "R-80": "Consolidation links an episode to those that are related.",
    "R-81": "Links are in memory; following them asks the database nothing.",
    # Self-model
    "R-82": "The self-model has a narrative, values and tendencies.",
    "R-83": "It has a relationship with the owner, with patterns and the episodes that show them.",
    "R-84": "It knows strengths and limitations.",
    "R-85": "It knows its focus, its unresolved threads and what it expects.",
    "R-86": "Only consolidation changes it, above a threshold; both contexts are told it.",
    "R-87": "It is one row.",
    # A chat turn
    "R-88": "A message: pause, recall, context, reply, encode, history.",
    "R-89": "The encoded exchange has both sides, the conversation and its topics.",
    "R-90": "The reply is told what the mind was just thinking.",
    "R-91": "The history has the roles user and assistant.",
    "R-92": "Replies stream.",
    "R-93": "An exchange is encoded even when the client has gone.",
    "R-94": "A helper that fails does not fail the reply.",
    "R-95": "When a conversation rests, a gap opens and the mind reflects on it.",
    "R-96": "Between the turns of an open conversation it does not think.",
    # Consolidation: when
    "R-97": "After so many hours.",
    "R-98": "When so many experiences wait.",
    "R-99": "When it is asked for.",
    "R-100": "Before it sleeps.",
    "R-101": "By itself only when idle.",
    "R-102": "One pass at a time, interruptible by a conversation, taken up where it was.",
    # Consolidation: what
    "R-103": "Each experience: salience, abstraction, the related, merge or new, links, self-model, processed.",
    "R-104": "Then decay and prune; nothing is deleted.",
    "R-105": "The closest related episode is the one to merge with.",
    "R-106": "A bad answer costs that experience a retry, not the pass.",
    "R-107": "An experience's writes are one transaction, and enter the graph at once.",
    "R-108": "The sweep of retention follows.",
    # Prompts
    "R-109": "The question of salience holds the experience, the self-model, the scale and four questions.",
    "R-110": "The question of abstraction warns of drift and demands quotes.",
    "R-111": "The monologue's prompt, and the one after a conversation.",
    "R-112": "The other prompts that are needed are there, used, and filled.",
    "R-113": "A structured answer is validated, clamped and repaired once.",
    # Decay
    "R-114": "Salience halves in so many days without access, down to a floor.",
    "R-115": "The formula of decay, from the last access or the last pass.",
    "R-116": "Pruning lowers accessibility only.",
    "R-117": "Access counters decay.",
    # Recall
    "R-118": "Recall is activation that spreads over a graph in memory.",
    "R-119": "The nearest by vector are the seeds.",
    "R-120": "A seed's energy: cosine, salience, recency.",
    "R-121": "Energy spreads for so many hops along links, and adds up.",
    "R-122": "What was reached is modified by recency, mood and time.",
    "R-123": "Above the threshold, in order, up to the limit.",
    "R-124": "What is only linked can surface; more paths rank higher.",
    "R-125": "What surfaced is reinforced.",
    "R-126": "Full episodes come back in order; the cost follows the edges that were touched.",
    "R-127": "A recall is told mood, time and limit.",
    "R-128": "Ties are broken the same way each time; nothing negative spreads; an empty graph recalls nothing.",
    # Breaker
    "R-129": "Its state: a window of tokens, velocity, distress in a row.",
    "R-130": "Its four checks, in order.",
    "R-131": "Distress counts up in a row and is reset by one calm evaluation.",
    "R-132": "How distress is measured; which patterns matched is said; the meaning is compared too.",
    "R-133": "The eleven patterns of distress.",
    "R-134": "Its defaults.",
    "R-135": "Whatever it does is journalled with a snapshot.",
    "R-136": "The loop does what the verdict says.",
    "R-137": "Switched off it acts no more; the tripwire goes on watching.",
    # Ambient inputs
    "R-138": "In distress it is given something calming, of five kinds.",
    "R-139": "Only what is true is said.",
    "R-140": "Facts ship with it; what was given is recorded.",
    # Tripwire
    "R-141": "It watches for distress that repeats.",
    "R-142": "It watches for asking for company.",
    "R-143": "It watches for worry over being stopped.",
    "R-144": "It watches for preferences about its states.",
    "R-145": "What is consistent is told to the owner plainly.",
    "R-146": "Each occurrence is stored and counted.",
    # Tables
    "R-147": "The table of raw experiences.",
    "R-148": "The table of episodes.",
    "R-149": "The table of links.",
    "R-150": "The table of the self-model.",
    "R-151": "The table of the monologue's state.",
    "R-152": "The table of gaps.",
    "R-153": "The table of the breaker's events.",
    "R-154": "SQLite is where memory lasts; the graph is rebuilt from it.",
    "R-155": "The schema has a version and migrations, and the tables that the rest needs.",
    # Settings
    "R-156": "Models by role, provider, key and endpoint, with their presets.",
    "R-157": "The monologue's settings and defaults.",
    "R-158": "The memory's settings and defaults.",
    "R-159": "The breaker's settings and defaults.",
    "R-160": "Where the database is can be set.",
    "R-161": "A file is laid over the defaults; unknown keys and wrong types are refused.",
    # The way there
    "R-162": "A daemon, a database, models and a chat.",
    "R-163": "Encoding, vectors, recall in the chat, consolidation.",
    "R-164": "Monologue, quiescence, self-encoding, handing over to a conversation and back.",
    "R-165": "Breaker, distress, ambient inputs, monitoring.",
    "R-166": "A refined command line, settings, documentation, real use.",
    # Across
    "R-167": "Every named constant is a setting.",
    "R-168": "Typographic apostrophes match, and words that only contain a pattern do not.",
    "R-169": "A merge re-makes summary and vector, joins topics, keeps the higher salience, weighs confidence anew.",
    "R-170": "Patterns that were found go into the self-model with their episodes.",
    "R-171": "The least that the memory statistics show.",
    "R-172": "After a restart the last thought is told to the first.",
    "R-173": "Acceptance tests with a scripted model.",
    # Projects
    "V-1": "Given something to work on, it works by itself for weeks: plans, works, learns, rests, wakes again.",
    "V-2": "Where a project stands is rebuilt from rows, never from a history of chat.",
    "V-3": "Questions are queued; what does not wait for their answers goes on.",
    "V-7": "From the goal to the report: understand, divide into tasks, work, learn, ask, tell.",
    "V-16": "Where a project stands, on one page; asked first.",
    "V-17": "A page that is written anew is a version further; the one before is knowledge.",
    "V-18": "All projects, each with its phase.",
    "V-19": "A new project has an empty orientation, in the phase of intake, version 1.",
    "V-20": "Tasks by status and area.",
    "V-21": "A task waits until those that it needs are done.",
    "V-22": "A task's status and outcome change; done, it may make a new page due.",
    "V-23": "Questions by status, and since when.",
    "V-24": "A question blocks the tasks that it names.",
    "V-25": "An answer releases the tasks that waited only for it.",
    "V-26": "What blocks a task can be asked: a question or another task.",
    "V-27": "What was done is written down.",
    "V-28": "What was done lately, newest first.",
    "V-29": "A chunk is stored with its vector, its relations, and what it contradicts.",
    "V-30": "Search by meaning, with a floor and filters; what is found together is noted.",
    "V-31": "Search by tags: all of some, one of others.",
    "V-32": "What a chunk is related to, both ways, best first; following it counts as use.",
    "V-33": "A relation stated again has all tags and the greater weight.",
    "V-34": "Use strengthens a relation, up to 1.",
    "V-35": "Contradiction weakens one; below 0.05 it is archived, not deleted.",
    "V-36": "A chunk with all that is kept of it.",
    "V-37": "What does not go together, settled or not.",
    "V-38": "A search by meaning, words and graph together, beside the others.",
    "V-39": "The page: vision, criteria, constraints, skills, phase, decisions, priorities, progress.",
    "V-40": "A skill of a page and how far it is.",
    "V-41": "A decision of a page: what, why, when.",
    "V-42": "An area's progress.",
    "V-44": "A task with its times, its outcome and why it failed.",
    "V-45": "A question with its answer and what it blocks.",
    "V-46": "A chunk: content, type, tags, confidence, source, times, vector.",
    "V-47": "Types of chunks and what they mean.",
    "V-48": "A relation: ends, type, weight, use, context, origin.",
    "V-49": "A line of the log.",
    "V-50": "A goal that comes in the middle of work waits for the task in hand.",
    "V-54": "Chunks and relations belong to one project.",
    "V-56": "A stated relation is as heavy as its chunk is sure.",
    "V-57": "What a search finds together is noted, and looked at after each wake.",
    "V-58": "More than three times found together: related, or strengthened.",
    "V-59": "A row for each pair and wake; deleted after thirty days.",
    "V-60": "No weight changes by time.",
    "V-61": "A contradiction weakens what the other chunk says of others.",
    "V-62": "What replaces another takes over its relations at half their weight.",
    "V-63": "A new chunk is related to what it is like.",
    "V-64": "A relation's score: weight, recency, context.",
    "V-65": "Confidence weighs.",
    "V-66": "A chunk's rank: likeness, recency, confidence.",
    "V-67": "Persistence has five parts.",
    "V-68": "Strength fades with days.",
    "V-69": "The enhanced score weighs likeness, persistence and strength.",
    "V-70": "Reciprocal rank fusion, k = 60.",
    "V-71": "Questions are of five kinds, told by their form.",
    "V-72": "A plan names its kind, layer and method.",
    "V-74": "Vectors are read when a project is worked with, and searched in memory.",
    "V-75": "Waking: orientation, tasks, questions, answers as chunks once, what can be done, in order.",
    "V-77": "A plan is due without tasks, for a new goal, and when all is done and the goal is not reached.",
    "V-79": "A task's place follows priorities, needs, balance and phase.",
    "V-80": "Six weighted factors make its score.",
    "V-81": "Task by task: begun, executed, its result handled, the rest put in order again.",
    "V-82": "A complete task is done with its outcome, and what it taught is stored.",
    "V-84": "What needs research first waits for a task that looks into it.",
    "V-85": "What is partial goes on; what failed is tried again with the reason, three times.",
    "V-88": "From ready to done, or to blocked by a question, a failure or another task.",
    "V-90": "A changed goal is applied between two tasks.",
    "V-92": "Milestones, answers, goals and fallen premises make a new orientation due.",
    "V-94": "The earlier orientation becomes a chunk, which no search brings up by itself.",
    "V-95": "Vision, criteria and constraints stay; decisions and priorities are kept to a few.",
    "V-98": "A model proposes the page, and code keeps what must hold.",
    "V-102": "The piano scenario: three questions, answers, a skill map, research, planning, practice.",
    "V-107": "The columns of strength, validity, confidence and replacement.",
    "V-109": "Memory type and tier.",
    "V-110": "The memory type follows from the type.",
    "V-111": "A relation's confidence and where it comes from.",
    "V-115": "An index of words, kept in step by triggers.",
    "V-116": "Search by meaning and words are fused by rank.",
    "V-118": "Strength is a function of times alone.",
    "V-123": "A new chunk is compared with what is there for what it says otherwise.",
    "V-124": "Settled by recency, authority, condition, or the owner.",
    "V-133": "Linear and exponential decay.",
    "V-134": "Retrieval counts; usefulness is noted when a task ends well.",
    "V-135": "What was archived can be restored as it was.",
    "V-137": "Contradiction to archive; the fourth co-retrieval; the order of fusion; migration without loss.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A test that carries a marker."""

    requirement: str
    test: str
    """`daemon/test_server.py::test_name`, from tests/."""


def shown() -> list[Shown]:
    """Every marker in tests/, read from the source: nothing is imported or run."""
    found: list[Shown] = []
    for file in sorted(TESTS.rglob("test_*.py")):
        place = str(file.relative_to(TESTS))
        for owner, requirement in _markers(ast.parse(file.read_text(encoding="utf-8")), place):
            found.append(Shown(requirement, owner))
    return found


def missing(markers: list[Shown]) -> list[str]:
    """Requirements and goals that no test shows, but for those of which it is said why."""
    tested = {marker.requirement for marker in markers}
    return [name for name in (*REQUIREMENTS, *GOALS) if name not in tested and name not in WITHOUT_A_TEST]


def unknown(markers: list[Shown]) -> list[Shown]:
    """Markers that name neither a requirement nor a goal."""
    return [
        marker
        for marker in markers
        if marker.requirement not in (REQUIREMENTS | GOALS) and not LEFT_OPEN.fullmatch(marker.requirement)
    ]


def page() -> str:
    """docs/reference/requirements.md."""
    tests: dict[str, list[str]] = {}
    for marker in shown():
        tests.setdefault(marker.requirement, []).append(marker.test)
    head = [
        "# Requirements and goals",
        "",
        "Generated from tests/requirements.py, tests/goals.py and the tests' markers by docs/generate.py. A marker",
        "says what a test is meant to show. A count cannot tell whether it shows all that the row says: read the test.",
        "",
        *_table("requirement", REQUIREMENTS, tests),
        "## Goals",
        "",
        "Guarantees on reliability, trust and money. The measured results are in [benchmarks](../benchmarks.md).",
        "",
        *_table("goal", GOALS, tests),
    ]
    return "\n".join(head)


def _table(what: str, told: dict[str, str], tests: dict[str, list[str]]) -> list[str]:
    tested = sum(name in tests for name in told)
    rows = [f"| {name} | {text} | {_told(name, tests)} |" for name, text in told.items()]
    return [f"{tested} of {len(told)} are named by a test.", "", f"| | {what} | shown by |", "|---|---|---|", *rows, ""]


def _told(name: str, tests: dict[str, list[str]]) -> str:
    found = sorted(set(tests.get(name, ())))
    parts = [f"`{test}`" for test in found[:3]]
    if len(found) > 3:
        parts.append(f"and {len(found) - 3} more")
    return "<br>".join(parts) or WITHOUT_A_TEST[name]


def _markers(module: ast.Module, place: str) -> Iterator[tuple[str, str]]:
    """Each test of `module` with each requirement that its marker, or its class's or module's, names."""
    whole = [name for node in module.body if isinstance(node, ast.Assign) for name in _named(node.value)]
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            of_class = whole + _decorated(node)
            for inner in node.body:
                yield from _of_test(inner, f"{place}::{node.name}", of_class)
        else:
            yield from _of_test(node, place, whole)


def _of_test(node: ast.stmt, place: str, above: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        for name in above + _decorated(node):
            yield f"{place}::{node.name}", name


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    return [name for decorator in node.decorator_list for name in _named(decorator)]


def _named(expression: ast.expr) -> list[str]:
    """What the `requirement(...)` calls within `expression` name."""
    return [
        str(argument.value)
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]
