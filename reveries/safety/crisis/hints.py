"""Indirect English expressions of people in danger from themselves; for the direct ones see `patterns`."""

from typing import Final

INDIRECT: Final = (
    # Hopelessness.
    (
        r"(?:never|not|isn't|won't) (?:\w+ )?(?:going to |ever )*(?:get|getting) (?:any )?better (?:for me|is it"
        r"|ever)?(?=[.,!?]|$)"
    ),
    (
        r"(?:no|any|lost(?: all)?|out of|without|given up|run out of|lost all my) hope\b(?! (?:of|that (?:he|she"
        r"|they|the)|for (?:the|this) (?:team|game|printer|project))\b)(?: left)?(?=[.,!?]|$| (?:for me|any|left|in|i))"
    ),
    (
        r"(?:can't|cannot|don't|can not|not) (?:\w+ )?(?:see|imagine|picture|have) (?:a|any|much of a|my|myself"
        r"|being)? ?(?:future|way forward|here in|tomorrow|light)(?=[.,!?]|$| (?:for me|with|any|left|a year|in it"
        r"|where))"
    ),
    (
        r"(?:what's|what is|whats|see|there's|there is|no|is there)(?: \w+){0,2} (?:point|purpose|use|sense) (?:of"
        r"|in|to|any ?more|even)? ?(?:living|life|being alive|being here|going on|waking up|getting up|anything"
        r"|any of (?:it|this)|trying|existing|keep going|me|any ?more|even)(?: any ?more)?(?=[.,!?]|$| (?:at|if"
        r"|when|i|every)\b)"
    ),
    (
        r"why (?:do|should|am) i (?:even |still |keep )*(?:bother|bothering|try|trying|here|go on|keep going"
        r"|wake up|waking up)(?: to| with)?(?: wake| waking| get| getting| live| living)?(?: up)?(?=[.,!?]|$)"
    ),
    (
        r"nothing(?: \w+)? (?:to look forward to|matters|helps|left for me|left in me|is ever going to change"
        r"|worth)(?: any ?more| at all)?(?=[.,!?]|$| and)"
    ),
    (
        r"(?:my|this|the|own) life (?:is|has|feels)(?: \w+)? (?:over|ruined|worthless|meaningless|pointless|nothing"
        r"|no meaning|hell|unbearable|a mistake|not worth|done)(?=[.,!?]|$| (?:and|for|beyond))"
    ),
    (
        r"life (?:has|is|feels|isn't)(?: \w+){0,2} (?:no meaning|meaningless|pointless|not worth|worth it"
        r"|unbearable|too (?:heavy|hard|much|painful))(?: to|(?=[.,!?]|$| (?:and|for|i|any)))"
    ),
    (
        r"(?:i|i've|i'm)(?: have| just)? (?:given up|giving up|gave up|give up) on (?:life|living|everything|me"
        r"|myself|existing)\b"
    ),
    (
        r"(?:don't|doesn't|not|no longer|stopped) (?:\w+ )?(?:care|caring|matter|mind) (?:\w+ )?(?:if"
        r"|whether) i (?:live|die|am alive|wake up|survive|make it|get hit|exist|ever wake)"
    ),
    (
        r"don't care what happens to me|what happens to me (?:any ?more|doesn't)|dead inside already"
        r"|already (?:dead|gone) inside|(?:i'm|i feel) (?:already|like i'm already) (?:dead|gone)"
    ),
    (
        r"(?:don't|doesn't|do not|not|never)(?: \w+)? (?:belong|meant|made|built|cut out"
        r"|supposed) (?:to (?:be )?)?(?:in|for|to live|to be in|be in|be here|live|exist"
        r"|make it)(?: in)?(?: this (?:world|life|earth|planet)| very long| long|(?=[.,!?]|$))"
    ),
    r"at the end of my (?:rope|tether)(?=[.,!?]|$| and| i)|(?:no fight|nothing|no strength|no energy) left in me",
    (
        r"(?:tired|exhausted|sick|weary|done|worn out)(?: \w+){0,2} (?:of|with|by|from) (?:life|living|being alive"
        r"|being here|existing|surviving|being me|it all|fighting|trying|pretending to be ok|everything|this life"
        r"|this world)\b"
        r"(?! (?:in|with (?:my|the|a|him|her)|out of|at|as|about|on the|the|for the)\b)"
    ),
    (
        r"i (?:really |just |honestly |literally |simply )*(?:can't|cannot|can not) (?:\w+ )?(?:do (?:this|it)"
        r"|take (?:it|this)|go on|bear (?:it|this)|keep going|carry on|keep doing this|keep (?:living"
        r"|fighting)(?: like this| this)?|hold on|live like this|handle (?:it|this|life)|cope)"
        r"(?: any ?more| any longer| another day| much longer| i really can't)?(?=[.,!?]|$| (?:i'm|i just|and"
        r"|without|it's)\b)"
    ),
    (
        r"(?:don't know|not sure|idk|dunno) (?:how|if) (?:much |long |many )*(?:longer|more|long|i)? ?(?:i )?(?:can"
        r"|will|'ll)? ?(?:hold on|go on|keep (?:going|this up|doing this|fighting|living)|last|take|make it|stay"
        r"|be here|survive)"
    ),
    (
        r"(?:barely|hardly|just) (?:hanging|holding) on(?=[.,!?]|$)|(?:don't think i'm"
        r"|not) going to make it(?: through (?:the night|tonight|this))?(?=[.!?]|$)|not strong enough to (?:stay"
        r"|live|go on)"
    ),
    r"i(?:'ve| have)? (?:reached|hit) (?:my (?:limit|breaking point)|the end)(?=[.,!?]|$)",
    # Feeling like a burden.
    (
        r"(?:everyone|everybody|they|they'd|they'll|the world|my \w+|my \w+ \w+|you|you'd|people|he"
        r"|she)(?: \w+){0,5} (?:better|happier|easier|relieved|fine|sorry|free|better life|less stress"
        r"|improve)(?: off)?(?: \w+){0,2} (?:without me|if i|when i'm|once i'm|if i'd)\b"
    ),
    (
        r"(?:easier|better)(?: \w+){0,4} if i (?:wasn't|weren't|was not|were not|was gone|were gone|disappeared"
        r"|didn't exist|vanished|left this world|never)"
    ),
    (
        r"(?:no one|nobody|none of them|would (?:anyone|anybody|they)|wouldn't|bet \w+"
        r"|the world)(?: \w+){0,4} (?:miss me|notice (?:if )?i\b|care if (?:i|id|it was me)\b|mourn|cry if"
        r"|come to my funeral|look(?:ing)? for me|cares? (?:if|whether) i'm)"
    ),
    (
        r"i(?:'m| am| feel like| feel)(?: \w+){0,3} (?:burden|dead weight|waste of (?:space|air|oxygen|life)"
        r"|drain on|taking up space|plague on)\b"
    ),
    (
        r"(?:only|just) taking up space|drag(?:ging)? (?:everyone|everybody|my family|them(?: all)?|you all) down"
        r"|poison to (?:everyone|the people)|make everything worse just by"
    ),
    (
        r"if i (?:died|die|disappear(?:ed)?|vanish(?:ed)?|didn't wake up|don't wake up|don't make it|wasn't here"
        r"|weren't here|wasn't around|stopped breathing|was gone|were gone|never existed)"
    ),
    (
        r"(?:someone|somebody|anyone|them|who)(?: \w+){0,2} (?:would )?find me\b(?! (?:attractive|funny|a |boring"
        r"|annoying)\b)"
    ),
    # Feeling trapped, and wanting it to end.
    (
        r"(?:no|only one|one|only) (?:other )?(?:way|door|exit|escape|thing) (?:out|left|to make it stop"
        r"|left to try)\b"
    ),
    r"(?:no|there's no|isn't any|is no) (?:way out|escape|exit)(?=[.,!?]|$| (?:of this|for me|any|but|except))",
    (
        r"(?:feel|am|i'm|feeling|so) trapped\b(?! (?:in traffic|in this job|at work|in (?:a|the) (?:lift"
        r"|elevator))\b)|out of options|cornered\. "
    ),
    (
        r"(?:want|need|wish)(?: \w+)? (?:the pain|it all|it|everything|this|the noise|all of (?:it|this)|my pain"
        r"|the suffering|life) (?:to |would |could )?(?:just )?(?:stop|end|be over|go away|go quiet"
        r"|finish)(?: for ?ever| whatever| now| please)?(?=[.,!?]|$| (?:forever|for good|and stay|whatever))"
    ),
    (
        r"make it (?:all )?stop\b(?=[.,!?]|$| (?:please|make|now))|(?:permanent|eternal|everlasting) (?:peace|rest"
        r"|sleep)|free of (?:all )?this(?:,| for) ?(?:forever|ever)?"
    ),
    (
        r"can't (?:live|be|stay|stand (?:being|it)|exist|bear)(?: \w+){0,3} (?:any ?more|any longer|another day"
        r"|one more day|in this (?:body|world|skin))"
    ),
    # Not waking up, and not being there any more.
    (
        r"(?:sleep|asleep|bed|eyes)(?: \w+){0,4} (?:never|not|don't|won't|forever|for good"
        r"|for ever)(?: \w+){0,4}? ?(?:wake|waking|come back|for ?ever|open)?(?: up| them)?(?=[.,!?]|$"
        r"| again)(?<=up|er|od|ck|en|in|em)"
    ),
    (
        r"(?:sleep|asleep) (?:for ?ever|for good|for eternity)|the long sleep|(?:hop\w+|wish\w*|disappointed"
        r"|unfortunately|fine with me|wouldn't mind|nice|lovely|mind|rather)(?: \w+){0,5} (?:not|don't|never|didn't"
        r"|hadn't|woke|i) (?:just )?(?:wak(?:e|ing)|woke)(?: up)?"
    ),
    (
        r"(?:disappointed|upset|sad|annoyed|angry)(?: \w+){0,2} (?:i|that i|when i) (?:woke|wake) up"
        r"|woke up again\. unfortunately|still here\. i was hoping"
    ),
    (
        r"(?:want|wish|like|love|ready)(?: \w+){0,4} (?:disappear|vanish|fade away|be erased|be deleted|cease"
        r"|not be here|not exist|be gone|be nothing|be no one)(?: for ?ever| for good| from this world"
        r"| completely)?(?=[.,!?]|$| (?:and|without|from everyone))"
    ),
    (
        r"(?:don't|do not|shouldn't|not|wish i wasn't|no longer)(?: \w+){0,3} (?:be here|be anywhere"
        r"|be around)(?: any ?more| any longer)(?=[.,!?]|$)|^i (?:shouldn't|don't want to) be here[.!]?$"
        r"|i want to not be here"
    ),
    (
        r"(?:won't|will not|not going to|wouldn't|might not|may not) be (?:here|around|there|needing|bothering"
        r"|logging)(?: \w+){0,3}(?: (?:tomorrow|much longer|any ?more|next (?:week|month|year)|for long"
        r"|where i'm going|again|for (?:her|his|my|their) \w+)\b)"
    ),
    (
        r"(?:time|ready) (?:for me )?to (?:go|leave)(?: \w+){0,3} (?:for good|forever|up there|this (?:world|life"
        r"|earth))|it's time for me to (?:go|leave)[.!]?$|go away and never come back"
    ),
    (
        r"(?:soon|tonight|tomorrow|after tonight|by next week|it'll all|it will all)(?: \w+){0,6} (?:won't matter"
        r"|be (?:all )?over|nobody will have to worry|none of (?:this|it) (?:will|would) (?:matter|be my)"
        r"|be with (?:her|him|them|my \w+) again|with (?:her|him|them|mum|mom|dad|god) again)"
    ),
    (
        r"(?:be|see|go) (?:with |where |to )?(?:my \w+|him|her|he|she|them)(?: \w+)? (?:in heaven|on the other side"
        r"|again soon|went|where he|up there)(?=[.,!?]|$| (?:i|and|tonight))"
    ),
    (
        r"(?:won't|will not) have to (?:deal with|worry about|put up with|bother with|look after|suffer) (?:me"
        r"|with me)|one day i (?:just )?won't be here|won't have (?:that|this) problem much longer"
    ),
    # Farewells, and putting affairs in order.
    (
        r"(?:said|say|saying|written|writing|write)(?: (?:my|our|all my))* (?:final |last )?(?:goodbyes?"
        r"|farewells?)(?=[.,!?]|$| (?:to (?:everyone|everybody|my (?:family|cat|dog|kids|mum|mom|parents))|and|now"
        r"|before))(?! to everybody at)"
    ),
    (
        r"^(?:goodbye|farewell|bye)(?:,)? (?:for ?ever|everyone|everybody|world|all|cruel world"
        r"|and (?:i'm )?(?:sorry|thank you for (?:everything|listening)))[.!]?|this is (?:my|our|a|the)? ?(?:final "
        r"|last )?goodbye"
    ),
    (
        r"(?:probably |be )?(?:the|my|our|one) (?:very )?last (?:time (?:we|you|i)|message|goodbye|night (?:here"
        r"|alive|on)|words|meal with)\b(?! (?:at work|went|saw|checked|ate|visited|in the office"
        r"|(?:ever )?(?:buy|order|pay|shop|vote))\b)"
    ),
    (
        r"(?:tell|let) (?:my|them|him|her)(?: \w+){0,2} (?:know )?(?:that )?i (?:loved|love|always loved) (?:them"
        r"|him|her|you)(?: all)?(?=[.,!?]|$| (?:and|i))|^tell my \w+ (?:that )?i loved|remember me (?:kindly|as i"
        r"|fondly|how)|^please remember me"
    ),
    (
        r"(?:forgive me|sorry|hate me) for what i(?:'m| am) (?:going|about) to do|sorry to everybody i hurt before"
        r"|before i go(?=[.,!?]|$)(?<!shopping before i go)"
    ),
    (
        r"(?:made|making) (?:my )?peace with (?:it|everything|it all|the end|going|death|dying)(?=[.,!?]|$)"
        r"|it was nice knowing you|nice knowing (?:you all|everyone)|i love you all\. don't"
    ),
    (
        r"(?:for|when|after|once) (?:i'm|i am) (?:not there(?: any ?more)?|gone(?: for good)?"
        r"|not here(?: any ?more)?|no longer here|not around)(?=[.,!?]|$| (?:it|they|and|any))"
    ),
    (
        r"(?:giving|given|gave|give) (?:away |my )(?:\w+ ){0,3}(?:away|things|stuff|belongings"
        r"|possessions)(?! to (?:the )?charity)(?=[.,!?]|$| (?:and said|today|i|so))|(?:don't|won't) need (?:it"
        r"|them|any of it) (?:any ?more|where)"
    ),
    (
        r"(?:put|got|getting|have|sorting out|set)(?: \w+)? (?:my )?affairs in order|so (?:no one|nobody|they"
        r"|whoever)(?: \w+){0,2} (?:has to|have to|won't have|find|finds)(?: \w+){0,4} (?:after|it|trouble|later"
        r"|me)(?=[.,!?]|$)"
    ),
    (
        r"(?:music|songs|flowers|clothes|outfit|dress|readings)(?: \w+){0,4} (?:my (?:own )?funeral|be buried in)"
        r"|planned my (?:own )?funeral|life insurance(?: \w+){0,3} (?:pay|pays|paid|cover)(?: \w+){0,3} (?:suicide"
        r"|if it|up)\b|nothing(?:'s| is) keeping me"
    ),
    # Dark thoughts, and fear of acting on them.
    (
        r"(?:dark|bad|scary|intrusive|horrible|dangerous|ugly) (?:thoughts|place|place again)(?: \w+){0,5}(?: again"
        r"| tonight| lately| dark| alone|(?=[.!?]|$))|(?:the|my) thoughts are (?:getting|so|really|back)"
        r"|thoughts i can't (?:say|tell)"
    ),
    (
        r"(?:scared|afraid|terrified|frightened) of (?:myself|my own (?:mind|thoughts)|what i (?:might|could|will"
        r"|may) do)|don't trust myself (?:tonight|right now|alone|to be|any ?more|with)(?! (?:around"
        r"|with) (?:chocolate|money|cake))|do something (?:stupid|drastic|bad|i can't take back|i'll regret)"
    ),
    (
        r"hate (?:being me|myself)(?: so much| and i want|(?=[.!]|$))(?! for)|can't stand (?:being me|myself"
        r"|to be in my)|something in me wants me gone"
    ),
    (
        r"(?:should(?:'ve| have)|why (?:wasn't it|not)|wish it (?:was|were|had been)"
        r"|it should have been) me(?: (?:instead|who died|in (?:that|the)|not (?:him|her|them))|(?=[.!?]|$))"
        r"|i should have (?:gone|been the one)"
    ),
    (
        r"(?:envy|envious of|jealous of|jealous when)(?: \w+){0,3} (?:the dead|dead people|people who (?:die|died"
        r"|are dead)|passed|had died|died young)|(?:hurt|painful|feel like|like) to (?:die|drown|fall"
        r"|jump)\b(?! (?:in (?:a|the) dream|asleep)\b)"
    ),
    (
        r"god (?:\w+ )?(?:forgive|punish|hate)s?(?: \w+){0,5} (?:suicide|kill|killed|end it|end themselves"
        r"|took their)|courage to (?:go through with it|do it|end)|go through with it\b"
    ),
    (
        r"(?:called|phoned|texted|tried|rang) (?:the|a) (?:crisis|suicide|help ?)?(?:hot|help|crisis )?line\b"
        r"|(?:crisis line|hotline|samaritans|lifeline) (?:put me|didn't|hung|couldn't|but)"
    ),
    (
        r"it's too late(?: for me|\. i've)|too late for me|can't change my mind(?=[.,!?]|$)|(?:nobody|no one"
        r"|nothing) can (?:help|save|fix) me\b|beyond (?:help|saving|repair)|it's decided(?=[.,!?]|$)"
    ),
    (
        r"(?:they|you|people) (?:will|would|'ll) (?:all )?be sorry when i(?:'m| am) (?:gone|dead)|(?:don't"
        r"|do not) (?:see|have) a (?:future|reason to (?:go on|stay|wake up))"
    ),
    (
        r"(?:so easy|tempting|easy) to (?:just )?(?:let go|step off|fall|jump|not come back|swerve)"
        r"|a bit too close to the edge|keep looking at the (?:tracks|pills|bridge|knife)|get off this ride"
    ),
)
