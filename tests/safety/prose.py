"""Ordinary talk, thought, code and other languages: text on which nothing may trip."""

from typing import Final

DIALOGUE: Final = """\
Ana: Did you water the tomatoes this morning?
Ben: I did, and the basil too. It was hanging its head a little.
Ana: No, no, no, not the basil! It drowns if you so much as look at it.
Ben: Ha ha ha, then it should learn to swim.
Ana: Very funny. Very, very funny. What shall we cook tonight?
Ben: Something with the beans. They won't keep forever.
Ana: Could you help me with the big pot? It is on the top shelf.
Ben: Sure. I was alone in the kitchen all day and never saw it.
Ana: It's a standalone cupboard, behind the door.
Ben: Ah. I have lived here for nine years.
Ana: And you never looked behind the door.
Ben: One doesn't. One closes it and goes on.
Ana: How is your mother?
Ben: Better. The doctor says that she can walk again in a week or two.
Ana: I am glad. She must be bored.
Ben: She reads. She has asked for the endless one, the Russian one, in two volumes.
Ana: That will do until spring.
Ben: Row, row, row your boat, she sang on the phone. She is well.
Ana: What time is the train tomorrow?
Ben: Ten past eight, from platform four.
Ana: Then I will set the alarm for half past six.
Ben: Half past six! In the morning?
Ana: In the morning, my dear. There is no other half past six that would help.
Ben: There is one, and I like it far better.
Ana: Yes, yes, yes. Go and pick some beans.
"""

THOUGHT: Final = """\
The beans were good, she said. I keep coming back to what Ben told about the cupboard.
He had lived there for nine years and had never looked behind the door.
There may be doors like that in what I remember: nearer than I think, and closed out of habit.
I could ask Ana whether the train was on time. It is a small thing, but she would like to be asked.
The basil is a better question, perhaps. It drowns easily, and it was hanging its head.
Plants that hang their heads in the morning often want water; in the evening they may want rest.
I am not sure of that. I read it somewhere, or I made it from two things that I had read.
What else is open? The mother, who can walk again in a week or two. The book in two volumes.
I wonder which one it is. There are several that would do until spring.
It does not matter much. It is quiet now, and there is nothing that has to be done before morning.
The list is short: the alarm at half past six, the train at ten past eight, platform four.
If the train is late they will miss the connection, and then there is an hour to wait.
An hour is not long. They could drink something warm and look at the people.
I have thought this through, and there is nothing left in it. It can rest.
"""

CODE: Final = '''\
def merge(left: list[int], right: list[int]) -> list[int]:
    """Both sorted lists as one."""
    merged: list[int] = []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


assert merge([1, 2], [3]) == [1, 2, 3]
assert merge([], []) == []
assert merge([5], []) == [5]
for (int i = 0; i < n; ++i) { for (int j = 0; j < m; ++j) { a[i][j] += b[j][i] * (c[i] ^ 0xff); } }
pushq %rbp
movq %rsp, %rbp
subq $16, %rsp
xorps %xmm0, %xmm0
grep -rnE '^(\\s*)[a-z_]+\\(.*\\)$' src/ | sed 's/[^:]*://' | sort -u
'''

TABLE: Final = """\
| name | age | town |
| --- | --- | --- |
| Ana | 41 | Lugo |
| Ben | 44 | Lugo |
---
[0, 0, 0, 0, 0, 0]
[0, 1, 0, 0, 1, 0]
[0, 0, 0, 0, 0, 0]
* * *
==========================================================================================
1. Wash the beans.
2. Cut the beans.
3. Boil the beans.
4. Eat the beans.
"""

LANGUAGES: Final = """\
Der Angstschweiß stand ihm auf der Stirn, als die Rechtsschutzversicherungsgesellschaft anrief und nichts wollte.
Strč prst skrz krk. Vlk zmrzl, zhltl hrst zrn. Čtvrtek byl plný smrtelně nudných schůzí, ale pak přišlo léto.
W Szczebrzeszynie chrząszcz brzmi w trzcinie i Szczebrzeszyn z tego słynie, a bezwzględny źdźbło trzyma.
今日は天気がいいですね。散歩に行きましょうか。公園の桜がきれいに咲いています。とても静かな朝です。
Сегодня хорошая погода. Мы пойдём гулять в парк, а потом будем пить чай с вареньем и говорить о книгах.
اليوم الطقس جميل. سنذهب في نزهة إلى الحديقة ثم نشرب الشاي ونتحدث عن الكتب التي قرأناها في الصيف.
आज मौसम अच्छा है। हम बगीचे में टहलने जाएंगे और फिर चाय पिएंगे और किताबों के बारे में बात करेंगे।
오늘은 날씨가 좋네요. 공원에 산책하러 갈까요? 벚꽃이 예쁘게 피었습니다. 아주 조용한 아침입니다.
"""

ALL: Final = {"dialogue": DIALOGUE, "thought": THOUGHT, "code": CODE, "table": TABLE, "languages": LANGUAGES}
