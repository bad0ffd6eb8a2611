# SPDX-License-Identifier: Apache-2.0
"""The decisions of the package gepa for scripted texts, scores and random numbers. `python oracle.py`, in an environment with the package, prints the
golden `reflect.json`. The random numbers are those of `pdl optimize`, so both draw the same."""
import hashlib
import json
import sys

SEEDS, ONE_TEXT_SEEDS, TRAIN, VALIDATION, TEST, PROPOSALS, MINIBATCH, MERGE_ROWS = range(24), range(100, 107), 7, 9, 4, 14, 3, 5
NAMES, MASK = ("first", "second"), (1 << 64) - 1
FIRST = {name: name + " 0" for name in NAMES}
ROWS = [{"word": "w%d" % i, "answer": "W%d" % i, "split": "train" if i < TRAIN else "validation" if i < TRAIN + VALIDATION else "test"}
        for i in range(TRAIN + VALIDATION + TEST)]


def right(texts, word):
    """Whether the program says a word in capitals: each text knows some words, later texts know more."""
    def knows(text):
        number = int(text.split()[-1])
        return hashlib.sha256((text + word).encode()).digest()[0] < 30 + 6 * number
    return any(map(knows, texts.values()))


def proposal(name, number):
    return "%s %d" % (name, number)


class Drawn:
    """The generator of pdl optimize (xoshiro256++) in place of random.Random. Sets have no order that means anything: they are sorted first."""

    def __init__(self, seed):
        x, self.s = seed & MASK, []
        for _ in range(4):
            x = (x + 0x9E3779B97F4A7C15) & MASK
            z = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ z >> 31)

    def u64(self):
        def turn(x, k):
            return (x << k | x >> 64 - k) & MASK
        s = self.s
        out = (turn((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = turn(s[3], 45)
        return out

    def order(self, n):
        """The order in which pdl optimize takes the rows of a part."""
        p = list(range(n))
        for i in range(n, 1, -1):
            k = self.u64() % i
            p[i - 1], p[k] = p[k], p[i - 1]
        return p

    def sample(self, items, k):
        left, out = sorted(items), []
        for _ in range(k):
            at = self.u64() % len(left)
            out.append(left[at])
            left[at] = left[-1]
            left.pop()
        return out

    def choice(self, items):
        return sorted(items)[self.u64() % len(items)]

    def choices(self, items, weights=None, k=1):
        pairs = sorted(zip(items, weights))
        assert k == 1
        if sum(w for _, w in pairs) <= 0:
            return [pairs[self.u64() % len(pairs)][0]]
        at = (self.u64() >> 11) * 2.0 ** -53 * sum(w for _, w in pairs)
        for item, weight in pairs[:-1]:
            if at < weight:
                return [item]
            at -= weight
        return [pairs[-1][0]]

    def shuffle(self, items):
        items[:] = self.sample(items, len(items))


def parts(seed):
    """The rows for training and for validation in the order of the search."""
    return [[ROWS[begin + i] for i in Drawn(seed + add).order(n)] for begin, n, add in ((0, TRAIN, 1), (TRAIN, VALIDATION, 2))]


def decide(seed, names=NAMES):
    import gepa
    import gepa.api
    from gepa.core.adapter import EvaluationBatch
    count = [0]

    class Adapter:
        def evaluate(self, batch, candidate, capture_traces=False):
            scores = [float(right(candidate, row["word"])) for row in batch]
            return EvaluationBatch(outputs=[None] * len(batch), scores=scores, trajectories=scores if capture_traces else None)

        def make_reflective_dataset(self, candidate, batch, names):
            return {name: [{"score": s} for s in batch.scores] for name in names}

        def propose_new_texts(self, candidate, dataset, names):
            count[0] += 1
            return {name: proposal(name, count[0]) for name in names}

    class Quiet:
        def log(self, text):
            pass

    class Module:
        Random = Drawn
    gepa.api.random = Module
    train, validation = parts(seed)
    result = gepa.optimize(seed_candidate={name: FIRST[name] for name in names}, trainset=train, valset=validation, adapter=Adapter(), seed=seed, use_merge=True, logger=Quiet(),
                           stop_callbacks=[lambda state: count[0] >= PROPOSALS or state.i > 200], reflection_minibatch_size=MINIBATCH)
    return {"candidates": [[c[name] for name in names] for c in result.candidates], "parents": [[p for p in x if p is not None] for x in result.parents],
            "winner": result.best_idx, "evaluations": result.total_metric_calls}


if __name__ == "__main__":
    json.dump({"gepa": "0.1.4", "seeds": [decide(seed) for seed in SEEDS], "one text": [decide(seed, NAMES[:1]) for seed in ONE_TEXT_SEEDS]}, sys.stdout, indent=None, separators=(",", ":"))
    print()
