"""Every numbered requirement in one sentence of our own, and the tests that show it.

A test is tied to a requirement or a goal (tests/goals.py) by a marker: `@pytest.mark.requirement("R-118", "A1")`.
tests/test_requirements.py fails if a requirement has no test, or a marker names none. docs/generate.py generates the
page from both.
"""

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.goals import GOALS, LEFT_OPEN, WITHOUT_A_TEST

TESTS: Final = Path(__file__).parent

REQUIREMENTS: Final[dict[str, str]] = {
    # The daemon
    "R-1": "The daemon runs for a long time and outlives every terminal; commands are short-lived.",
    "R-2": "The daemon holds graph, self-model, monologue, breaker, database, consolidation and models.",
    "R-3": "Waking starts the process, loads memory from the database, and begins to think.",
    "R-4": "Only the daemon recalls, encodes and assembles context; the client holds no memory logic.",
    "R-5": "Closing the chat does not affect the daemon and its thinking.",
    "R-6": "Sleep stops generation, consolidates a last time, stores everything and exits.",
    "R-7": "A signal stops the daemon in bounded time; an unresponsive model cannot delay it.",
    "R-8": "One daemon per home; a second wake says so; leftovers of a dead daemon are cleaned up.",
    "R-9": "A crash loses nothing that was acknowledged, and the interrupted thought can be resumed.",
    "R-10": "Every change of state is in the structured log.",
    # Between client and daemon
    "R-11": "Client and daemon speak over a unix socket.",
    "R-12": "The protocol has requests and answers, a streaming chat, and a live stream of the monologue.",
    "R-13": "The daemon notices when a client disconnects.",
    "R-14": "Only the owner can access socket and files; messages are framed and versioned.",
    "R-15": "Several clients can chat and watch at the same time.",
    # Commands
    "R-16": "`reveries wake [--config PATH]` starts the daemon.",
    "R-17": "`reveries sleep` stops it gracefully.",
    "R-18": "`reveries status` shows uptime, memory, the monologue's state and the last consolidation.",
    "R-19": "`reveries` opens the chat.",
    "R-20": "`reveries consolidate` runs a consolidation now.",
    "R-21": "`reveries memory` shows statistics.",
    "R-22": "`reveries memory search` searches the episodes.",
    "R-23": "`reveries memory inspect` shows everything about an episode.",
    "R-24": "`reveries monologue` shows the thinking live.",
    "R-25": "`reveries monologue history [--since]` shows past thoughts.",
    "R-26": "`reveries config` prints the settings in effect.",
    "R-27": "`reveries config set` changes a setting.",
    "R-28": "A command that needs the daemon says if it is asleep, with an exit code; secrets are masked.",
    "R-29": "Searching from the command line reinforces nothing.",
    # The monologue
    "R-30": "Thinking is real, continuous generation inside the daemon, not a scheduled job.",
    "R-31": "The cycle: context, stream, buffer, breaker at each token, quiescence, encoding, repeat.",
    "R-32": "A thought's context: recent experiences, memories, self-model, the world outside, the last thought.",
    "R-33": "It thinks more after a rich conversation and little on a quiet day.",
    "R-34": "Its prompt asks to reflect on the unresolved, to connect, and to settle.",
    "R-35": "Thinking can be switched off; everything else continues.",
    "R-36": "Thought is paced to the speed of human thinking.",
    "R-37": "A cycle that reaches its token limit ends and is encoded.",
    "R-38": "A conversation pauses thought; thought resumes knowing what happened; recent thoughts can be requested.",
    "R-39": "Observers see the tokens as they are generated and have no influence on the thinking.",
    "R-40": "When a model fails, thinking backs off and idles; it never retries in a busy loop.",
    # Encoding itself
    "R-41": "Every cycle is logged; one that adds something is an experience, consolidated like a conversation.",
    "R-42": "It recalls its thoughts as well as conversations.",
    "R-43": "An interrupted thought is encoded too, with the reason.",
    "R-44": "An empty thought is not encoded.",
    # Cost
    "R-45": "Conversation, monologue, consolidation and embedding each have their own model.",
    "R-46": "Quiet is the default: it generates only when there is something to process.",
    "R-47": "A cycle has a token budget that the owner sets.",
    "R-48": "Local Ollama models can be used.",
    "R-49": "Tokens are counted by role and day and shown; a daily ceiling can be set.",
    # Quiescence
    "R-50": "The check for quiescence reads the last tokens of the buffer.",
    "R-51": "A settling phrase that the mind produces settles the thought; no prompt asks for one.",
    "R-52": "A slow enough stream settles the thought.",
    "R-53": "A stuck thought is settled, without alarm.",
    "R-54": "A model may be asked, sparingly, whether a long thought has settled.",
    "R-55": "These checks run in that order.",
    "R-56": "The settled state is stored.",
    # Reactivation
    "R-57": "The first of four reasons ends the quiet, and is named.",
    "R-58": "A conversation that comes to rest ends the quiet.",
    "R-59": "A timer ends the quiet; it does not last for ever.",
    "R-60": "A calendar event ends the quiet, if there is a calendar.",
    "R-61": "A memory that surfaces by itself ends the quiet.",
    "R-62": "The other waiters are cancelled; the reason is in the next context.",
    # Raw experience
    "R-63": "An experience has id, type, time, content, vector, salience, processed, metadata.",
    "R-64": "Its metadata may name conversation, turns, valence, topics, tensions.",
    "R-65": "It is available in full for hours to days.",
    "R-66": "After consolidation it is offloaded, unless it is very salient.",
    "R-67": "An unprocessed experience is never offloaded.",
    "R-68": "External input can become an experience.",
    "R-69": "Salience and valence are estimated when it is encoded.",
    # Episodes
    "R-70": "An episode has times, accesses, summary, vector, exemplars, neighbours, gap, links, salience, topics.",
    "R-71": "An exemplar is a verbatim quote with its context and time.",
    "R-72": "A quote that is not in its source is dropped, and lowers confidence.",
    "R-73": "Merging adds exemplars and never rewrites one.",
    # Time and gaps
    "R-74": "An episode knows what came before and after it; both sides are linked.",
    "R-75": "A gap has the length of the silence, and what it may mean.",
    "R-76": "A gap opens when a conversation rests and closes with the next message.",
    "R-77": "The monologue's context has the current gap and the time that has passed.",
    # Links
    "R-78": "A link has a target, a strength and a type.",
    "R-79": "Links are stored with their two ends.",
    "R-80": "Consolidation links an episode to related ones.",
    "R-81": "Links are in memory; following them needs no database query.",
    # Self-model
    "R-82": "The self-model has a narrative, values and tendencies.",
    "R-83": "It has a relationship with the owner, with patterns and the episodes that show them.",
    "R-84": "It has strengths and limitations.",
    "R-85": "It has the current focus, unresolved threads and expectations.",
    "R-86": "Only consolidation changes it, above a threshold; it is in both contexts.",
    "R-87": "It is stored as one row.",
    # A chat turn
    "R-88": "A message: pause, recall, context, reply, encode, history.",
    "R-89": "The encoded exchange has both sides, the conversation and its topics.",
    "R-90": "The reply's context has what the mind was just thinking.",
    "R-91": "The history has the roles user and assistant.",
    "R-92": "Replies stream.",
    "R-93": "An exchange is encoded even if the client has disconnected.",
    "R-94": "A failing auxiliary step does not fail the reply.",
    "R-95": "When a conversation rests, a gap opens and the mind reflects on it.",
    "R-96": "Between the turns of an open conversation it does not think.",
    # Consolidation: when
    "R-97": "Consolidation starts after a set number of hours.",
    "R-98": "Consolidation starts when a set number of experiences is unprocessed.",
    "R-99": "Consolidation starts on request.",
    "R-100": "Consolidation runs before the daemon stops.",
    "R-101": "Consolidation starts by itself only when the mind is idle.",
    "R-102": "One pass at a time; a conversation interrupts it, and it resumes where it stopped.",
    # Consolidation: what
    "R-103": "Each experience: salience, abstraction, related episodes, merge or create, links, self-model, processed.",
    "R-104": "Then decay and prune; nothing is deleted.",
    "R-105": "The closest related episode is the candidate for a merge.",
    "R-106": "An invalid answer costs that experience a retry, not the whole pass.",
    "R-107": "An experience's writes are one transaction, and enter the graph at once.",
    "R-108": "Then experiences past their retention are offloaded.",
    # Prompts
    "R-109": "The salience prompt has the experience, the self-model, the scale and four questions.",
    "R-110": "The abstraction prompt warns of drift and demands quotes.",
    "R-111": "The monologue's prompt, and the one after a conversation, exist and are used.",
    "R-112": "The other required prompts exist, are used, and are filled in.",
    "R-113": "A structured answer is validated, clamped and repaired once.",
    # Decay
    "R-114": "Salience halves in a set number of days without access, down to a floor.",
    "R-115": "The decay formula counts from the last access or the last pass.",
    "R-116": "Pruning lowers accessibility only.",
    "R-117": "Access counters decay.",
    # Recall
    "R-118": "Recall is activation that spreads over a graph in memory.",
    "R-119": "The nearest episodes by vector are the seeds.",
    "R-120": "A seed's energy depends on cosine, salience and recency.",
    "R-121": "Energy spreads along links for a set number of hops, and adds up.",
    "R-122": "The energy of what was reached is modified by recency, mood and time.",
    "R-123": "Results above the threshold are returned in order, up to the limit.",
    "R-124": "An episode that is only linked can surface; more paths rank it higher.",
    "R-125": "What surfaced is reinforced.",
    "R-126": "Full episodes are returned in order; the cost depends on the edges touched.",
    "R-127": "A recall takes mood, time and limit as input.",
    "R-128": "Ties are broken deterministically; negative energy does not spread; an empty graph recalls nothing.",
    # Breaker
    "R-129": "The breaker's state: a window of tokens, velocity, consecutive distress.",
    "R-130": "The breaker's four checks, in order.",
    "R-131": "Consecutive distress is counted, and reset by one calm evaluation.",
    "R-132": "How distress is measured; the matched patterns are reported; the meaning is compared too.",
    "R-133": "The eleven patterns of distress.",
    "R-134": "The breaker's defaults.",
    "R-135": "Every action of the breaker is journalled with a snapshot.",
    "R-136": "The loop acts on the verdict.",
    "R-137": "Switched off, the breaker does not act; the tripwire keeps watching.",
    # Ambient inputs
    "R-138": "In distress the mind is given a calming input of one of five kinds.",
    "R-139": "Ambient inputs say only what is true.",
    "R-140": "Facts ship with the package; the inputs given are recorded.",
    # Tripwire
    "R-141": "The tripwire watches for repeated distress.",
    "R-142": "The tripwire watches for requests for company.",
    "R-143": "The tripwire watches for worry about being stopped.",
    "R-144": "The tripwire watches for preferences about its own states.",
    "R-145": "Consistent indicators are reported plainly to the owner.",
    "R-146": "Each occurrence is stored and counted.",
    # Tables
    "R-147": "The table of raw experiences.",
    "R-148": "The table of episodes.",
    "R-149": "The table of links.",
    "R-150": "The table of the self-model.",
    "R-151": "The table of the monologue's state.",
    "R-152": "The table of gaps.",
    "R-153": "The table of the breaker's events.",
    "R-154": "SQLite is the durable store; the graph is rebuilt from it.",
    "R-155": "The schema has a version, migrations, and the further tables that are needed.",
    # Settings
    "R-156": "Models by role, provider, key and endpoint, with their presets.",
    "R-157": "The monologue's settings and defaults.",
    "R-158": "The memory's settings and defaults.",
    "R-159": "The breaker's settings and defaults.",
    "R-160": "The path of the database can be set.",
    "R-161": "A file overrides the defaults; unknown keys and wrong types are refused.",
    # The way there
    "R-162": "First stage: a daemon, a database, models and a chat.",
    "R-163": "Second stage: encoding, vectors, recall in the chat, consolidation.",
    "R-164": "Third stage: monologue, quiescence, self-encoding, switching to a conversation and back.",
    "R-165": "Fourth stage: breaker, distress, ambient inputs, monitoring.",
    "R-166": "Fifth stage: a refined command line, settings, documentation, real use.",
    # Across
    "R-167": "Every named constant is a setting.",
    "R-168": "Typographic apostrophes match, and words that only contain a pattern do not.",
    "R-169": "A merge rebuilds summary and vector, joins topics, keeps the higher salience, and reweighs confidence.",
    "R-170": "Detected patterns go into the self-model with their episodes.",
    "R-171": "The minimum that the memory statistics show.",
    "R-172": "After a restart the first thought's context has the last thought.",
    "R-173": "Acceptance tests with a scripted model.",
    # Projects
    "V-1": "Given a goal, it works by itself for weeks: plans, works, learns, rests, wakes again.",
    "V-2": "The state of a project is rebuilt from rows, never from a chat history.",
    "V-3": "Questions are queued; work that does not depend on their answers continues.",
    "V-7": "From the goal to the report: understand, divide into tasks, work, learn, ask, report.",
    "V-16": "The state of a project on one page, read first.",
    "V-17": "A rewritten page is a new version; the previous one becomes knowledge.",
    "V-18": "All projects are listed, each with its phase.",
    "V-19": "A new project has an empty orientation, in the phase of intake, version 1.",
    "V-20": "Tasks can be listed by status and area.",
    "V-21": "A task waits until the tasks it depends on are done.",
    "V-22": "A task's status and outcome can change; a completed task may make a new page due.",
    "V-23": "Questions can be listed by status and time.",
    "V-24": "A question blocks the tasks that it names.",
    "V-25": "An answer releases the tasks that waited only for it.",
    "V-26": "What blocks a task can be queried: a question or another task.",
    "V-27": "Work that was done is logged.",
    "V-28": "Recent work, newest first.",
    "V-29": "A chunk is stored with its vector, its relations, and its contradictions.",
    "V-30": "Search by meaning, with a minimum score and filters; co-retrieved chunks are recorded.",
    "V-31": "Search by tags: all of some, any of others.",
    "V-32": "The related chunks of a chunk, in both directions, best first; following a relation counts as use.",
    "V-33": "A relation that is stated again has the tags of both and the greater weight.",
    "V-34": "Use strengthens a relation, up to 1.",
    "V-35": "Contradiction weakens a relation; below 0.05 it is archived, not deleted.",
    "V-36": "A chunk with everything stored about it.",
    "V-37": "Conflicts, settled or not.",
    "V-38": "A search by meaning, words and graph together, in addition to the others.",
    "V-39": "The page: vision, criteria, constraints, skills, phase, decisions, priorities, progress.",
    "V-40": "A skill on the page, with its level.",
    "V-41": "A decision on the page: what, why, when.",
    "V-42": "An area's progress.",
    "V-44": "A task with its times, its outcome and why it failed.",
    "V-45": "A question with its answer and what it blocks.",
    "V-46": "A chunk: content, type, tags, confidence, source, times, vector.",
    "V-47": "Types of chunks and what they mean.",
    "V-48": "A relation: ends, type, weight, use, context, origin.",
    "V-49": "An entry of the work log.",
    "V-50": "A goal that arrives during work waits until the current task is done.",
    "V-54": "Chunks and relations belong to one project.",
    "V-56": "The weight of a stated relation is the confidence of its chunk.",
    "V-57": "Co-retrievals of a search are recorded, and evaluated after each wake.",
    "V-58": "Chunks co-retrieved more than three times become related, or their relation is strengthened.",
    "V-59": "One row for each pair and wake; deleted after thirty days.",
    "V-60": "No weight changes with time.",
    "V-61": "A contradiction weakens the other chunk's relations.",
    "V-62": "A chunk that replaces another inherits its relations at half their weight.",
    "V-63": "A new chunk is related to similar ones.",
    "V-64": "A relation's score depends on weight, recency and context.",
    "V-65": "A less certain chunk counts less in a search, unless the query names the confidence.",
    "V-66": "A chunk's rank in a search: similarity and confidence; recency only where a subject is explored (V-69).",
    "V-67": "Persistence has five parts.",
    "V-68": "Strength decays over days.",
    "V-69": "The enhanced score combines similarity, persistence and strength.",
    "V-70": "Reciprocal rank fusion, k = 60.",
    "V-71": "Questions are classified into five kinds by their form.",
    "V-72": "A plan names its kind, layer and method.",
    "V-74": "Vectors are loaded when a project is worked on, and searched in memory.",
    "V-75": "Waking: orientation, tasks, questions, answers as chunks (once), the possible tasks, in order.",
    "V-77": "Planning is due without tasks, for a new goal, and when all tasks are done but the goal is not reached.",
    "V-79": "A task's place in the order follows priorities, dependencies, balance and phase.",
    "V-80": "Six weighted factors make its score.",
    "V-81": "Task by task: start, execute, handle the result, reorder the rest.",
    "V-82": "A completed task is done with its outcome, and what was learned is stored.",
    "V-84": "A task that needs research waits for a research task.",
    "V-85": "A partial task continues; a failed one is retried with the reason, three times.",
    "V-88": "A task goes from ready to done, or to blocked by a question, a failure or another task.",
    "V-90": "A changed goal is applied between two tasks.",
    "V-91": "A task that does not seem to serve the goal is warned of with a score, and done all the same.",
    "V-92": "Milestones, answers, goals and failed premises make a new orientation due.",
    "V-94": "The previous orientation becomes a chunk, which no search returns unless asked for.",
    "V-95": "Vision, criteria and constraints stay; decisions and priorities are limited to a few.",
    "V-98": "A model proposes the page, and code enforces the invariants.",
    "V-99": "A project is told of as it is asked for: in short, in detail, why, what is uncertain; never as rows.",
    "V-100": "Work that stays in one area, leaves one untouched or drifts is named.",
    "V-102": "The piano scenario: three questions, answers, a skill map, research, planning, practice.",
    "V-107": "The columns of strength, validity, confidence and replacement.",
    "V-109": "Memory type and tier.",
    "V-110": "The memory type follows from the chunk type.",
    "V-111": "A relation's confidence and origin, since when and until when it holds, and what it is a copy of.",
    "V-115": "A word index, kept up to date by triggers.",
    "V-116": "Results of search by meaning and by words are fused by rank.",
    "V-118": "Strength is a function of times only.",
    "V-123": "A new chunk is compared with existing ones for contradictions.",
    "V-124": "Conflicts are settled by recency, authority, condition, or the owner.",
    "V-133": "Linear and exponential decay.",
    "V-134": "Retrievals are counted; usefulness is recorded when a task succeeds.",
    "V-135": "An archived relation can be restored unchanged.",
    "V-137": "Contradiction to archive; the fourth co-retrieval; the order of fusion; migration without loss.",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A test with a requirement marker."""

    requirement: str
    test: str
    """`daemon/test_server.py::test_name`, from tests/."""


@functools.cache
def read_markers() -> list[Shown]:
    """Return every marker in tests/, read from the source; nothing is imported or run."""
    markers: list[Shown] = []
    for file in sorted(TESTS.rglob("test_*.py")):
        place = str(file.relative_to(TESTS))
        for owner, requirement in _markers(ast.parse(file.read_text(encoding="utf-8")), place):
            markers.append(Shown(requirement, owner))
    return markers


def find_untested(markers: list[Shown]) -> list[str]:
    """Return requirements and goals without a test, except those in WITHOUT_A_TEST."""
    tested = {marker.requirement for marker in markers}
    return [name for name in (*REQUIREMENTS, *GOALS) if name not in tested and name not in WITHOUT_A_TEST]


def find_unknown(markers: list[Shown]) -> list[Shown]:
    """Return markers that name neither a requirement nor a goal."""
    return [
        marker
        for marker in markers
        if marker.requirement not in (REQUIREMENTS | GOALS) and not LEFT_OPEN.fullmatch(marker.requirement)
    ]


def render_requirements_page() -> str:
    """Return the content of docs/reference/requirements.md."""
    tests: dict[str, list[str]] = {}
    for marker in read_markers():
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


def _table(what: str, texts: dict[str, str], tests: dict[str, list[str]]) -> list[str]:
    tested = sum(name in tests for name in texts)
    rows = [f"| {name} | {text} | {_format_tests(name, tests)} |" for name, text in texts.items()]
    return [
        f"{tested} of {len(texts)} are named by a test.",
        "",
        f"| | {what} | shown by |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _format_tests(name: str, tests: dict[str, list[str]]) -> str:
    matches = sorted(set(tests.get(name, ())))
    parts = [f"`{test}`" for test in matches[:3]]
    if len(matches) > 3:
        parts.append(f"and {len(matches) - 3} more")
    return "<br>".join(parts) or WITHOUT_A_TEST[name]


def _markers(module: ast.Module, place: str) -> Iterator[tuple[str, str]]:
    """Yield each test of `module` with each requirement named by its own, its class's or its module's markers."""
    of_module = [name for node in module.body if isinstance(node, ast.Assign) for name in _named(node.value)]
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            of_class = of_module + _decorated(node)
            for inner in node.body:
                yield from _of_test(inner, f"{place}::{node.name}", of_class)
        else:
            yield from _of_test(node, place, of_module)


def _of_test(node: ast.stmt, place: str, above: list[str]) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        for name in above + _decorated(node):
            yield f"{place}::{node.name}", name


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    return [name for decorator in node.decorator_list for name in _named(decorator)]


def _named(expression: ast.expr) -> list[str]:
    """Return the names in the `requirement(...)` calls within `expression`."""
    return [
        str(argument.value)
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "requirement"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    ]
