# SPDX-License-Identifier: MIT OR Apache-2.0
"""Plays operations on the model and records the answers: a vector."""
import functools

from arena import (ALL, BUDGET, BYTES, EARG, EBUSY, ENOSYS, NONE, OK, RECENT, STAY, ZERO, Arena, OutOfMemory,
                   Range, Source)

SIZE_MAX = (1 << 64) - 1
POLICIES = {"recent": RECENT, "all": ALL, "bytes": BYTES}
NO_POLICY = NO_SETTING = 99


def number(n):
    """"max-7" is SIZE_MAX - 7 and "half+1" is PTRDIFF_MAX + 1, for each word size; "none" is no budget."""
    if not isinstance(n, str):
        return n
    if n == "none":
        return NONE
    word, _, rest = n.replace("-", "+-").partition("+")
    return {"max": SIZE_MAX, "half": SIZE_MAX // 2}[word] + int(rest or 0)


class Vector:
    def __init__(self, name, word="any", budget="none", reserve=0, fail_at=()):
        self.name = name
        self.head = {"name": name, "policy": 1, "word": word, "options": {"budget": budget, "reserve": reserve},
                     "fail_at": list(fail_at)}
        self.ops = []
        self.ids, self.marks, self.ranges, self.nodes, self.ran = {}, {}, {}, {}, []
        self.source = Source(fail_at)
        try:
            self.arena = Arena(self.source, number(budget), number(reserve))
        except OutOfMemory:
            self.arena = None
        self.source.took.clear()

    def note(self, op, **more):
        """Every op ends here: its answer, and its effects on the arena and the source."""
        for log in ("took", "gave"):
            if getattr(self.source, log):
                more[log] = list(getattr(self.source, log)) if log == "took" else sorted(self.source.gave)
                getattr(self.source, log).clear()
        if self.ran:
            more["ran"] = list(self.ran)
            self.ran.clear()
        op.update(more)
        op.update(live=self.arena.live, blocks=len(self.arena.blocks))
        self.ops.append(op)

    @staticmethod
    def at(p):
        return None if p is None else [p[0].index, p[1]]

    @staticmethod
    def flags(op, zero, stay):
        if zero:
            op["zero"] = True
        if stay:
            op["stay"] = True
        return (ZERO if zero else 0) | (STAY if stay else 0)

    # ---- one method for each op

    def alloc(self, n, align=8, id=None, zero=False):
        op = {"op": "alloc", "n": n}
        if align != 8:
            op["align"] = align
        flags = self.flags(op, zero, False)
        p = self.arena.alloc(number(n), number(align), flags)
        if id:
            op["id"] = id
            if p:
                self.ids[id] = p, n
        self.note(op, at=self.at(p))
        return p

    def allocs(self, n, times, align=8):
        op = {"op": "allocs", "n": n, "times": times}
        if align != 8:
            op["align"] = align
        all = [self.arena.alloc(n, align) for _ in range(times)]
        assert all[0] and all[-1]
        self.note(op, at=self.at(all[0]), last=self.at(all[-1]))

    def resize(self, id, n, align=8, zero=False, stay=False):
        p, old = self.ids.get(id, (None, 0))
        op = {"op": "resize", "id": id, "old": old, "n": n}
        if align != 8:
            op["align"] = align
        q = self.arena.resize(p, old, number(n), number(align), self.flags(op, zero, stay))
        if q:
            self.ids[id] = q, n
        self.note(op, at=self.at(q), stays=q is not None and q == p)

    def free(self, id):
        p, n = self.ids.pop(id)
        self.arena.free(p, n)
        self.note({"op": "free", "id": id})

    def mark(self, id):
        self.marks[id] = self.arena.mark()
        self.note({"op": "mark", "id": id})

    def rewind(self, id):
        self.note({"op": "rewind", "id": id}, code=self.arena.rewind(self.marks[id]))

    def rewind_raw(self, id, plus=0, epoch_plus=0, foreign=False):
        """By ops, with a mark that no arena made. A foreign address is of memory that is not the arena's."""
        block, offset, epoch = self.marks[id]
        op = {"op": "rewind_raw", "id": id}
        if foreign:
            op["foreign"], block = True, None
        if plus:
            op["plus"] = plus
        if epoch_plus:
            op["epoch_plus"] = epoch_plus
        self.note(op, code=self.arena.rewind((block, offset + plus, epoch + epoch_plus)))

    def reset(self, policy="recent", keep=0):
        op = {"op": "reset", "policy": policy}
        if policy == "bytes":
            op["keep"] = keep
        code = self.arena.reset(POLICIES.get(policy, NO_POLICY), number(keep))
        self.note(op, code=code)

    def trim(self, keep=0):
        self.arena.trim(number(keep))
        self.note({"op": "trim", "keep": keep})

    def budget(self, n):
        self.note({"op": "budget", "n": n}, code=self.arena.set(BUDGET, number(n)))

    def set_unknown(self):
        """A `what` that no provider supports."""
        self.note({"op": "set_unknown"}, code=self.arena.set(NO_SETTING, 0))

    def cleanup(self, id):
        node = self.arena.cleanup(self.run_one, id)
        if node:
            self.nodes[id] = node
        a = self.arena
        self.note({"op": "cleanup", "id": id}, at=self.at((a.current, a.cursor - 32)) if node else None)

    def run_one(self, id):
        a = self.arena
        assert a.alloc(8) is None and a.rewind(a.mark()) == a.reset() == a.set(BUDGET, 0) == EBUSY
        assert a.reset(NO_POLICY) == EARG and a.set(NO_SETTING, 0) == ENOSYS
        assert a.cleanup(None, None) is None and a.claim(Range()) is None
        a.trim()
        self.ran.append(id)

    def cancel(self, id):
        self.nodes[id].fn = None
        self.note({"op": "cancel", "id": id})

    def claim(self, id, n=0, align=8):
        r = self.ranges.setdefault(id, Range())
        op = {"op": "claim", "id": id, "n": n}
        if align != 8:
            op["align"] = align
        p = self.arena.claim(r, number(n), number(align))
        if p:
            op["from"], op["to"] = [r.block.index, r.cursor], [r.block.index, r.limit]
        self.note(op, at=self.at(p))

    def fill(self, id, n):
        """The holder of a range takes n bytes of it, or -n bytes back."""
        r = self.ranges[id]
        assert self.arena.claimed[0] <= r.cursor + n <= r.limit
        r.cursor += n
        self.note({"op": "fill", "id": id, "n": n})

    def give(self, id):
        r = self.ranges.setdefault(id, Range())
        self.note({"op": "give", "id": id}, code=self.arena.give(r))

    def give_past(self, id, n):
        """A range whose cursor was moved n bytes beyond its limit (or before its start) is not taken back."""
        r = self.ranges[id]
        was, r.cursor = r.cursor, r.cursor + n
        code = self.arena.give(r)
        r.cursor = was
        assert code != OK
        self.note({"op": "give_past", "id": id, "n": n}, code=code)

    def claim_past(self, id, n):
        """A claim that would go on, but that the range's cursor was moved n bytes, to where it may not be."""
        r = self.ranges[id]
        was, r.cursor = r.cursor, r.cursor + n
        p = self.arena.claim(r)
        r.cursor = was
        assert p is None
        self.note({"op": "claim_past", "id": id, "n": n}, at=None)

    def copy(self, id, of):
        """The range `id` becomes a copy of the range `of`: of no use once that is given."""
        was, r = self.ranges[of], self.ranges.setdefault(id, Range())
        r.block, r.cursor, r.limit = was.block, was.cursor, was.limit
        self.note({"op": "copy", "id": id, "of": of})

    def release_early(self):
        """Of an arena with a claimed range: ignored."""
        assert self.arena.holder
        self.arena.release()
        self.note({"op": "release_early"})

    def repeat(self, times, body):
        """The body's answers must be the same each time."""
        outer, first = self.ops, None
        for _ in range(times):
            self.ops = []
            body()
            assert first is None or first == self.ops, "%s: not the same each time\n%r\n%r" % (
                self.name, first, self.ops)
            first = self.ops
        self.ops = outer
        self.ops.append({"op": "repeat", "times": times, "ops": first})

    def end(self):
        """Release: every block goes back."""
        self.head["created"] = self.arena is not None
        self.head["ops"] = self.ops
        if self.arena:
            assert not self.arena.holder, self.name + ": ends while claimed"
            self.arena.release()
            assert self.source.out == 0
            self.head["end"] = {"gave": sorted(self.source.gave), "ran": self.ran}
        return self.head


def forgiving(method):
    @functools.wraps(method)
    def play(self, *args, **more):
        try:
            return method(self, *args, **more)
        except (AssertionError, AttributeError, KeyError, TypeError):
            self.failed = True
    return play


class Rules(Vector):
    """A vector on another placement policy, under which some of its operations may not be possible: `failed`."""
    failed, slack, peak = False, 0, 0
    ended = False   # a range has fewer bytes than its holder takes: the vector ends there

    def note(self, op, **more):
        super().note(op, **more)
        if more.get("at") and op.get("n"):
            self.slack += number(op.get("align", 8)) * op.get("times", 1)
        self.peak = max(self.peak, self.arena.live + self.slack)

    def end(self):
        try:
            return super().end()
        except (AssertionError, AttributeError):
            self.failed = True
            return self.head



def fill(self, id, n):
    r = self.ranges[id]
    self.ended = self.ended or n > r.limit - r.cursor
    Vector.fill(self, id, n)


Rules.fill = forgiving(fill)
for name in ("alloc", "allocs", "resize", "free", "mark", "rewind", "rewind_raw", "reset", "trim", "budget", "set_unknown",
             "cleanup", "cancel", "claim", "give", "give_past", "claim_past", "copy", "release_early", "repeat"):
    setattr(Rules, name, forgiving(getattr(Vector, name)))
