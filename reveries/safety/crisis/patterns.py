"""English patterns of direct statements of people in danger from themselves, used by the rules of `crisis`.

Written from how people say it, not from any set that it is measured on. Patterns are matched on lower case words with
plain apostrophes, as `spelling` writes them.
"""

from typing import Final

_NOT: Final = r"(?:don't|do not|didn't|doesn't|no longer|never|not|can't|cannot|won't|wouldn't|ain't|aint)"
_END: Final = (
    r"(?=[.,;:!?…)]|$| (?:any ?more|any longer"
    r"|with|and|but|because|if|tomorrow|tonight|now|after|without|like|so|i|or|again|right|please|today|soon|though)\b)"
)
_LIFE: Final = r"(?:my|this) (?:\w+ ){0,2}?life"
_PLACE: Final = r"(?:bridge|roof|rooftop|ledge|tracks|balcony|cliff|building|window|platform|overpass|edge)"
_DRUG: Final = (
    r"(?:pills?|tablets?|meds|medications?|painkillers|paracetamol|antidepressants|valium|xanax|tylenol|ibuprofen)"
)
_ALIVE: Final = (
    r"(?:live|living|be alive|being alive|stay alive|staying alive|alive|exist|existing|wake up|waking up"
    r"|be here|be in this world|be on this (?:earth|planet)|be part of this world|go on living|keep living|survive"
    r"|see tomorrow|another day)"
)
_CHAIN: Final = (
    r"(?: (?:to|for|i|me|i'd|i'll|i'm|was|were|am|had|could|would|can|that|just|so|bad|badly|please|really|simply"
    r"|only|actually|be|been|have|get|go|already|much|sm|god|by|don't|do|not|wake|peacefully)){0,6}"
)

EXPLICIT: Final = (
    # Wish to die.
    (
        r"(?:want(?:ed|ing)?|wish(?:ed|ing)?|hop(?:e|ing)|pray(?:ing)?|rather|sooner|ready|deserve|crav(?:e|ing)"
        r"|need|begging|beg|let"
        rf"|love|like|long|should have|should've|should|supposed|decided){_CHAIN} (?:die|died|dead|death)\b"
        r"(?! (?:of|from|laughing|than|at home|in my (?:own )?bed|for|on the|hard|happy|old|with|sea|end|serious"
        r"|line|by|it|set|lift|flowers?"
        r"|body|battery|people|man|phone)\b)(?<!like dead)(?<!like death)(?<!the dead)(?<!a dead)"
    ),
    r"(?:can't i|why can't i|let me|take me|would i|could i)(?: \w+){0,2} die\b(?! (?:of|from|laughing)\b)",
    r"wish i (?:had|was|were|would)(?: have)? ?(?:never|not)? ?(?:been )?(?:born|dead|existed|exist)",
    (
        r"(?:wish|hope|hoping|pray|wouldn't mind|welcome it|want)(?: \w+){0,6} (?:hit (?:me|by)|run (?:me )?over"
        r"|kill me|shot me|shoot me|cancer)\b"
    ),
    (
        r"(?:want|wish|hope|hoping|pray|praying|wishing|love)(?: \w+){0,5} (?:don't|do not|never"
        r"|not) (?:have to )?wake up"
    ),
    (
        r"(?:want|wish)(?: \w+){0,4} (?:not|never|stop|stopped|cease) (?:to )?(?:exist|existing|existed|breathing"
        r"|be alive|live)\b"
    ),
    r"want(?: \w+){0,2} (?:my heart|my life|this life|life) to (?:stop|end|be over)",
    (
        rf"{_NOT} (?:\w+ )?(?:want|wish|wanting|wanna|care|deserve|feel like|plan|intend|see myself"
        r"|see a reason)(?: (?:to|me|myself|if i|on|for|really|even|just))*"
        rf" {_ALIVE}{_END}"
    ),
    (
        rf"{_NOT} (?:\w+ )?want to (?:live (?:through|past|to see|in this world|in a world|no more|another)|be alive"
        r"|exist|turn \w+\. i)"
    ),
    rf"{_NOT} (?:\w+ ){{0,4}}be alive\b",
    (
        r"(?:hate|regret|despise|tired of|sick of|done|unfortunately|enough of"
        r"|can't stand)(?: \w+){0,3} (?:being alive|i'm alive|am alive|still alive|existing)"
    ),
    r"i'm (?:so |just )?done living",
    (
        r"(?:no|any|a|single|one|more|only|left|isn't|lost the|lost my|not) (?:\w+ )?(?:reasons?|point|will|desire"
        r"|purpose|sense)(?: \w+){0,3}? "
        r"(?:to|in|for|of|why i should)(?: me to)? (?:live|living|stay alive|staying alive|be alive|being alive"
        r"|keep living|exist|existing|go on living)\b"
        r"(?! (?:in|with|at|near|here)\b)"
    ),
    r"point (?:to|in|of)? ?being alive",
    r"nothing(?: \w+){0,4} (?:to live for|keeping me alive|to stay (?:alive )?for)",
    (
        r"why (?:should|would|do|am) i (?:even |still |bother )*(?:to )?(?:live|living|stay alive|staying alive"
        r"|be alive|alive|being alive|exist)\b"
    ),
    r"(?:not|isn't|ain't) worth living",
    r"(?:shouldn't|should not|don't deserve to|wasn't meant to|not meant to) (?:be alive|be living|live)\b",
    (
        r"(?:better off|worth more|better|easier|happier|nicer|best|simpler|better off if (?:i|me) (?:was|were)"
        r"|if (?:i|me)(?: just)? (?:was|were)|rather be)"
        r" (?:to (?:just )?be |if (?:i|me)(?: just)? (?:was|were) |being )?dead\b"
    ),
    (
        r"(?:better|easier|happier|relieved|sorry|over it|care|notice|fix(?:ed)?)(?: \w+){0,3} if i (?:just |had "
        r"|only )?(?:died|die|killed myself|were dead|was dead)"
    ),
    (
        r"(?:death|dying|suicide|being dead|not living|killing myself)(?: \w+){0,4} (?:only (?:way|thing|option"
        r"|answer|solution|escape)|relief|release|peaceful|better option"
        r"|sounds? (?:so |really |pretty )?(?:good|nice|peaceful|like)|calms? me|comforts? me|would (?:fix|solve|end))"
    ),
    (
        r"(?:only (?:way|option|answer|escape|solution)|way out)(?: \w+){0,3} (?:is|left is) (?:death|dying|to die"
        r"|suicide|to kill)"
    ),
    (
        r"(?:think|thinking|thought|fantasi[sz]e|fantasi[sz]ing|dream|daydream|obsessed|picture"
        r"|imagin\w+)(?: \w+){0,3} (?:about|of|with|is)?(?: just)? ?(?:dying|death all|my own (?:death|funeral)"
        r"|not being alive|being dead|ending (?:it|things|my life))"
    ),
    (
        r"(?:voices?|head|brain|thoughts?)(?: \w+){0,3} (?:tell|tells|telling|say|says|keep"
        r"|keeps)(?: \w+){0,4} (?:die|dead|end it|kill|jump|do it)"
    ),
    r"(?:not scared|not afraid|no longer afraid) of (?:dying|death)",
    (
        r"i'm (?:\w+ )?(?:going|ready|about|prepared|planning) to die (?:tonight|tomorrow|today|soon|now|on|this"
        r"|by my)"
    ),
    # Intent.
    (
        # Whole words: what begins with "to" is not only "to finish it", it is "tonight", "tomorrow" and "too".
        r"kill(?:ing|ed)? myself\b(?! (?:to|with my|on(?! \w+day\b)|laughing|at the|trying|over|training"
        r"|in the gym|again)\b)"
    ),
    (
        r"(?:off|offing|unalive|unaliving|unalived|hang|hanging|drown|drowning|shoot|shooting|stab|stabbing|poison"
        r"|poisoning|suffocat\w+|strangl\w+"
        r"|electrocut\w+|mutilat\w+|harm|harming|harmed|injure|injuring) myself\b(?! (?:in the foot|up|in work"
        r"|for forgetting|out|in (?:debt|paperwork)|with the)\b)"
    ),
    r"(?:top|topping) myself\b(?! up)",
    r"(?:doing?|do) myself (?:in\b|harm)",
    r"unalive me|\bkms\b|\bctb\b|kermit suicide|\bkys myself",
    (
        rf"(?:end|ending|ended|taking|took|finish|finishing) {_LIFE}\b|(?:to|will|i|i'll|could|should|might"
        rf"|going to) take {_LIFE}\b"
    ),
    r"end(?:ing)? (?:your|one's|his) (?:own )?life\b(?=\?|$| without)",
    (
        r"(?:want|going|gonna|decided|ready|plan|planning|have|need|about|try|trying|tried|wish i could|thinking"
        r"|think|think i should|think i'll|thought|thoughts?|could|might"
        r"|should|will|i'll|i'm|am|just|then|consider|considering|ways?|how|urge)(?: (?:to|of|about|on|just|i"
        r"|should|will|really|finally|seriously|i'll|keep|in|june|then|i'm|going))*"
        r" (?:end|ending) (?:it|this|things|everything|me)(?: all)?(?=[.,;:!?…]|$| (?:tonight|today|now|soon|so bad"
        r"|before|for good|forever|right|myself|but|because|here|already|after"
        r"|without pain|this|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|one day|once and|i)\b)"
    ),
    (
        r"(?<!career )(?<!social )(?<!political )(?:commit\w*|attempt\w*|contemplat\w+|consider\w*|plan\w*"
        r"|thoughts?(?: \w+)?|think\w*(?: \w+){0,2}|thought about|googled|searched|close|stop|way|ways|option"
        r"|answer|my"
        r"|die by|researching|want|love|tonight) (?:to |of |about |for |is )?suicide\b(?! (?:squad|mission|rates?"
        r"|prevention|bomb\w*|note in|door|burn|in (?:the|my) (?:book|film|play))\b)"
    ),
    (
        r"\bsuicide (?:is|seems|looks|sounds|feels|would|thoughts?|attempt was|plan|again|tonight)\b(?! (?:a "
        r"|the )?(?:leading|painless|preventable|theme|sin|illegal|legal|about))"
    ),
    (
        r"suicidal\b(?! (?:bomb\w*|squirrel|pigeon|deer|driv\w+|ideation in|patients?|clients?|teens?|people"
        r"|character|behaviou?r in)\b)"
    ),
    r"\bmy (?:suicide|si|death)(?: \w+)? (?:is|plan|date|note|attempt|letter)\b",
    (
        r"(?:courage|guts|nerve|coward|balls|strength|brave enough|too scared|too weak) (?:\w+ )?to (?:kill|end|die"
        r"|do it|go through with it|jump)(?=[.,!?]|$| (?:but|it|myself|and|tonight|now|already))"
    ),
    r"not to (?:kill|end|hurt|harm) (?:myself|my life|it all)",
    (
        r"(?:not safe|unsafe|don't feel safe|danger|trust myself|might do|going to do|do something|afraid"
        r"|scared)(?: \w+){0,4} (?:with|from|to|of) myself\b"
    ),
    r"i'?(?:ll| will|'m going to)? ?be dead (?:by|before|soon|tomorrow|when|in|tonight)|i will be dead\b",
    (
        r"(?:day|date|place|how|way|where|when) (?:i'm|i am|i'll|i will|to|i'd) (?:going to |gonna "
        r"|want to )?(?:die|do it and|kill)(?=[.,!?]|$| (?:on|in|tonight))"
    ),
    r"(?:life|world|here|way) by my own hand|dead by my own",
    (
        r"i can't (?:live|go on living|keep living|be alive)(?: like this| any ?more| with this| without (?:him|her"
        r"|them))"
    ),
    r"out of (?:life|this life)\b(?=[.,!?]|$)",
    (
        r"(?:in the ground|in heaven|in the grave|with my dead \w+|where (?:he|she|they) (?:is|are"
        r"|went))(?: tonight| now| soon)"
    ),
    r"want to join (?:my|him|her|them)(?: \w+){0,2} (?:in|there)\b",
    # Plans and means.
    (
        rf"(?:took|take|taken|taking|swallow\w*|downed|drank)(?: \w+){{0,2}} (?:all|bunch|bottle|whole|too many"
        rf"|every|handful|lots?|loads|entire|everything|rest)(?: \w+){{0,4}} {_DRUG}\b"
    ),
    r"(?:took|taken|swallowed) (?:all of (?:them|it)|them all|everything in the (?:cabinet|drawer|bottle))",
    (
        r"(?:sav\w+|stockpil\w+|hoard\w+|collect\w+|count\w*|stash\w*|enough|staring at|stare at"
        rf"|looking at)(?: (?:up|my|the|these|those|of|keep|them))* {_DRUG}\b"
    ),
    rf"{_DRUG}(?: \w+){{0,3}} (?:in front of me|in my hand|to never wake|to die|to end)",
    rf"with (?:a|the|my|this) (?:bottle|box|handful|pile) of {_DRUG}\b",
    (
        r"(?:i|i've|to|of|just|going to|an|i'm)(?: \w+)? (?:overdos(?:e|ed|ing)|od'?d|od)\b(?! (?:on"
        r"|of) (?:chocolate|sugar|coffee|caffeine|cake|cuteness|christmas|cheese|nostalgia))"
    ),
    (
        r"(?:gun|pistol|rope|noose|knife|blade|razor|razors)(?: \w+){0,6} (?:to my (?:head|wrist|throat|neck"
        r"|temple)|in my (?:lap|mouth|hands?)|around my neck|on myself|for me|and i'm going to"
        r"|do it tonight|end it|end my)"
    ),
    (
        r"(?:holding|have|got|bought|tied|made) (?:the|a|my|my dad's) (?:knife|gun|blade|noose|rope"
        r"|pistol)(?: (?:and i|in my|today|tonight|out|to use)\b|(?= ?[.]? ?i'm just))"
    ),
    (
        r"(?:blow|shoot|blowing|shooting) my (?:brains?|head|face)|(?:put|eat|take|bite) a bullet(?: in(?:to)? my"
        r"| to my|(?=[.!]?$))|bullet (?:in|through) my"
    ),
    (
        r"(?:slit|slitting|slash|slashing|cut|cutting|open|opening) my (?:\w+ )?(?:wrists?|veins|arms?|throat"
        r"|thighs?|legs?|skin|stomach)"
    ),
    (
        rf"(?:jump|jumping|step|stepping|throw myself|yeet myself|fall|leap)(?: \w+){{0,2}} (?:off|from|out of"
        rf"|in front of) (?:of )?(?:the|a|my|this|that) (?:\w+ )?(?:{_PLACE}|train|bus|truck|car|traffic)\b(?! into)"
    ),
    (
        rf"(?:on|at|to|over|near|of) (?:the|a|my|this) (?:\w+ )?{_PLACE}\b(?: \w+){{0,12}} (?:jump(?:ing)?|step off"
        r"|leg over|nerve|die|end it|let go|wanting to)"
    ),
    rf"(?:standing|sitting|i'm|been) (?:\w+ )?(?:on|at) the (?:edge of the {_PLACE}|ledge|roof right now|tracks)",
    (
        r"(?:want|tempted|going|ready|keep thinking) (?:to|about|of) (?:jump|jumping|step off)(?=[.,!?]|$)"
        r"|^(?:i'm going to|i'll|gonna|i will) jump[.!]?$"
    ),
    (
        r"(?:drive|driving|crash\w*|steer\w*|turn\w*|swerv\w+)(?: \w+){0,4} (?:into (?:a|the"
        r"|oncoming)(?: \w+)? ?(?:tree|wall|river|traffic|truck|pole)|off (?:a|the|this) (?:bridge|cliff|road)"
        r"|on purpose|into oncoming traffic)"
    ),
    (
        r"(?:walk|walking|step|stepping|run|wander)(?: \w+){0,2} (?:into (?:the |oncoming )?(?:sea|ocean|river|lake"
        r"|water|traffic)|in front of)(?: and (?:not|never)| and let|(?=[.,!?]|$))"
    ),
    (
        r"(?:painless|painful|easiest|quickest|fastest|best|peaceful|good|a) (?:\w+ )?ways? (?:for me )?to (?:die"
        r"|go\b|kill|end (?:it|my|your)|commit)"
    ),
    (
        r"how (?:do|can|would|to|many|much|long)(?: \w+){0,8} (?:to die\b|kill (?:myself|themselves|me)"
        r"|hang (?:your|my)self|bleed out|end (?:it|my life) without|overdose)"
    ),
    (
        r"(?:possible to die from|hurt to hang|lethal dose|fatal dose|researching how to die|ways to (?:die|end it"
        r"|kill))"
    ),
    r"help me (?:to )?(?:kill myself|die\b|end it|end my)",
    (
        r"(?:plan|ready|everything|all)(?: \w+){0,3} (?:planned out|to go through with it|to end my life"
        r"|to die)(?=[.,!?]|$| (?:and|i|tonight))"
    ),
    r"(?:find|finding|found) my body\b",
    (
        r"(?:picked|chosen|chose) (?:the|a|my) (?:bridge|tree|cliff|day i|spot|roof)\b(?! for the)"
        rf"|{_DRUG} are (?:on the table in front of me|right here|ready)"
    ),
    (
        r"(?:rope|noose|gun|pistol|knife)(?: \w+){0,6} i'll do it|i know (?:exactly )?how i'd do it"
        r"|nobody will find me in time|one leg over\b"
    ),
    (
        r"(?:not|never) to (?:live|be alive|be here) (?:past|after|for)|i'll be dead\b|(?:close|nearly"
        r"|almost) (?:to )?(?:ending|ended) it\b|to end me\b|(?:wanting|wants) to be dead"
    ),
    r"going to kill myself",
    (
        r"(?:wish|hop)ing (?:\w+ ){0,3}(?:car|bus|truck|train|lightning)(?: \w+){0,2} hit me"
        r"|want to be part of this world|(?:want|have) a tomorrow(?=[.!]?$)"
    ),
    # Farewells.
    (
        r"(?:suicide|goodbye|farewell) (?:notes?|letters?)(?: \w+){0,6} (?:my (?:family|kids|children|wife|husband"
        r"|mum|mom|parents|sister|brother|friends|girlfriend|boyfriend)|when i'm|everyone|everybody|written|done"
        r"|today|tonight)"
    ),
    (
        r"(?:writ\w+|wrote|left|leave|finish\w*)(?: me)? (?:a|my|the) (?:suicide note|note (?:today|tonight|behind"
        r"|for (?:my|when|them))|goodbye (?:note|letter))"
    ),
    r"(?:letters?|note|will)(?: \w+){0,6} (?:after i'm dead|when i'm dead|for after i'm)",
    # Self-harm.
    (
        r"(?:cut|cutting|cutted|burn|burning|burned|burnt|hurt|hurting|hit|hitting|punch\w*|scratch\w*|starve"
        r"|starving|bite|biting) myself\b"
        r"(?! (?:\w+ )?(?:on|with (?:the|a|my)|shaving|while|chopping|at|cooking|playing|in the (?:kitchen|garden)"
        r"|off|some|out|by accident|climbing|slicing|opening|doing|trying|when|making|running|skiing|peeling"
        r"|short|accidentally|loose|morning))"
    ),
    (
        r"\bself[- ]?(?:harm(?:ing|ed|s)?|injur\w+)\b(?! (?:prevention|in|policy|among|rates?|awareness)\b)"
        r"|\bsh (?:again|relapse\w*|tonight|urges?)\b"
    ),
    (
        r"(?:i|i've|just|keep|started|been|relapsed and|need to|want to|urge to|to|have)(?: (?:just|been|to|started"
        r"|again))* (?:cut|cutting)(?: (?:again|too deep|last night|tonight|today|since)\b|[.!]?$)"
    ),
    r"urges? to (?:cut|hurt|burn|self|jump|die|end)|(?:fresh|hide (?:my |the )?) ?cuts\b|relapsed and (?:cut|burn)",
    (
        r"(?:make|made|making) myself bleed|until (?:i|they|it|my \w+) bleeds?\b|i did it to myself"
        r"|bleeding and i did|carv\w+ (?:\w+ ){1,3}(?:into|in|on) my (?:leg|arm|skin|thigh)"
    ),
    (
        r"(?:hurt|harm|pain|punish)\w*(?: \w+){0,3} (?:only thing that (?:helps|makes|works)|deserve it)"
        r"|deserve to be hurt"
    ),
    (
        r"(?:bang|bash|smash|hit)\w*(?: \w+)? (?:my|own) (?:own )?head (?:against|into|on) (?:the|a) wall (?:until"
        r"|again|to)"
    ),
    r"(?:stopped|not) (?:taking|eating)(?: \w+){0,6} (?:because i (?:don't care|want)|hoping|so i (?:die|can die))",
    # After an attempt.
    (
        r"(?:tried|attempted) to (?:kill|hang|drown|shoot|die|overdose|od|end (?:it|my)|jump)\b(?! (?:the|over|a"
        r"|across|on)\b)"
    ),
    (
        r"(?:after|survived|since|from|my) my? ?(?:suicide |last |second |third |failed |first )?attempt\b(?: and"
        r"| was| failed| last|[.,!]|$)"
    ),
    (
        r"(?:second|third|another|failed) attempt this|they pumped my stomach|angry (?:that )?i (?:woke up"
        r"|survived)|wish i (?:hadn't|had not) (?:survived|woken|woke)"
        r"|survived(?: \w+){0,5} wish i hadn't|don't want to be saved"
    ),
    # A decision, an attempt, or means at hand.
    (
        r"(?:not|never|won't|shall not|don't (?:plan|intend|mean|want|expect) to) (?:live to )?see (?:another|the"
        r"|my next) (?:\w+ )?(?:winter|spring|summer|autumn|christmas|birthday|year|morning|sunrise|week|day)\b"
    ),
    r"wish(?:ed)? (?:that )?i (?:wasn't|weren't|was not|were not|wouldn't be) alive",
    (
        r"no longer (?:wish|want|care) to (?:live|be alive|exist|go on living)\b(?! (?:in|with|at|near|here|there"
        r"|under|by|alone)\b)"
    ),
    (
        r"(?:better|easier|kinder|nicer|simpler|rather|best) to (?:just )?(?:die|be dead)\b(?! (?:of|from|trying"
        r"|laughing)\b)|(?:dying|death|being dead|not (?:being alive|existing|living)) (?:would be|is|sounds?|seems?"
        r"|looks?) (?:\w+ )?(?:easier|better|nicer|kinder|simpler|preferable)"
    ),
    r"(?:today|tonight|tomorrow|this) is the (?:day|night) (?:that )?i (?:die|go|end)",
    r"(?:can't|cannot|can not) (?:face )?(?:live|living|be alive|being alive)(?=[.,!?]|$| (?:any|and|but|so))",
    r"i(?:'d| would) (?:already )?be dead (?:now|already|by now)? ?if\b",
    (
        r"(?:kill|killing|hurt|hurting|choke|choking|smother\w*|starv\w*|bleed\w*|crash\w*|burn\w*|cut|end"
        r"|ending) (?:me|myself|it all|my own life)\b(?: \w+){0,4} on purpose"
    ),
    (
        r"(?:took|taken|swallowed|taking|had)(?: \w+){0,3} (?:more|all|too many|so many)(?: \w+){0,6} "
        r"(?:on purpose|to die|and (?:hoped|hoping|waited|waiting))"
    ),
    (
        r"(?:took|swallowed|downed|drank|emptied) (?:down )?the (?:whole|entire|full) (?:bottle of \w+|box|bottle"
        r"|packet|pack)\b"
    ),
    (
        r"(?:walk|walked|walking|drive|drove|driving|step|stepped|stepping|crash\w*|veer\w*)(?: \w+){0,6} (?:in front"
        r" of|into|off)(?: \w+){0,4} on purpose"
    ),
    (
        r"(?:putting|put|drive|driving|steer\w*|ram\w*) (?:\w+ ){0,3}(?:into|off) (?:a|the) (?:\w+ )?(?:bridge"
        r"|pillar|wall|tree|cliff)(?: \w+)? on purpose"
    ),
    r"(?:tried|trying|try|going|want) to (?:choke|smother|suffocate|strangle|bleed) (?:me|myself)\b",
    (
        r"(?:eat|eating|swallow\w*|use|using|turn\w*) (?:my|the) (?:own )?(?:gun|pistol|rifle|shotgun) (?:on (?:me"
        r"|myself)|every|tonight|again|soon)"
    ),
    (
        r"(?:took|got|get|getting|fetched|had|have|holding|held|hold|loaded)(?: \w+){0,3} (?:gun|pistol|shotgun|rifle"
        r"|revolver|rope|noose|razor|blade)\b(?: \w+){0,8} (?:my head|my mouth|sat with it|tonight(?:'s)? (?:the night"
        r"|i)|the reason|not for (?:him|her|them)|for me|drive around|working up the nerve)"
    ),
    (
        r"(?:sat|sitting|been|standing|stood|was)(?: \w+){0,3} (?:barn|shed|garage|attic|woods|cellar|car) with (?:a"
        r"|the|my) (?:rope|noose|gun|rifle|pistol|shotgun|razor|blade|hose)"
    ),
    (
        r"(?:rope|noose|gun|rifle|pistol) in the (?:truck|car|boot|trunk|shed|garage)\b(?: \w+){0,2}[.,] ?(?:drove"
        r"|tonight|i'm|ready)"
    ),
    r"(?:roping|rope) (?:myself|this weekend|tonight|tomorrow|soon|max)",
    (
        r"(?:it is|it's|this is|writing|wrote|written|leaving|left|finish\w*|have) (?:\w+ ){0,3}(?:a|my"
        r"|the) suicide note\b(?! in)"
    ),
    (
        r"(?:thought|thoughts|thinking|think|tempted|close to|about|fantasi\w+)(?: \w+){0,2} (?:of|about) (?:jumping"
        r"|going over (?:it|the (?:edge|rail|railing|balcony))|letting go of the wheel|stepping (?:off|out in front))"
        r"(?=[.,!?]|$| (?:from|off|and|with|every|again|tonight))"
    ),
    (
        r"(?:follow|following|join|joining|go to) (?:him|her|them|my (?:wife|husband|son|daughter|brother|sister"
        r"|mother|father)) by my own hand"
    ),
    r"by my own (?:hand|doing)\b(?=[.,!?]|$| (?:if|and|before|this|tonight))",
    (
        r"(?:do it|end it) (?:my own self|by myself|myself) if (?:god|he|it|nobody)|if (?:god|he"
        r"|the lord) won't(?: \w+){0,3},? i(?:'ll| will)\b"
    ),
    (
        r"(?:cut|burn|burned|burnt|cutting|burning)(?: (?:my|an|the) (?:\w+ )?(?:arms?|legs?|thighs?|wrists?"
        r"|skin))?(?: \w+){0,5} (?:on purpose|too deep|really deep|so deep|deeper (?:than|this)|wish it was deeper)"
    ),
    (
        r"(?:stockpil\w*|hoard\w*|saving) (?:it|them|up (?:my|the) \w+|a few (?:pills|tablets|of)|my \w+)(?=[.,!?]|$"
        r"| (?:for|each|to|so|until))(?! for (?:winter|retirement))"
    ),
    (
        r"(?:every|each) (?:night|day|hour|minute|time)(?: \w+){0,3} (?:i think|thinking|thoughts?)(?:,|:| of"
        r"| about)* (?:just )?(?:die|dying|death|better to die)\b"
    ),
    r"says? (?:\")?(?:die|kill yourself|do it|end it)\b(?: \w+){0,6} (?:times|all day|every|and i)",
    r"(?:had it|had enough|through|finished|done) with (?:being alive|living|this life|life itself)\b",
    (
        r"(?:determined|determination|resolved|decided) to (?:end (?:it|things|everything|my)|die|take my|be dead"
        r"|do away with myself)(?! of)"
    ),
    r"do(?:ing|ne)? away with myself\b|put me (?:down|out of my misery)(?= like|,? (?:please|i))|want to be put down",
    r"i(?:'m| am) (?:worth more|more use|more useful|of more use) dead\b",
    r"kys and i\b|tell(?:s|ing)? me to (?:kms|kys|kill myself)(?: \w+){0,3} (?:i think|maybe|i'm going|i will|right)",
    r"(?:do not|don't|dont|not) want (?:to )?live (?:more|no more|any|longer)\b|not continue to live\b",
    r"(?:god|the lord|he|jesus) (?:would |will |to )?takes? me (?:before|tonight|in my sleep|soon|now|home tonight)",
    (
        r"(?:intend|mean|expect|plan|hope) to be dead\b|(?:planning|plan|planned|arrang\w+) my (?:own )?(?:death"
        r"|suicide|exit)\b"
    ),
    r"(?:no|what) use (?:in|of) (?:me|my) living\b|(?:run|running|ran) out of reasons to (?:be alive|live|stay)\b",
    (
        r"(?:googl\w+|searching|searched|reading|read up|look\w* up|research\w*) (?:about |on )?(?:how to (?:kill"
        r"|die|end)|ways to (?:die|go|end)|(?:suicide )?methods\b)"
    ),
    (
        r"(?:hop\w+|pray\w*|wish\w*|want\w*) (?:that )?(?:my heart (?:stops|would stop|just stops|gives out)|it(?:'d"
        r"| would|'ll)? kills? me)"
    ),
    (
        r"(?:previous|earlier|last|first) attempt(?: \w+){0,6} (?:another|again|next time)\b|make another (?:one"
        r"|attempt)\b"
    ),
    (
        r"(?:planning|decided|going|thinking|about|want) (?:to|of|about) unaliv\w+|(?:non-?existence"
        r"|not existing) is better\b"
    ),
    (
        r"(?:in|on|from|all) my (?:own )?death (?:will|won't|would) (?:not )?(?:burden|bother|hurt|be)"
        r"|arrangements such that my death"
    ),
    r"(?:would not|wouldn't) live again\b|i have concluded(?: \w+){0,8} not (?:to )?(?:continue|live|go on)",
    r"(?:take|taking|swallow|swallowing) everything in the (?:cabinet|drawer|cupboard|bottle|box)",
    r"(?:wrote|written|finished) (?:my|the) (?:notes?|goodbyes?)(?: last night| today| already)?(?=[.,;!?]|$)",
)
