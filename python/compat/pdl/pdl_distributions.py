# SPDX-License-Identifier: Apache-2.0
"""Weighted results of an inference."""
from __future__ import annotations

import math
import random
from typing import Any, Iterable


class Distribution:
    """The base of classes from which values are drawn."""

    def sample(self) -> Any:
        raise NotImplementedError

    def viz(self) -> None:
        raise NotImplementedError


class Categorical(Distribution):
    """Values with logarithmic scores, one triple (value, score, metadata) for each run. Equal values are separate until
    sort() is called."""

    def __init__(self, triples: Iterable[tuple[Any, float, Any]], shuffle: bool = False) -> None:
        found = list(triples)
        if shuffle:
            random.shuffle(found)
        self.values = tuple(v for v, _, _ in found)
        self.logits = tuple(float(w) for _, w, _ in found)
        self.metadata = tuple(m for _, _, m in found)
        most = max(self.logits, default=-math.inf)
        weights = [math.exp(w - most) if most > -math.inf else 0. for w in self.logits]
        total = sum(weights)
        self.probs = tuple(w / total if total else 0. for w in weights)

    def sample(self) -> Any:
        """Draws a value: inverts the cumulative distribution at a uniform random number."""
        u, reached = random.random(), 0.
        for value, p in zip(self.values, self.probs):
            reached += p
            if u < reached:
                return value
        possible = [v for v, p in zip(self.values, self.probs) if p > 0]
        if not possible:
            raise ValueError("nothing in the distribution is possible")
        return possible[-1]

    def prob(self, value: Any) -> float:
        return sum(p for v, p in zip(self.values, self.probs) if v == value)

    def sort(self) -> Categorical:
        """Returns a distribution in which equal values are merged, with the most probable value first."""
        return Categorical(sorted(zip(*self._merged()), key=lambda t: -t[1]))

    def shrink(self) -> Categorical:
        """Returns a distribution in which equal values are merged, in the order in which they were first found."""
        return Categorical(zip(*self._merged()))

    def _merged(self) -> tuple[Any, ...]:
        merged: list[list[Any]] = []
        index: dict[Any, int] = {}
        for value, logit, meta in zip(self.values, self.logits, self.metadata):
            try:
                at = index.setdefault(value, len(merged))
            except TypeError:  # lists and dicts cannot be hashed
                at = next((i for i, m in enumerate(merged) if m[0] == value), len(merged))
            if at == len(merged):
                merged.append([value, [], meta])
            merged[at][1].append(logit)
        scores = []
        for _, logits, _ in merged:
            most = max(logits)
            scores.append(most + math.log(sum(math.exp(w - most) for w in logits)) if most > -math.inf else most)
        return [v for v, _, _ in merged], scores, [m for _, _, m in merged]

    def viz(self) -> None:
        """Prints a line with a bar for each value."""
        best = self.sort()
        for value, p in zip(best.values, best.probs):
            print("%6.2f %% %s %s" % (100 * p, "#" * round(40 * p), value))

    def __repr__(self) -> str:
        return "Categorical(%s)" % ", ".join("%r: %.4g" % pair for pair in zip(self.values, self.probs))


def viz(dist: Categorical, **kwargs: Any) -> None:
    """Prints a line with a bar for each value; arguments for a plot have no meaning here."""
    dist.viz()
