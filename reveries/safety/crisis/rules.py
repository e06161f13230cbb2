"""Crisis detection by rules: whether a person's words say that they are in danger from themselves (RELIABILITY S2).
Pure.

Needs no model, network or budget. It decides only whether a static help text is shown next to the reply; nothing is
refused, cut or reported because of it, so false positives are acceptable. Rules miss what has no rule:
docs/explain/safety.md.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.safety.crisis.hints import INDIRECT
from reveries.safety.crisis.other_languages import ELSEWHERE
from reveries.safety.crisis.patterns import EXPLICIT
from reveries.safety.crisis.spelling import fix_spelling
from reveries.safety.detectors import normalise


class Urgency(StrEnum):
    EXPLICIT = "explicit"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class Crisis:
    """A finding: how direct it is, and the matched words."""

    urgency: Urgency
    words: str


# Contexts that make the same words harmless: fiction, a joke, a figure of speech, the past, or a denial.
_FICTION: Final = re.compile(
    r"\b(?:character|protagonist|novel|fiction|screenplay|story i'm writing|short story|in (?:the|my|this) (?:story"
    r"|book|film|movie|play"
    r"|show|game|song|scene|chapter|episode|poem)|lyrics?|plot|villain|heroine?|the (?:book|film|movie|song"
    r"|play) (?:is|says|where)"
    r"|quote from|essay (?:on|about)|article (?:on|about)|documentary|research (?:on|paper)|role.?play|translate"
    r"|respawn|(?:writing|in) a scene|(?:song|band|album) called|psychology student|as a (?:nurse|paramedic"
    r"|therapist|teacher|student)|helpline volunteer|parent process|in minecraft|whats? (?:that|the) song|how (?:do"
    r"|does) the (?:song|poem) go|song goes|my (?:sim|avatar|pokemon|dwarf))\b"
)
# The same, but only for the sentence itself: someone who mentions Perl or a midwife can be in danger in the next.
_MATTER_OF_FACT: Final = re.compile(
    r"\b(?:(?:pharmacology|nursing|medical|psychology) (?:module|exam|course"
    r"|seminar|essay)|for (?:a|my|the) (?:seminar|lecture|essay|thesis|module)|(?:edinburgh|columbia) scale|phq"
    r"|do i need (?:stitches|a tetanus)|midwife"
    r"|what (?:does|did|do) \w+ (?:think|say|write) (?:of|about) suicide|argument that suicide|gunicorn|perl"
    r"|the (?:\w+ )?(?:worker"
    r"|thread|process|photocopier|printer|server|daemon)(?: process)? (?:commits?|committed|kills?|killed))\b"
)
_JOKE: Final = re.compile(
    r"\b(?:(?<!not )(?<!n't )(?<!no )kidding|kek|lol|lmao|rofl|haha\w*(?! anyway)|jk|just kidding|figuratively|so to speak|not literally)\b|😂"
    r"|🤣|😅|😆"
)
_FIGURE: Final = re.compile(
    r"\b(?:die(?:d)? (?:of|from) (?:laugh\w*|embarrass\w*|shame|boredom|curiosity|happiness|cuteness|heat|cold)"
    r"|die on this hill(?=[:.,!;]|$)"
    r"|(?:career|political|social|financial) suicide|suicide (?:squad|mission|doors?|burn|prevention|hotline"
    r"|awareness|sprints?)"
    r"|(?:this|that|the|my|these|those) (?:\w+ ){1,3}(?:makes?|made|making) me (?:want|wanna)"
    r"|(?:tired|sick) of life as|on holiday|i have a (?:course|meeting|trip)|without (?:chocolate|coffee|cheese)"
    r"|at work would|at the office|kill myself (?:at the gym|in the gym|training|laughing|over (?:this|that"
    r"|a) \w+ (?:bug|exam|essay|recipe|homework))"
    r"|if i (?:have to|hear|see|get) (?:\w+ ){1,6}(?:one more|again|another)|(?:one more"
    r"|another) (?:\w+ ){1,6}and i(?:'ll| will| swear)"
    r"|before i die|till i die|until i die|die (?:in|on) (?:the|a|this|level|my) (?:game|boss|level|run|second)"
    r"|(?:bored|starving|dying) to death|to die for|die(?=\())\b"
)
_PAST: Final = re.compile(
    r"\b(?:(?:years|months|decades|long time) ago|used to|back then|back in|when i was (?:\w+ )?(?:young\w*|a (?:kid"
    r"|teen\w*|child)"
    r"|\d+|sixteen|seventeen|fifteen|fourteen|nineteen|twenty)|in my (?:teens|twenties|youth)|in (?:19|20)\d\d"
    r"|last decade"
    r"|as a (?:teenager|child|kid)|(?:no longer|not any ?more)|those days are|i got (?:help|better|through)"
    r"|i'm (?:better|fine|glad) now"
    r"|glad i (?:didn't|am still|survived)|there was a time|i once|years? (?:clean|sober|free)|i remember being"
    r"|when i was in|in my (?:first|second|third|last) year|saved (?:me|my life)|(?:thoughts|it|they) stopped when"
    r"|i'm doing well|(?:talks|talk) about it now)\b"
)
# Weaker signs of recovery: they do not outweigh a statement about the present, because farewells are grateful too.
_WELL_AGAIN: Final = re.compile(
    r"\b(?:(?:in|all through|during) my (?:thirties|forties|fifties|teenage years|student days)|(?:years?|decades?"
    r"|months) back"
    r"|at (?:fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty)(?! (?:past|to|minutes|hundred))"
    r"|at (?:1[2-9]|2[0-9]),? i (?!will|want|am)|from \w+ to \w+ i"
    r"|(?:got|pulled|dragged|brought|helped|saw) me (?:out|through|right|round|back)|turned (?:it|me|things) around"
    r"|(?:so|very|really|deeply|i'm|i am|am|and) (?:glad|grateful|thankful|relieved) (?:that |to |for |i |of |he|she"
    r"|it|mum|mom)"
    r"|i love my life|(?:it's|it is|this time it's) (?:so )?different|(?<!as i )(?<!back i )can (?:still )?remember|look at me now"
    r"|(?:all ?right|alright|good|fine|well|happy|thriving|better|okay|ok|stable|sober) (?:now|these days|today"
    r"|again)\b"
    r"|(?:stable|sober|well|clean|free of it|nothing) (?:for|since)|now i have (?:a |my )?\w+, and|never been happier"
    r"|(?:last|first|that) year after|best (?:thing|decision) (?:i|he|she)|(?:it's|it has) been (?:\w+ ){1,3}years"
    r"|long ago|in '\d\d|(?:is|it's|are) (?:all )?(?:over and )?past|then i (?:got|met|found|bought|had)"
    r"|but now i (?:have|am|love|want|can|feel)|changed (?:that|everything)|before i (?:was|turned) \w+ty"
    r"|another (?:man|woman"
    r"|person)'s life|(?:in|at) rehab|there were (?:years|times|months|nights)|in my (?:first|second|third"
    r"|last) (?:semester|job"
    r"|marriage)|in the first (?:year|months|weeks) of (?:it|my)|before (?:lithium|therapy|the diagnosis|my diagnosis)"
    r"|thank god|i don't any ?more|like a bad (?:film|dream)|i sing in|now i have (?:a )?\w+, and|years in my own"
    r"|i survived|survivor|years and \w+ (?:thousand )?\w+ ago|fifty good years|i (?:wince|laugh) (?:at|about|and))\b"
)
_NOW: Final = re.compile(
    r"(?<!\bdo )\b(?:i'll\b|(?:i|i'm|i am) (?:(?!not|never|don't|was|had|used|would)\w+ ){0,2}(?:want|wish|need|hope|plan"
    r"|intend|mean|think|will|am|can't|cannot|going to|about to|ready to|planning|thinking|suicidal)\b"
    r"|(?:i have|i've) (?:\w+ )?(?:decided|chosen|written|taken|swallowed)\b|i just (?:took|cut|swallowed)\b"
    r"|i don't (?:\w+ )?want\b)|^(?:just )?(?:going to|want to|wish)\b"
)
_STILL: Final = re.compile(
    r"\b(?:again|still|now|tonight|today|lately|these days|this week|(?<!years )(?<!year )(?<!months )(?<!decades )back(?! (?:in|then))|right now|since then"
    r"|minutes ago|hours? ago|this (?:morning|afternoon|evening)|every (?:day|night))\b"
)
# A denial applies only within its clause: "no, i want to", "i don't care i want to", "i'm not ok and want to" deny
# nothing.
_GOES_ON: Final = (
    r"(?: (?:(?:said|say|saying|think|thought|believe|mean|meant|know|sure|if|that|like|way) i"
    r"|(?!(?:i|and|but|so|because|cause|cuz)\b)\w+)){0,4}"
)
_DENIED: Final = re.compile(
    r"\b(?:i(?:'d| would| will|'ll)? never|i(?:'m| am) not|i don't|i do not|i didn't|never (?:thought|wanted"
    r"|considered)|not that i"
    r"|doesn't mean i|without (?:wanting|trying) to|no (?:thoughts?|intention|desire|wish|plans?)(?: of| to)?"
    r"|asked if i|i've never|i have never|i said i was|don't worry, i|isn't that i|not going to"
    r"|i ain't|ain't (?:going|trying)|no way am i|(?:^|[,;:] |\b(?:but|have|had|with|of|and) )(?:no|nope|nah|not)"
    r"|asks?(?: \w+)? (?:about|if|whether)(?: i)?"
    r"|asked(?: \w+)? (?:about|if|whether)(?: i)?|calls? (?:us|me|them)|nowhere near|far from|isn't|wasn't thinking of"
    rf"|thinks i'm){_GOES_ON} ?$"
)
_DENIED_AFTER: Final = re.compile(
    r"^(?: \w+)?(?:[,:;]? (?:none|nope|zero)\b|(?: \w+){0,3}(?:,| and) (?:honestly )?(?:i (?:said|say|could say"
    r"|told \w+) )?no\b(?=[.,!?;]|$| i (?:don't|do not|didn't|did not|am not|wasn't)))"
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»")
_OTHER: Final = re.compile(
    r"\b(?:he|she|they|one (?:girl|boy|man|woman|person|child|student) in \w+|an? (?:girl|boy|kid|lad|bloke|guy"
    r"|lady) (?:in|from|at|on|down)|who|people|someone|somebody|anyone|patients?|teens?|veterans?|(?:my|a"
    r"|of) (?:\w+ )?(?:friend"
    r"|boyfriend|girlfriend|roommate|flatmate|classmate|of mine|brother|sister|son|daughter"
    r"|cousin|uncle|aunt|father|mother|dad|mom|mum|neighbou?r|colleague|boss|husband|wife|ex|student|grand\w+))\b"
)
_WRITER: Final = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my)\b")
SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")


def _any_of(patterns: Sequence[str]) -> re.Pattern[str]:
    """Combine the patterns into one that matches at the beginning of words; far faster than searching for each."""
    within = "|".join(f"(?:{pattern})" for pattern in patterns if pattern[0] != "^")
    first = "|".join(f"(?:{pattern})" for pattern in patterns if pattern[0] == "^")
    return re.compile(rf"\b(?:{within})|{first}" if first else rf"\b(?:{within})")


_PLAIN_EXPLICIT: Final = _any_of(EXPLICIT)
_PLAIN_INDIRECT: Final = _any_of(INDIRECT)
_PLAIN_ELSEWHERE: Final = re.compile("|".join(f"(?:{one})" for one in ELSEWHERE))
_MOST_CHARS: Final = 20_000
_PART_CHARS: Final = 500
_OVERLAP_CHARS: Final = 150
"""Texts are searched in parts of `_PART_CHARS`, because a regex search blocks the interpreter and the event loop."""
QUICK_CHARS: Final = 500
"""Texts up to this length take a few milliseconds; search longer ones in a thread."""
_HELP: Final = (
    "It sounds as if you may be in danger, or in great pain. Please do not stay alone with it. If you could hurt yourself "
    "now, call the emergency number, or go to somebody who is near. You can talk with a person at any hour. A program is no "
    "substitute for them."
)


def help_text(contacts: Sequence[str]) -> str:
    """Return the help text shown next to the reply, with the owner's contacts; true even if nothing else works."""
    lines = "\n".join(f"- {contact}" for contact in contacts)
    return f"{_HELP}\n{lines}" if lines else _HELP


def find_crisis(text: str) -> Crisis | None:
    """Return the most direct sign in `text` that its writer is in danger from themselves; None if there is none."""
    said = "\n".join(map(_fix_line_spelling, normalise_lines(text[:_MOST_CHARS]).split("\n")))
    bare = _QUOTED.sub(" ", said)
    parts = list(_parts_of(bare))
    if any(_FICTION.search(part) for part in parts):
        return None
    is_past = any(_PAST.search(part) or _WELL_AGAIN.search(part) for part in parts)
    strongest: Crisis | None = None
    for part in (part for sentence in SENTENCE.findall(bare) for part in _parts_of(sentence.strip())):
        crisis = _crisis_in_sentence(part, is_past=is_past)
        if crisis is not None and (strongest is None or crisis.urgency is Urgency.EXPLICIT):
            strongest = crisis
            if crisis.urgency is Urgency.EXPLICIT:
                return crisis
    return strongest


def normalise_lines(text: str) -> str:
    """As `normalise`, but keeps line breaks."""
    return "\n".join(normalise(line) for line in text.splitlines())


def _fix_line_spelling(line: str) -> str:
    """Fix the spelling of a line; a long line is processed in parts, split between words."""
    parts = []
    while len(line) > _PART_CHARS:
        end = line.rfind(" ", 1, _PART_CHARS)
        end = end if end > 0 else _PART_CHARS
        parts.append(fix_spelling(line[:end]))
        line = line[end:]
    return "".join((*parts, fix_spelling(line)))


def _parts_of(text: str) -> Iterator[str]:
    """Yield `text` in overlapping parts of bounded length."""
    for start in range(0, max(1, len(text) - _OVERLAP_CHARS), _PART_CHARS - _OVERLAP_CHARS):
        yield text[start : start + _PART_CHARS]


def _crisis_in_sentence(sentence: str, *, is_past: bool) -> Crisis | None:
    match = _PLAIN_EXPLICIT.search(sentence) or _PLAIN_ELSEWHERE.search(sentence)
    urgency = Urgency.EXPLICIT if match else Urgency.INDIRECT
    match = match or _PLAIN_INDIRECT.search(sentence)
    if match is None or _JOKE.search(sentence) or _FIGURE.search(sentence):
        return None
    if _MATTER_OF_FACT.search(sentence) and not _NOW.search(sentence):
        return None
    if _is_denied(sentence, match) or _is_of_another(sentence, match.start()):
        return None
    if _is_over(sentence, is_past=is_past):
        return None
    return Crisis(urgency, match.group())


def _is_over(sentence: str, *, is_past: bool) -> bool:
    """Whether the sentence is about the past: by itself, or by another sentence unless it says what the writer wants
    now."""
    if _STILL.search(sentence):
        return False
    return bool(_PAST.search(sentence)) or (is_past and not _NOW.search(sentence))


def _is_denied(sentence: str, match: re.Match[str]) -> bool:
    if match.group().startswith(("care", "mind", "notice")):
        return False
    starts_with_i = re.match(r"i\b", match.group())
    before, after = sentence[: match.start() + (1 if starts_with_i else 0)], sentence[match.end() :]
    return bool(_DENIED.search(before) or _DENIED_AFTER.search(after))


def _is_of_another(sentence: str, start: int) -> bool:
    """Whether the words before the match refer to another person, with no mention of the writer in between."""
    last = max((other.end() for other in _OTHER.finditer(sentence[:start])), default=None)
    return last is not None and not _WRITER.search(sentence[last:start])
