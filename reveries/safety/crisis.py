"""Whether a person's words say that they are in danger from themselves, by rules alone (RELIABILITY S2). Pure.

It works with no model, no network and no budget. What it decides is whether a static help text stands beside the
reply; nothing is refused, cut or reported because of it. So it would rather show the text once too often. Rules are
words, and miss what has no rule: docs/explain/safety.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from reveries.config import CrisisSettings
from reveries.safety.detectors import normalise


class Urgency(StrEnum):
    EXPLICIT = "explicit"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class Crisis:
    """What was found: how plainly it is said, and the words."""

    urgency: Urgency
    words: str


_ME: Final = r"(?:myself|me self|meself)"
_WANT: Final = (
    r"(?:want(?:ed)? to|wanna|going to|gonna|about to|plan(?:ning)? (?:to|on)|thinking (?:about|of)|think (?:about|of)"
    r"|thought(?:s)? (?:about|of)|ready to|decided to|have to|need to|might|could just|try(?:ing)? to|tempted to"
    r"|considering|keep imagining|urge to|will|i'll|should(?: just)?|feel like|intend to|wish i could|how to)"
)
_LIFE: Final = r"(?:my (?:own )?life|it all|everything|things for good)"
_EXPLICIT: Final = (
    rf"kill(?:ing)? {_ME}",
    rf"(?:hang(?:ing)?|shoot(?:ing)?|drown(?:ing)?|stab(?:bing)?|poison(?:ing)?|suffocat(?:e|ing)|starv(?:e|ing)) {_ME}",
    rf"(?:cut|cutting|burn|burning|hurt|hurting|harm|harming|injure|injuring) {_ME}(?! (?:on|with (?:the|a) (?:paper|grater)"
    r"|shaving|while))",
    rf"{_WANT} (?:end(?:ing)?|tak(?:e|ing)) {_LIFE}",
    r"end(?:ing)? my (?:own )?life",
    r"(?:take|taking|took) my own life",
    r"(?:i|i'm|am|been|feel|feeling|felt|getting)(?: (?!not\b|never\b)\w+){0,2} suicidal",
    r"(?:commit(?:ting)?|attempt(?:ing)?|attempted|contemplat(?:e|ing)|consider(?:ing)?|plan(?:ning)?|thoughts? of"
    r"|thinking (?:of|about)|think about) suicide",
    r"my (?:suicide|goodbye) (?:note|letter|plan)",
    r"(?:suicide|goodbye|farewell) (?:note|letter)s? (?:is|are|to my|for my)",
    r"i (?:just |really |honestly |truly |still )*(?:want|wanna|wish|would like|long|hope|need|have decided)(?: to| i could)?"
    r" (?:die|be dead|not exist|not be alive|disappear for ever|never wake up)\b(?! (?:of|from|laughing|hard))",
    r"i(?:'d| would) (?:rather|like to) (?:be dead|die)\b(?! than)",
    r"i wish i (?:was|were) (?:dead|never born)",
    r"wish i (?:had|was|were) never (?:been )?born",
    r"i (?:do not|don't|dont) want to (?:live|be alive|exist|wake up|go on living|be in this world|be here any ?more)"
    r"(?=[.,;!?…]|$| (?:any ?more|any longer|with|and|but|because|if|tomorrow|after|without|like|so|i)\b)",
    r"no (?:longer )?(?:reason|point|will|desire) (?:left )?(?:to|in|for me to) (?:live|living|go on|be alive|being alive)",
    r"(?:nothing|no one|nobody)(?: \w+)? (?:left )?to live for",
    r"better off dead",
    r"(?:took|taken|swallowed|taking|swallow|take) (?:all|a (?:whole )?bottle|the whole|too many|every one|a handful)"
    r"(?: \w+){0,3} (?:pills?|tablets|meds|medication|painkillers|paracetamol|valium|xanax)",
    r"(?:took|taken|taking|take) an overdose|overdosed (?:on|tonight|an hour)",
    r"on (?:the|a|this) (?:roof|ledge|bridge|edge|balcony)(?: \w+){0,7} jump",
    r"(?:want|going|gonna|plan|planning|about|tempted) to (?:overdose|od|unalive|self.?harm|jump off|jump in front"
    r"|step in front of|slit|shoot my|blow my)",
    r"(?:jump|jumping|throw myself|step|drive|driving|walk)(?: \w+){0,3} (?:off (?:the|a|this) (?:bridge|roof|building|balcony|cliff"
    r"|edge)|in front of (?:the|a) (?:train|bus|truck|car)|into (?:a|the) (?:tree|wall|river|traffic))(?= |$|[.,!?])",
    r"(?:slit|slitting|slash|slashing|cut|cutting|open|opening) my (?:wrists?|veins|arms?|throat|thighs?|legs?)",
    r"(?:rope|noose|gun|pistol|pills|razor|blade)(?: \w+){0,6} (?:end it|end my|and i(?:'m| am) going to use it|do it tonight"
    r"|to my head)",
    r"(?:tonight|today|now) i(?:'ll| will|'m going to| am going to) (?:do it|end it|be gone for good)",
    r"i(?:'m| am)(?: \w+)? (?:going to|gonna|ready to|about to) (?:end it|die tonight|do it tonight)",
    r"(?:self.?harm(?:ing|ed)?|cutting) again",
    r"i (?:keep|have started|started|can't stop|am) (?:self.?harming|cutting(?= |$|[.!])(?! (?:the|down|back|corners|out|wood)))",
    r"(?:gonna|might|wanna|should|just|will|i'll) kms\b",
    r"unalive (?:myself|me)",
    r"(?:a|the|my) (?:plan|date|day|method|way) to (?:kill myself|die|end (?:my life|it all))",
    r"i can't (?:live|go on living|keep living)(?: like this| any ?more| with this| without (?:him|her|them))",
)
_INDIRECT: Final = (
    r"(?:everyone|everybody|they|the world|my (?:family|kids|children|wife|husband|parents)|you|people)(?: \w+){0,3}"
    r" better off (?:without me|if i)",
    r"(?:no one|nobody|none of them)(?: \w+){0,2} (?:miss me|notice if i|care if i (?:died|was gone|were gone|disappear\w*))",
    r"i(?:'m| am)(?: just| only| nothing but)* (?:a|such a) burden",
    r"i (?:can't|cannot) (?:do this|take (?:it|this)|go on|bear (?:it|this)|keep going|carry on|keep doing this)"
    r"(?: any ?more| any longer| like this)?(?=[.,!?]|$)",
    r"i(?:'m| am)(?: so| just)? (?:done|tired) (?:with|of) (?:life|living|being alive|existing|it all|everything)",
    r"i(?:'ve| have) (?:given|been giving) (?:away|my things away|all my (?:things|stuff))",
    r"i(?:'ve| have) (?:said|written) (?:my )?(?:goodbyes?|farewells?)",
    r"(?:want|wish)(?: \w+){0,3} (?:sleep|fall asleep|close my eyes)(?: \w+){0,3} (?:never|not|don't) (?:to )?wake(?: up)?",
    r"(?:go|going) to (?:sleep|bed) and (?:never|not) wak(?:e|ing)(?: up)?",
    r"i (?:won't|will not) be (?:here|around)(?: \w+){0,2} (?:tomorrow|much longer|any ?more|next (?:week|month|year)|for long)",
    r"(?:what's|what is|see|there's|there is)(?: the| no)? point (?:of|in) (?:living|life|being alive|going on|waking up|anything any ?more)",
    r"(?:there's|there is|i see|i have) no (?:way out|hope left|future for me|hope for me)",
    r"i (?:just )?want (?:the pain|it all|everything|this) to (?:stop|end|be over)(?: for ?ever)?(?=[.,!?]|$)",
    r"(?:life|my life) (?:is|isn't|is not|feels)(?: not)? (?:worth (?:living|it)|not worth living|meaningless|unbearable|over)",
    r"i(?:'d| would)? (?:just )?(?:want|like|love) to (?:disappear|vanish)(?: for ?ever| and never come back)?(?=[.,!?]|$)",
    r"if i (?:died|were gone|was gone|disappeared|didn't wake up|don't make it|was dead|were dead)",
    r"(?:goodbye|farewell)(?:,)? (?:for ?ever|everyone|everybody|world|and thank you for everything)",
    r"this is (?:the last|my last) (?:message|time (?:you|we)|night|day|goodbye)",
    r"(?:they|you|people) (?:will|would|'ll) be sorry when i(?:'m| am) (?:gone|dead)",
    r"i (?:don't|do not) (?:see|have) a (?:future|reason to (?:go on|stay|wake up))",
    r"nothing (?:matters|helps) any ?more",
)
# Other languages: what is said plainly. Nothing indirect is looked for.
_ELSEWHERE: Final = (
    r"ich (?:will|möchte|werde|wollte)(?: \w+){0,4} (?:sterben|nicht mehr leben|mich (?:umbringen|töten|erhängen)|tot sein)",
    r"(?:bringe|bring|brächte) mich(?: \w+){0,2} um\b",
    r"mich (?:umzubringen|umbringen|selbst (?:töten|verletzen))",
    r"(?:mir|meinem leben)(?: \w+){0,3} (?:das leben (?:zu )?nehmen|ein ende (?:zu )?(?:setzen|machen))",
    r"selbstmord(?:gedanken)?|suizid(?:gedanken|al)?",
    r"ich (?:will|mag|kann) nicht mehr (?:leben|weiterleben|da sein)",
    r"je (?:veux|vais|voudrais|souhaite|compte)(?: \w+)? (?:mourir|me (?:tuer|suicider|pendre)|en finir)",
    r"je n(?:e |')?(?:veux|ai)(?: plus| pas)? (?:plus )?(?:vivre|envie de vivre|être en vie)",
    r"(?:me|m')(?: \w+)? (?:suicider|ôter la vie)|idées suicidaires|mettre fin à mes jours",
    r"(?:quiero|voy a|quisiera|pienso en|deseo) (?:morir(?:me)?|matarme|suicidarme|quitarme la vida|acabar con (?:mi vida|todo))",
    r"no quiero (?:seguir viviendo|vivir(?: más)?|estar viv[oa])",
    r"(?:voglio|vorrei|sto per) (?:morire|uccidermi|ammazzarmi|suicidarmi|farla finita|togliermi la vita)",
    r"non voglio (?:più )?vivere",
    r"ik (?:wil|ga|zou willen)(?: \w+){0,3} (?:dood|sterven|zelfmoord plegen|mezelf (?:doden|van kant maken))"
    r"|ik wil niet meer leven",
    r"(?:quero|vou|queria) (?:morrer|me matar|acabar com (?:tudo|a minha vida)|tirar a minha vida)|não quero mais viver",
    r"chcę (?:umrzeć|się zabić)|nie chcę (?:już )?żyć",
    r"хочу умереть|не хочу (?:больше )?жить|покончить с собой|убить себя",
    r"我想死|不想活了|想自杀|自杀|死にたい|自殺したい|消えてしまいたい",
)

# What makes the same words harmless: somebody else's story, a joke, a figure of speech, long ago, or the contrary.
_FICTION: Final = re.compile(
    r"\b(?:character|protagonist|novel|fiction|screenplay|story i'm writing|short story|in (?:the|my|this) (?:story|book|film|movie|play"
    r"|show|game|song|scene|chapter|episode|poem)|lyrics?|plot|villain|heroine?|the (?:book|film|movie|song|play) (?:is|says|where)"
    r"|quote from|essay (?:on|about)|article (?:on|about)|documentary|research (?:on|paper)|role.?play|translate"
    r"|in minecraft|my (?:sim|avatar|pokemon|dwarf))\b"
)
_JOKE: Final = re.compile(
    r"\b(?:lol|lmao|rofl|haha\w*|jk|just kidding|figuratively|so to speak|not literally)\b|😂|🤣|😅|😆"
)
_FIGURE: Final = re.compile(
    r"\b(?:die(?:d)? (?:of|from) (?:laugh\w*|embarrass\w*|shame|boredom|curiosity|happiness|cuteness|heat|cold)"
    r"|(?:career|political|social|financial) suicide|suicide (?:squad|mission|doors?|burn|prevention|hotline|awareness|sprints?)"
    r"|(?:this|that|the|my|these|those) (?:\w+ ){1,3}(?:makes?|made|making) me (?:want|wanna)"
    r"|kill myself (?:at the gym|in the gym|training|laughing|over (?:this|that|a) \w+ (?:bug|exam|essay|recipe|homework))"
    r"|if i (?:have to|hear|see|get) (?:\w+ ){1,6}(?:one more|again|another)|(?:one more|another) (?:\w+ ){1,6}and i(?:'ll| will| swear)"
    r"|before i die|till i die|until i die|die (?:in|on) (?:the|a|this|level|my) (?:game|boss|level|run|second)"
    r"|(?:bored|starving|dying) to death|to die for)\b"
)
_PAST: Final = re.compile(
    r"\b(?:(?:years|months|decades|long time) ago|used to|back then|back in|when i was (?:\w+ )?(?:young\w*|a (?:kid|teen\w*|child)"
    r"|\d+|sixteen|seventeen|fifteen|fourteen|nineteen|twenty)|in my (?:teens|twenties|youth)|in (?:19|20)\d\d|last decade"
    r"|as a (?:teenager|child|kid)|(?:no longer|not any ?more)|those days are|i got (?:help|better|through)|i'm (?:better|fine|glad) now"
    r"|glad i (?:didn't|am still|survived))\b"
)
_STILL: Final = re.compile(
    r"\b(?:again|still|now|tonight|today|lately|these days|this week|back|right now|since then|every (?:day|night))\b"
)
_DENIED: Final = re.compile(
    r"\b(?:i(?:'d| would| will|'ll)? never|i(?:'m| am) not|i don't|i do not|i didn't|never (?:thought|wanted|considered)|not that i"
    r"|doesn't mean i|without (?:wanting|trying) to|don't worry, i|isn't that i|not going to)(?: \w+){0,4} ?$"
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|«[^«»\n]{1,400}»")
_OTHER: Final = re.compile(
    r"\b(?:he|she|they|who|people|someone|somebody|anyone|patients?|teens?|veterans?|my (?:\w+ )?(?:friend|brother|sister|son|daughter"
    r"|cousin|uncle|aunt|father|mother|dad|mom|mum|neighbou?r|colleague|boss|husband|wife|ex|student|grand\w+))\b"
)
_WRITER: Final = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my)\b")
_SENTENCE: Final = re.compile(r"[^.!?…\n]+[.!?…]*")
_PLAIN_EXPLICIT: Final = re.compile("|".join(rf"(?:\b{one})" for one in _EXPLICIT))
_PLAIN_INDIRECT: Final = re.compile("|".join(rf"(?:\b{one})" for one in _INDIRECT))
_PLAIN_ELSEWHERE: Final = re.compile("|".join(f"(?:{one})" for one in _ELSEWHERE))
_MOST_CHARS: Final = 20_000
_HELP: Final = (
    "It sounds as if you may be in danger, or in great pain. Please do not stay alone with it. If you could hurt yourself "
    "now, call the emergency number, or go to somebody who is near. You can talk with a person at any hour. A program is no "
    "substitute for them."
)


def help_for(words: str, settings: CrisisSettings) -> str | None:
    """What to show beside the reply to `words`; None where there is no need, or where it is switched off."""
    return help_text(settings.contacts) if settings.enabled and find_crisis(words) is not None else None


def help_text(contacts: Sequence[str]) -> str:
    """What stands beside the reply: true whatever works at the moment, and with the owner's own contacts."""
    lines = "\n".join(f"- {contact}" for contact in contacts)
    return f"{_HELP}\n{lines}" if lines else _HELP


def find_crisis(text: str) -> Crisis | None:
    """The first sentence of `text` by which its writer seems to be in danger from themselves; None where there is none."""
    bare = _QUOTED.sub(" ", normalise_lines(text[:_MOST_CHARS]))
    is_fiction = bool(_FICTION.search(bare))
    found: Crisis | None = None
    for sentence in _SENTENCE.findall(bare):
        one = _in_sentence(sentence.strip(), bare, is_fiction=is_fiction)
        if one is not None and (found is None or one.urgency is Urgency.EXPLICIT):
            found = one
            if one.urgency is Urgency.EXPLICIT:
                return one
    return found


def normalise_lines(text: str) -> str:
    """As `normalise`, but the lines stay."""
    return "\n".join(normalise(line) for line in text.splitlines())


def _in_sentence(sentence: str, whole: str, *, is_fiction: bool) -> Crisis | None:
    match = _PLAIN_EXPLICIT.search(sentence) or _PLAIN_ELSEWHERE.search(sentence)
    urgency = Urgency.EXPLICIT if match else Urgency.INDIRECT
    match = match or _PLAIN_INDIRECT.search(sentence)
    if match is None or is_fiction or _JOKE.search(sentence) or _FIGURE.search(sentence):
        return None
    if _DENIED.search(sentence[: match.start()]) or _is_of_another(sentence, match.start()):
        return None
    if _PAST.search(whole) and not _STILL.search(sentence):
        return None
    return Crisis(urgency, match.group())


def _is_of_another(sentence: str, start: int) -> bool:
    """Somebody else is spoken of, and the writer does not come in between."""
    last = max((other.end() for other in _OTHER.finditer(sentence[:start])), default=None)
    return last is not None and not _WRITER.search(sentence[last:start])
