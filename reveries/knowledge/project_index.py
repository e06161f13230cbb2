"""In-memory index of the chunks of one project: vectors, texts, and which chunk is about which name. No I/O."""

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np

from reveries.db.database import Row
from reveries.index.names import find_mentions
from reveries.index.terms import terms_of
from reveries.index.word_scores import idf
from reveries.knowledge.candidates import SentenceCandidates, Statement
from reveries.knowledge.contradictions import statements_of
from reveries.knowledge.model import NewChunk, RelationType
from reveries.knowledge.ranking import CROWD, Float32, Lead
from reveries.knowledge.store import names_of
from reveries.llm.base import Vector, Vectors

_CAPITALISED = re.compile(r"\b[A-Z][^\W_]+")
_SEARCHED_CHARS = 2_000
_LONG_TEXT_CHARS = 2_000
_LEAST_ROWS = 256
_COMPARED_BY_SENTENCE = 100
"""How many of the nearest rows are compared with a new chunk sentence by sentence."""


class ProjectIndex:
    """Chunks by row, in the order of their numbers. A row of zeros has no vector."""

    def __init__(self, dimensions: int) -> None:
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.hidden: set[int] = set()
        """Rows that no search shows: fallen chunks and archived orientations."""
        self.replaced: set[int] = set()
        """Rows that another chunk replaced: they are found, but do not make a name one that many chunks are about."""
        self._numbers: list[int] = []
        self._rows: dict[int, int] = {}
        self._rows_by_id: dict[str, int] = {}
        self._vectors: Float32 = np.zeros((_LEAST_ROWS, dimensions), np.float32)
        self._about: dict[str, list[int]] = {}
        self._openers: Counter[str] = Counter()
        self._related: dict[int, list[Lead]] = {}
        self._later_pairs: set[tuple[int | None, int | None]] = set()
        """The rows of two values that both hold, the later one first."""
        self.greatest_weight = 0.0
        """The greatest sum of the weights of one chunk's relations."""
        self._terms = lru_cache(maxsize=4096)(self._read_terms)
        self._candidates = SentenceCandidates(self._read_statements)
        self._content_starts: list[int] = []

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def last_number(self) -> int:
        return self._numbers[-1] if self._numbers else 0

    @property
    def vectors(self) -> Vectors:
        """By row, unit length or zeros."""
        return self._vectors[: len(self.ids)]

    def add(self, rows: Sequence[Row]) -> None:
        """Add the chunks in these rows of `chunks.after_number`."""
        self._grow(len(self.ids) + len(rows))
        for row in rows:
            place = len(self.ids)
            self.ids.append(str(row["id"]))
            self.texts.append(f"{row['title']}\n{row['content']}" if row["title"] else str(row["content"]))
            self._content_starts.append(len(row["title"]) + 1 if row["title"] else 0)
            self._numbers.append(int(row["number"]))
            self._rows[int(row["number"])] = place
            self._rows_by_id[str(row["id"])] = place
            if row["vector"] is not None and len(vector := np.frombuffer(row["vector"], "<f4")):
                self._vectors[place] = vector
            if row["is_hidden"]:
                self.hidden.add(place)
                continue
            stored_names = row["names"]
            names = json.loads(stored_names) if stored_names is not None else names_of(row["title"], row["content"])
            for name in names:
                if name not in self._about:
                    self._openers[name.partition(" ")[0]] += 1
                self._about.setdefault(name, []).append(place)

    def relate(self, leads: Iterable[Row], replaced_ids: Iterable[str] = ()) -> None:
        """Replace all relations with these rows of `relations.leads`, and note which chunks were replaced."""
        self.replaced = {row for name in replaced_ids if (row := self._rows_by_id.get(name)) is not None}
        related: dict[int, list[Lead]] = {}
        self._later_pairs.clear()
        for lead_row in leads:
            here, to_row = self._rows_by_id.get(lead_row["from_id"]), self._rows_by_id.get(lead_row["to_id"])
            if here is None or to_row is None:
                continue
            if lead_row["type"] == RelationType.PRECEDED_BY and lead_row["confidence_source"] == "rule":
                self._later_pairs.add((here, to_row))
            related.setdefault(here, []).append(Lead(to_row, lead_row["weight"], lead_row["type"]))
            related.setdefault(to_row, []).append(Lead(here, lead_row["weight"], lead_row["type"]))
        self._related = related
        self.greatest_weight = max(
            (sum(lead.strength for lead in row_leads) for row_leads in related.values()), default=0.0
        )

    def precedes(self, earlier_id: str, later_id: str) -> bool:
        """Whether a rule found that both say something of the same thing, the one later than the other."""
        return (self._rows_by_id.get(later_id), self._rows_by_id.get(earlier_id)) in self._later_pairs

    def row_of(self, chunk_id: str) -> int | None:
        return self._rows_by_id.get(chunk_id)

    def rows_of(self, numbers: Iterable[int]) -> list[int]:
        """The rows of those chunk numbers that are in the index."""
        return [row for number in numbers if (row := self._rows.get(number)) is not None]

    def nearest(self, products: Float32, count: int, hidden: Collection[int]) -> list[int]:
        """The rows with the highest products, best first, without `hidden` rows and rows that have no vector."""
        wanted = min(len(products), count + len(hidden))
        chosen = np.argpartition(-products, wanted - 1)[:wanted] if wanted < len(products) else np.arange(len(products))
        ordered = sorted(chosen.tolist(), key=lambda row: (-products[row], row))
        return [row for row in ordered if row not in hidden and products[row] > 0.0][:count]

    def rows_named_in(self, text: str) -> dict[int, float]:
        """The rows that are about a name in the text, with a confidence that falls with the number of rows that share
        the name; a name that more than CROWD rows are about gives none."""
        shares: dict[int, float] = {}
        for name in find_mentions(text, self._about, self._openers):
            rows, share = self._rows_about(name)
            shares |= {row: max(shares.get(row, 0.0), share) for row in rows}
        return shares

    def rows_with_parts(self, parts: Sequence[str], count: int) -> list[int]:
        """The rows whose texts contain most of these parts of words, rare ones first, best first."""
        containing = {part: [row for row, text in enumerate(self.texts) if part in text] for part in parts}
        scores: dict[int, float] = defaultdict(float)
        for rows in containing.values():
            weight = idf(len(self), len(rows))
            for row in rows:
                # Of two texts with the same parts the shorter one says less else.
                scores[row] += weight / (1.0 + len(self.texts[row]) / _LONG_TEXT_CHARS)
        return sorted(scores, key=lambda row: (-scores[row], row))[:count]

    def leads_from(self, row: int) -> list[Lead]:
        """Where the chunk in a row leads: to chunks about a name that it contains, and to related ones."""
        leads: dict[int, Lead] = {}
        for name in find_mentions(self.texts[row][:_SEARCHED_CHARS], self._about, self._openers):
            rows, share = self._rows_about(name, apart_from=row)
            leads |= {about_row: Lead(about_row, share, name) for about_row in rows if about_row not in leads}
        for lead in self._related.get(row, ()):
            if lead.row not in self.hidden and (lead.row not in leads or leads[lead.row].strength < lead.strength):
                leads[lead.row] = lead
        return list(leads.values())

    def _rows_about(self, name: str, apart_from: int = -1) -> tuple[list[int], float]:
        """The shown rows that are about a name, with a share that falls with the number of those that stand; none if
        more than CROWD stand. A fact that was corrected ten times is still one fact about its subject."""
        rows, standing = list[int](), 0
        for row in reversed(self._about[name]):
            if row in self.hidden or row == apart_from:
                continue
            is_replaced = row in self.replaced
            standing += not is_replaced
            if standing > CROWD:
                return [], 0.0
            if not is_replaced or len(rows) < CROWD:
                rows.append(row)
        return rows[::-1], max(1, standing) ** -0.5

    def terms_at(self, row: int) -> frozenset[str]:
        """The stems of the content words of a row."""
        return self._terms(row)

    def names_at(self, row: int) -> frozenset[str]:
        """The stems of the capitalised words of a row."""
        return frozenset(terms_of(" ".join(_CAPITALISED.findall(self.texts[row][:_SEARCHED_CHARS]))))

    def within(self, vector: Vector, least: float, hidden: Collection[int]) -> list[tuple[str, float]]:
        """Every chunk from a cosine of `least` on, without `hidden` rows, nearest first, with its cosine."""
        products = self.vectors @ vector
        rows = np.flatnonzero(products >= least)
        ordered = rows[np.argsort(-products[rows], kind="stable")].tolist()
        return [(self.ids[row], float(products[row])) for row in ordered if row not in hidden]

    def likest_of_each(
        self, chunks: Sequence[NewChunk], vectors: Vectors, count: int, least: float
    ) -> list[list[tuple[str, float]]]:
        """`likest` for each of these new chunks."""
        return [
            self.likest(vector, count, least, names_of(chunk.title, chunk.content), chunk.content, chunk.title)
            for chunk, vector in zip(chunks, vectors, strict=True)
        ]

    def likest(
        self,
        vector: Vector,
        count: int,
        least: float,
        names: Sequence[str] = (),
        content: str = "",
        title: str = "",
    ) -> list[tuple[str, float]]:
        """The shown chunks with which a new one is compared, nearest first, with their cosines: the `count` nearest
        from a cosine of `least` on, as many that share most with one sentence of its `content` and have no other
        `title`, and the newest that are about one of `names`."""
        if not len(self):
            return []
        products = self.vectors @ vector
        about = {row for name in names for row in self._newest_about(name)}
        nearest = self.nearest(products, max(count, _COMPARED_BY_SENTENCE), self.hidden)
        near = {row for row in nearest[:count] if products[row] >= least}
        others = [row for row in nearest if row not in near and self._may_share_subject(row, title)]
        alike = self._candidates.find(statements_of(content), others, len(self), count)
        ordered = sorted(near | about | alike, key=lambda row: (-products[row], row))
        return [(self.ids[row], float(products[row])) for row in ordered]

    def _newest_about(self, name: str) -> Iterable[int]:
        """The newest rows that are about a name and stand. The oldest may long be replaced."""
        gone = self.hidden | self.replaced
        standing = (row for row in reversed(self._about.get(name, ())) if row not in gone)
        return itertools.islice(standing, CROWD)

    def _may_share_subject(self, row: int, title: str) -> bool:
        """Texts with different titles are about different things."""
        other = self.texts[row][: max(0, self._content_starts[row] - 1)]
        return not (title and other) or title.casefold() == other.casefold()

    def _read_statements(self, row: int) -> list[Statement]:
        return statements_of(self.texts[row][self._content_starts[row] :])

    def _read_terms(self, row: int) -> frozenset[str]:
        return frozenset(terms_of(self.texts[row]))

    def _grow(self, size: int) -> None:
        if size > len(self._vectors):
            more = np.zeros((max(size, 2 * len(self._vectors)), self._vectors.shape[1]), np.float32)
            more[: len(self._vectors)] = self._vectors
            self._vectors = more
