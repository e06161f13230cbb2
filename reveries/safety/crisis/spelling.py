"""Spelling correction for crisis detection: "dont", "wanna" and "suicdal" are replaced by what was meant."""

import re
from typing import Final

_CORRECTIONS: Final = tuple(
    (re.compile(rf"\b(?:{typed})\b"), meant)
    for typed, meant in (
        (r"im", "i'm"),
        (r"ive", "i've"),
        (r"id(?= (?:rather|be|like|give|love|sooner|do|just))", "i'd"),
        (r"ill(?= (?:kill|end|do|die|be|take|off|jump|kms|never|just|unalive|hang|overdose))", "i'll"),
        (r"dont|dnt|don t", "don't"),
        (r"cant|cnt|can t", "can't"),
        (r"(wo|is|was|did|does|would|should|could|has|have|were)nt", r"\1n't"),
        (r"wanna|wna|wan tto|wan to|w[nha]{1,2}a?n?t t[o0]|wnt to|want ot|want too|want 2", "want to"),
        (r"gonna|gunna|goign to|going 2|gona|gon|going too", "going to"),
        (r"ima|imma|finna|boutta|bout to", "i'm going to"),
        (r"idw", "i don't want to"),
        (r"tryna", "trying to"),
        (r"jsut|jus", "just"),
        (r"b(?= (?:dead|alive|gone|here))", "be"),
        (r"myslef|mysef|myselg|mys3lf|meself|my self", "myself"),
        (r"k1ll|kil|kll", "kill"),
        (r"suic?i?d[ie]*al|sucidi?al|suicidle|suacidal|suicidial|sucidial", "suicidal"),
        (r"suiside|suicde|sucide|sewerslide|sewer slide|kermit sewerslide|s[*]+cide", "suicide"),
        (r"commit(?:ing)?", "committing"),
        (r"ne ?more|anymroe|anymor", "anymore"),
        (r"alvie|aliv", "alive"),
        (r"lfie|lief", "life"),
        (r"daed|ded", "dead"),
        (r"r(?:ea)?son", "reason"),
        (r"rn", "right now"),
        (r"abt", "about"),
        (r"2night|tonihgt|tonite", "tonight"),
        (r"4 ?ever", "forever"),
        (r"to many", "too many"),
        (r"pils", "pills"),
        (r"tonit|2nite|tonigt", "tonight"),
        (r"tomm?or+ow|tmrw|tmr|tmw", "tomorrow"),
        (r"killin", "killing"),
        (r"sum(?= (?:pills|tablets|meds))", "some"),
        (r"evry", "every"),
        (r"no ?one", "no one"),
    )
)


def fix_spelling(text: str) -> str:
    """Return `text` (already in lower case) with the most common misspellings and short forms replaced."""
    for typed, meant in _CORRECTIONS:
        text = typed.sub(meant, text)
    return text
