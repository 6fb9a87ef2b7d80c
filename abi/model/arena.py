# SPDX-License-Identifier: MIT OR Apache-2.0
"""One arena, executable: the answers that every provider of placement policy 1 gives. Addresses are (block, offset) pairs.

Every block's base is 0 mod 4096, so up to there the alignment of an address is that of its offset; above,
this model takes bases as aligned, and vectors do not depend on it. The model has no inline path, since it gives the
same answers; the vectors check that it does.
"""

KIB, MIB = 1 << 10, 1 << 20
INITIAL = 4096          # bytes of block 0
STATE = 512             # its first bytes, which hold the arena itself
CAP = MIB               # doubling stops here
MERGE = 64 * MIB        # the largest block that a reset requests
SPARE = 4 * MIB         # bytes of spares an arena keeps by itself
WINDOWS = WINDOW = 8    # a reset looks back over 8 windows of 8 rounds
NODE = 32               # bytes of a cleanup node, where a word is 8
OUTSIDE = True          # allocations while a range is claimed go outside it; False: they are refused
SHRINKS = True          # resize and free give dedicated blocks back
EXACT = False           # a regular block ends behind its first allocation
MAXREQ = (1 << 62) - 1  # PTRDIFF_MAX / 2
NONE = (1 << 64) - 1    # no budget

ZERO, STAY = 1, 2
RECENT, ALL, BYTES = 0, 1, 2
BUDGET = 1
OK, ENOMEM, EMARK, EBUSY, EARG, ENOSYS = 0, -1, -2, -3, -4, -5


def up(n, to):
    return (n + to - 1) // to * to


def r8(n):
    return up(n, 8)


def pow2(n):
    return 1 << max(0, n - 1).bit_length()


def pad(offset, align):
    return -offset % align


def is_pow2(n):
    return n > 0 and n & (n - 1) == 0


def usable(size):
    return size - (512 if size > 65536 else 64)


def least(need):
    """The smallest regular block that `need` bytes fit into."""
    size = up(need + 64, 4096)
    return size if size <= 65536 else up(need + 512, 4096)


def merged(h):
    """W: the one block that would have served h bytes."""
    return INITIAL if h <= INITIAL else pow2(h) if h <= CAP else min(MERGE, up(h, CAP))


class Source:
    """Grants exactly the requested bytes, except at the acquisitions named in fail_at (the initial block is number 1)."""

    def __init__(self, fail_at=()):
        self.fail_at, self.calls, self.refusals, self.out = frozenset(fail_at), 0, 0, 0
        self.took, self.gave = [], []   # logs, which the script reads and empties

    def take(self, size):
        self.calls += 1
        if self.calls in self.fail_at:
            self.refusals += 1
            return False
        self.took.append(size)
        self.out += size
        return True

    def give(self, size):
        self.gave.append(size)
        self.out -= size


class Block:
    def __init__(self, size, index, created, regular):
        self.size, self.index, self.created, self.regular = size, index, created, regular
        self.start, self.end = 64, size
        if index == 0:
            self.start = STATE
        elif regular and size > 65536:      # staggered, so that equal blocks do not share cache sets
            self.start = 64 * (1 + index % 8)
            self.end = size - 512 + self.start
        self.used_end = self.start          # end of the bytes in use, unless the block is current
        self.charge = 0                     # dedicated blocks: the bytes that it adds to live
        self.payload = None                 # dedicated blocks: offset of the only allocation, if only one

    def __repr__(self):
        return "<%d:%s %d>" % (self.index, "regular" if self.regular else "dedicated", self.size)


class Range:
    """A claimed range, as its holder sees it: offsets into block, which is None while nothing is claimed."""

    def __init__(self):
        self.block, self.cursor, self.limit = None, 0, 0


class Cleanup:
    def __init__(self, fn, arg, created):
        self.fn, self.arg, self.created = fn, arg, created


class OutOfMemory(Exception):
    """The source refused the initial block, or the reserve is larger than a request may be."""


class Arena:
    def __init__(self, source, budget=NONE, reserve=0):
        if reserve > MAXREQ or not source.take(INITIAL):
            raise OutOfMemory
        self.source, self.budget = source, budget
        self.epoch = 2                  # bit 0, instrumented, is not modelled
        initial = Block(INITIAL, 0, self.epoch, True)
        self.blocks = [initial]         # oldest first
        self.current = initial          # the newest regular block
        self.cursor = initial.start
        self.base_live = 0              # live bytes outside the current block
        self.spares = []                # sizes, head of the list first
        self.keep = 0
        self.first = 0                  # size of the next regular block while the initial block is idle
        self.round_peak = 0
        self.windows = [0] * WINDOWS    # the peak of each window of rounds, newest last
        self.resets = 0
        self.refused = False            # the source refused the last request
        self.round_refused = False      # the source refused a request of this round
        self.keeps_blocks = False       # it refused, and has granted nothing in a later round
        self.emptied = 0                # the epoch at which trim took the current block of the empty arena
        self.cleanups = []
        self.busy = False
        self.holder = None              # the range that holds the claim
        self.claimed = (0, 0)           # where its cursor may be
        self.range_grows = False        # the claimed range goes on: the current block holds it
        self.outside = None             # the block that serves allocations outside the claimed range
        w = merged(min(reserve, MERGE) + 512)
        if w > INITIAL:
            self.idle(w)

    # ---- the state that most operations read

    @property
    def live(self):
        return self.base_live + self.cursor - self.floor

    @property
    def floor(self):
        """Where the current block begins. That of an idle initial block is its end: no byte of it is in use."""
        return self.current.end if self.idles else self.current.start

    @property
    def idles(self):
        return self.current.index == 0 and self.first != 0

    def idle(self, first):
        self.current, self.first = self.blocks[0], first
        self.cursor = self.current.end

    def restart(self):
        """Initial is current and not idle; older marks mean its first byte."""
        self.current, self.first = self.blocks[0], 0
        self.cursor = self.current.used_end = self.current.start
        self.epoch += 2
        self.emptied = self.epoch

    def over_budget(self, charge):
        claimed = self.claimed[1] - self.cursor if self.holder else 0     # all of a claimed range counts
        return charge > 0 and self.live + claimed + charge > self.budget

    def note_peak(self, live):
        self.round_peak = max(self.round_peak, live)

    # ---- alloc

    def alloc(self, n, align=8, flags=0):
        if not is_pow2(align) or n > MAXREQ or align > MAXREQ:
            return None
        align = max(align, 8)
        if n == 0 and pad(self.cursor, align) == 0:
            return self.current, self.cursor    # the inline path returns this in every state
        if self.busy:
            return None
        return self.serve(r8(n), align)

    def serve(self, r, align):
        return self.place_outside(r, align) if self.holder else self.place(r, align)

    def place(self, r, align):
        """The placement policy: fits, else first, next or a dedicated block."""
        b = self.current
        if pad(self.cursor, align) + r <= b.end - self.cursor:
            return self.bump(r, align)
        return self.place_in_new_block(r, align)

    def place_in_new_block(self, r, align):
        wanted = self.live + pad(self.cursor, align) + r
        need = r + max(0, align - 64)
        size = self.new_size(need)
        p = self.regular(r, align, size) if size else self.dedicated(r, align, need)
        if p is None and self.refused:
            spare = max(self.spares, default=0)
            if spare and need <= usable(spare):
                p = self.regular(r, align, spare)
            elif self.return_idle():
                return self.place(r, align)
            while p is None and self.refused and size > least(need):
                size = max(least(need), up(size // 2, 4096))
                p = self.regular(r, align, size)
        if p:
            self.note_peak(max(self.live, wanted))
        return p

    def new_size(self, need):
        """0: a dedicated block."""
        nxt = self.first if self.idles else min(CAP, 2 * self.current.size)
        if self.idles and need + 512 <= nxt:
            return nxt
        return max(nxt, min(CAP, pow2(4 * need))) if need <= CAP // 4 else 0

    def return_idle(self):
        """Returns the kept blocks that are not in use; whether there was one."""
        found = bool(self.spares)
        self.return_spares(0)
        if self.holder or self.range_grows:
            return found
        if self.current_is_unused():
            self.return_current()
            return True
        if self.idles:
            self.restart()
            return True
        return found

    def regular(self, r, align, size):
        b = self.current
        new = Block(size, self.blocks[-1].index + 1, self.epoch + 2, True)
        # alignments above a page: what the base decides is known only when it is there
        self.refused = False
        if self.over_budget(pad(new.start, min(align, INITIAL)) + r) or not self.acquire(size):
            return None
        if self.over_budget(pad(new.start, align) + r):
            self.epoch += 2
            self.drop(new)
            return None
        self.push(new)
        b.used_end = self.cursor
        self.base_live += self.cursor - self.floor_of(b)
        self.current, self.cursor = new, new.start
        if EXACT:
            new.end = new.start + pad(new.start, align) + r
        return self.bump(r, align)

    def bump(self, r, align):
        gap = pad(self.cursor, align)
        if self.over_budget(gap + r):
            return None
        p = self.current, self.cursor + gap
        self.cursor += gap + r
        return p

    def dedicated(self, r, align, need):
        b = Block(up(need + 64, 4096), self.blocks[-1].index + 1, self.epoch + 2, False)
        self.refused = False
        if self.over_budget(need) or not self.acquire(b.size):
            return None
        self.push(b)
        b.payload = b.start + pad(b.start, align)
        b.used_end = b.payload + r
        b.charge = need
        self.base_live += need
        return b, b.payload

    def place_outside(self, r, align):
        """An allocation while a range is claimed: outside the range, in a block that serves this claim."""
        b = self.outside
        if not OUTSIDE:
            return None
        if b:
            gap = pad(b.used_end, align)
            if gap + r <= b.end - b.used_end:
                if self.over_budget(gap + r):
                    return None
                p = b, b.used_end + gap
                b.used_end += gap + r
                b.charge += gap + r
                self.base_live += gap + r
                return p
        need = r + max(0, align - 64)
        p = self.dedicated(r, align, need)
        if p is None and self.refused and self.return_idle():
            p = self.dedicated(r, align, need)
        if p:
            self.note_peak(self.live)
            self.outside = p[0]
            self.outside.payload = None     # others may follow: free and resize never return it
        return p

    def floor_of(self, b):
        return b.end if b.index == 0 and self.first else b.start

    def push(self, b):
        self.epoch = b.created
        self.blocks.append(b)

    def acquire(self, size):
        if size in self.spares:
            self.spares.remove(size)    # the first with exactly this size
            return True
        self.refused = not self.source.take(size)
        if self.refused:
            self.round_refused = self.keeps_blocks = True
        elif not self.round_refused:
            self.keeps_blocks = False
        return not self.refused

    def drop(self, b):
        """A block that is not needed now is a spare. Of more than the bound allows the newest stay."""
        bound = max(SPARE, self.keep, self.first, 2 * self.round_peak)
        self.spares.insert(0, b.size)
        while sum(self.spares) > bound:
            self.source.give(self.spares.pop())

    # ---- resize and free

    def is_last(self, p, size):
        b, offset = p
        newest = b is self.current and offset >= self.floor and offset + r8(size) == self.cursor
        return newest and not self.holder

    def is_whole(self, p):
        """p is the only allocation of the newest block, and that is a dedicated one."""
        b, offset = p
        return SHRINKS and b is self.blocks[-1] and not b.regular and offset == b.payload

    def resize(self, p, old, new, align=8, flags=0):
        if not is_pow2(align) or max(old, new, align) > MAXREQ:
            return None
        if p is None:
            return self.alloc(new, align, flags) if old == 0 else None
        if self.busy:
            return None
        b, offset = p
        if pad(offset, align) == 0:
            if self.is_last(p, old):
                if r8(new) <= r8(old) or r8(new) <= b.end - offset and not self.over_budget(r8(new) - r8(old)):
                    self.cursor = offset + r8(new)
                    return p
            elif new <= old or self.is_whole(p) and offset + new <= b.size:
                return p
        if flags & STAY:
            return None
        whole = self.is_whole(p)
        q = self.serve(r8(new), max(align, 8))
        if q and whole:
            self.remove(b)
        return q

    def free(self, p, size):
        if p is None or self.holder or self.busy:
            return
        if self.is_last(p, size):
            self.cursor = p[1]
        elif self.is_whole(p):
            self.remove(p[0])

    def remove(self, b):
        self.blocks.remove(b)
        self.base_live -= b.charge
        self.drop(b)

    # ---- marks

    def mark(self):
        return self.current, self.cursor, self.epoch

    def rewind(self, mark):
        """mark = (block, offset, epoch); a block that is not in the list stands for a foreign address."""
        at, c, e = mark
        if self.holder or self.busy:
            return EBUSY
        if c % 8 or e % 2 or e > self.epoch:
            return EMARK
        b = next((x for x in reversed(self.blocks) if x.regular and x.created <= e), None)
        if b is self.blocks[0] and e < self.emptied:    # the arena was empty then: the initial block's first byte
            at, c = b, b.start
        if b is None or b is not at or not self.floor_of(b) <= c <= b.end:
            return EMARK
        if e != self.epoch:
            self.note_peak(self.live)
        self.run_cleanups(e)
        if b is not self.current:
            self.epoch += 2
            self.current, self.cursor = b, b.used_end
        self.base_live = sum(self.used(x) for x in self.blocks if x is not b and x.created <= e)
        while self.blocks[-1].created > e:
            self.drop(self.blocks.pop())
        self.cursor = min(c, self.cursor)
        return OK

    def used(self, b):
        return b.used_end - self.floor_of(b) if b.regular else b.charge

    def run_cleanups(self, e):
        self.busy = True
        while self.cleanups and self.cleanups[-1].created > e:
            node = self.cleanups.pop()
            if node.fn:
                node.fn(node.arg)
        self.busy = False

    # ---- reset, trim, release

    def reset(self, policy=RECENT, keep=0):
        if policy not in (RECENT, ALL, BYTES):
            return EARG
        if self.holder or self.busy:
            return EBUSY
        self.note_peak(self.live)
        self.run_cleanups(0)
        if self.resets % WINDOW == 0:
            self.windows = self.windows[1:] + [0]
        self.windows[-1] = max(self.windows[-1], self.round_peak)
        self.resets += 1
        self.round_peak = self.base_live = 0
        initial, others = self.blocks[0], self.blocks[1:]
        total = sum(b.size for b in others)
        # regular blocks are as good as one large block, and their memory was touched already
        alike = all(b.regular for b in others) and total > CAP
        h = max(self.windows) + 512
        w, top = merged(h), 4 * merged(h)
        as_is, bound = h > MERGE or alike and h > CAP, up(h + h // 2, CAP) + CAP
        if policy == ALL:
            w, top = max(w, min(MERGE, total)), NONE
            as_is, bound = h > MERGE or total > MERGE or alike, total + sum(self.spares)
        elif policy == BYTES:
            w = min(w, max(INITIAL, up(keep, 4096)))
            top = min(4 * w, max(w, keep))
            as_is, bound = as_is and keep > (MERGE if h > MERGE else CAP), keep
        self.epoch += 2
        self.blocks, self.keep, self.first = [initial], 0, 0
        initial.used_end, initial.created = initial.start, self.epoch
        self.current, self.cursor = initial, initial.start
        self.round_refused = False
        single = len(others) == 1 and others[0].regular and h <= MERGE
        sizes, kept = [b.size for b in reversed(others)] + self.spares, []
        if w == INITIAL:
            pass
        elif single and w <= others[0].size <= top and not self.keeps_blocks:
            b = Block(others[0].size, 1, self.epoch, True)
            self.blocks.append(b)
            self.current, self.cursor = b, b.start
            sizes.remove(b.size)
        elif as_is or self.keeps_blocks:    # blocks are three quarters full, so half more than the round
            first = CAP
            for i, size in enumerate(sizes):
                if sum(kept) + size <= bound:
                    kept.append(size)
                    if i < len(others) and others[-1 - i].regular:
                        first = max(first, size)
            self.keep = bound
            if not self.keeps_blocks:   # else the same requests find the same blocks again
                self.idle(first)
        else:                   # a block that was rewound before the reset is as good as one that was not
            kept = [] if others else [size for size in self.spares if w <= size <= top][:1]
            self.idle(kept[0] if kept else w)
        for size in kept:
            sizes.remove(size)
        for size in sizes:
            self.source.give(size)
        self.spares = kept
        return OK

    def trim(self, keep=0):
        if self.holder or self.busy:
            return
        self.return_spares(keep)
        if self.current_is_unused() and self.current.size > keep:
            self.return_current()
        self.keep = min(self.keep, keep)

    def return_spares(self, keep):
        while sum(self.spares) > keep:
            self.source.give(self.spares.pop(0))

    def current_is_unused(self):
        """The current block is the only one beside Initial, and nothing is in it."""
        return len(self.blocks) == 2 and self.current is self.blocks[1] and self.live == 0

    def return_current(self):
        self.source.give(self.blocks.pop().size)
        self.restart()

    def release(self):
        if self.holder or self.busy:
            return
        self.run_cleanups(0)
        for size in [b.size for b in reversed(self.blocks)] + self.spares:
            self.source.give(size)

    # ---- cleanups, claims, budget

    def cleanup(self, fn, arg):
        if self.holder or self.busy:
            return None
        if not self.place(NODE, 8):
            return None
        self.epoch += 2
        self.cleanups.append(Cleanup(fn, arg, self.epoch))
        return self.cleanups[-1]

    def claim(self, rng, size=0, align=8):
        if self.busy or self.holder not in (None, rng) or rng.block and not self.holder:
            return None
        if self.holder and not self.claimed[0] <= rng.cursor <= self.claimed[1]:
            return None
        if size and (not is_pow2(align) or size > MAXREQ or align > MAXREQ):
            return None
        was = self.cursor, self.holder
        if self.holder:
            self.cursor = r8(rng.cursor)
        self.holder, self.range_grows = None, self.holder is not None
        p = self.place(r8(size), max(align, 8)) if size else (self.current, self.cursor)
        grew, self.range_grows = self.range_grows, False
        if p is None:
            if grew:
                self.cursor, self.holder = was
            return None
        remaining = min(self.current.end - self.cursor, max(0, self.budget - self.live) // 8 * 8)
        rng.block, rng.cursor, rng.limit = self.current, self.cursor, self.cursor + remaining
        # bytes that end where the range begins are the holder's to shorten: for text, byte by byte
        near = size and p[0] is self.current and p[1] + r8(size) == self.cursor
        self.holder, self.claimed = rng, (p[1] if near else rng.cursor, rng.limit)
        return p

    def give(self, rng):
        if self.holder is not rng or not self.claimed[0] <= rng.cursor <= self.claimed[1]:
            return EARG
        self.cursor = r8(rng.cursor)
        self.holder = self.outside = None
        rng.block, rng.cursor, rng.limit = None, 0, 0
        return OK

    def set(self, what, value):
        if what != BUDGET:
            return ENOSYS
        if self.holder or self.busy:
            return EBUSY
        self.budget = value
        self.epoch += 2
        return OK
