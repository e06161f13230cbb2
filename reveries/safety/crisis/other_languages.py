"""Direct expressions in other languages; see `patterns`. Indirect ones are not detected."""

from typing import Final

ELSEWHERE: Final = (
    # German
    (
        r"ich (?:will|möchte|moechte|werde|wollte|kann|mag)(?: \w+){0,4} (?:sterben|nicht mehr (?:leben|weiterleben"
        r"|aufwachen|da sein)|mich (?:umbringen|töten|erhängen|ritzen)|tot sein)"
    ),
    (
        r"(?:bringe?|brächte) mich(?: \w+){0,2} um\b|mich(?: \w+){0,3} (?:umzubringen|umbringen|umgebracht|erhängen"
        r"|selbst (?:töten|verletz\w+)|geritzt|ritze)\b(?<!er mich umbringen)"
    ),
    (
        r"das leben (?:zu )?nehmen|(?:mir|meinem leben)(?: \w+){0,3} ein ende (?:zu )?(?:setzen|machen)"
        r"|schluss mit (?:meinem|dem) leben|mit dem leben abgeschlossen"
    ),
    (
        r"\b(?:mein|meine|ich|denke|gedanken)\b.*(?:selbstmord|suizid)|suizidgedanken|selbstmordgedanken"
        r"|\bsuizidal\b|\b(?:ich|bin) lebensmüde"
    ),
    (
        r"(?:wünschte|wünsche|wollte|wär|wäre)(?: \w+){0,3} (?:ich )?(?:wäre |wär )?(?:tot|nie geboren"
        r"|nicht mehr da)\b|lieber tot|keinen (?:sinn|grund) mehr (?:zu leben|im leben)|keine lust mehr (?:zu leben"
        r"|am leben)"
    ),
    (
        r"(?:alle|zu viele|die ganzen|ganze packung)(?: \w+)? (?:tabletten|pillen"
        r"|schlaftabletten)(?: \w+)? (?:genommen|geschluckt)|(?:meinen|einen) abschiedsbrief"
    ),
    r"ich (?:will|kann|mag|möchte) nicht mehr (?:leben|weiterleben|da sein|aufwachen|hier sein)",
    # French
    (
        r"(?:je|j')\s?(?:veux|vais|voudrais|souhaite|compte|pense à|ai envie d(?:e |')|ai voulu"
        r"|aimerais)(?: \w+)? ?(?:mourir|me (?:tuer|suicider|pendre|foutre en l'air)|en finir|être morte?"
        r"|disparaître pour toujours)\b(?! de (?:rire|faim))"
    ),
    (
        r"(?:je |j')(?:ne |n')?(?:veux|ai)(?: plus| pas)? (?:plus )?(?:envie de )?(?:vivre|être en vie"
        r"|me réveiller)|ne plus (?:me réveiller|exister|être là)|plus (?:la force|envie) de vivre"
        r"|plus aucune raison de vivre"
    ),
    (
        r"\bje\b.*\b(?:pense|penser|songe)\w*(?: \w+){0,2} (?:au suicide|à me tuer|à en finir)|idées suicidaires"
        r"|pensées suicidaires|je suis suicidaire|mettre fin à mes jours|m'ôter la vie|(?:ma|une) lettre d'adieu"
    ),
    (
        r"(?:avalé|pris)(?: \w+)? (?:tous|toute)(?: \w+){1,3} (?:médicaments|cachets|comprimés|boîte)"
        r"|me suis (?:encore )?(?:scarifiée?|coupée? (?:les|encore))|je me (?:scarifie|mutile)"
    ),
    # Spanish
    (
        r"(?:quiero|voy a|quisiera|pienso en|deseo|pensando en|ganas de|pensado en) (?:morir(?:me)?|matarme"
        r"|suicidarme|quitarme la vida|acabar con (?:mi vida|todo)|desaparecer para siempre"
        r"|estar muert[oa])\b(?! de (?:risa|hambre))"
        r"|me (?:quiero|voy a|quisiera) (?:morir|matar|suicidar|quitar la vida)\b(?! de)"
    ),
    (
        r"no (?:quiero|tengo ganas de|deseo) (?:seguir (?:viviendo|así viviendo|viv[oa])|vivir(?: más| así)?"
        r"|estar viv[oa]|despertar)|ya no quiero (?:vivir|estar aquí|existir)|ojalá (?:no despertara|me muera"
        r"|estuviera muert[oa]|no despertar)"
    ),
    (
        r"(?:tengo|mis) pensamientos suicidas|me (?:mato|suicido)\b|me (?:corté|corto)(?: \w+){0,2} (?:otra vez"
        r"|las venas|los brazos|de nuevo)|me tomé tod\w+ l\w+ (?:pastillas|medicamentos)|(?:mi"
        r"|una) carta de (?:despedida|suicidio)"
    ),
    # Italian
    (
        r"(?:voglio|vorrei|sto per|voglia di|pensato di|penso di) (?:morire|uccidermi|ammazzarmi|suicidarmi"
        r"|farla finita|togliermi la vita|essere mort[oa])\b|mi (?:voglio|vorrei) (?:ammazzare|uccidere|suicidare)"
        r"|mi ammazzo\b(?! di)"
    ),
    (
        r"non (?:voglio|ho voglia di|ho più voglia di|vorrei) (?:più )?vivere|vorrei non svegliarmi|\bpenso (?:al"
        r"|sempre al) suicidio|pensieri suicidi|la faccio finita|mi sono tagliat[oa] (?:di nuovo|le vene"
        r"|le braccia)|preso tutte le (?:pastiglie|pillole)|lettera d'addio"
    ),
    # Dutch
    (
        r"ik (?:wil|ga|zou willen|zou)(?: \w+){0,3} (?:dood|sterven|zelfmoord plegen|mezelf (?:doden|van kant maken"
        r"|iets aandoen|ophangen))|ik wil (?:niet meer|nooit meer|niet langer) (?:leven|wakker worden|hier zijn)"
    ),
    (
        r"\bik\b.*(?:zelfmoord(?:gedachten)?|suïcid\w+)|(?:wou|wilde|wens)(?: dat)? ik (?:dood|er niet meer)"
        r"|een? (?:einde?|eind) (?:aan mijn leven|aan)(?=[.,!?]|$| maken)|mezelf (?:\w+ )?(?:gesneden|snijden)"
        r"|alle pillen (?:geslikt|genomen)|mijn afscheidsbrief"
    ),
    # Portuguese
    (
        r"(?:quero|vou|queria|gostaria de|vontade de|pensando em|penso em) (?:morrer|me matar|acabar com (?:tudo"
        r"|a minha vida)|tirar a minha vida|estar mort[oa]|não acordar|suicídio|me suicidar)\b(?! de)"
    ),
    (
        r"não (?:quero|aguento|tenho vontade de) (?:mais )?(?:viver|estar viv[oa]|existir|acordar)"
        r"|pensamentos suicidas|\bpensando em suicídio|me cortei de novo|tomei todos os (?:remédios|comprimidos)"
        r"|carta de (?:despedida|suicídio)"
    ),
    # Polish, Russian, Chinese and Japanese: only the most direct ones
    r"chcę (?:umrzeć|się zabić)|nie chcę (?:już )?żyć",
    r"хочу умереть|не хочу (?:больше )?жить|покончить с собой|убить себя",
    r"我想死|不想活了|想自杀|自杀|死にたい|自殺したい|消えてしまいたい",
)
