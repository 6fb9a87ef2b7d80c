"""A user of the Toft arena ABI in Python, written from abi/SPEC.md: allocation by moving the cursor of a head that any
provider made. U4, M14 and so on are the rules of that document.

Addresses are integers, sizes are bytes. Allocations are not freed individually: they live until the arena is rewound
past them, reset or released, and references to their memory (ctypes objects, addresses) must not be used after that
(U11). An arena belongs to one thread at a time (U16).

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import collections
import contextlib
import ctypes
import itertools
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_size_t, c_uint32, c_uint64, c_void_p

SIZE_MAX = c_size_t(-1).value
NO_BUDGET = 2**64 - 1
VERSION = 1
OK, ENOMEM, EMARK, EBUSY, EARG, ENOSYS, ECORRUPT = 0, -1, -2, -3, -4, -5, -6
ZERO, STAY = 1, 2
KEEP_RECENT, KEEP_ALL, KEEP_BYTES = 0, 1, 2
SET_BUDGET = 1

# The structures of section 2. Words for user code's arithmetic are integers, as in section 8 for Go and Julia.

Mark = collections.namedtuple("Mark", "cursor epoch")


class Range(ctypes.Structure):
    _fields_ = [("cursor", c_size_t), ("limit", c_size_t), ("claim", c_size_t)]


class Node(ctypes.Structure):
    """toft_cleanup. Both members are addresses; fn None: nothing to run."""

    _fields_ = [("fn", c_void_p), ("arg", c_void_p)]


class Stats(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in
                ("live", "allocated", "peak", "budget", "reserved", "wasted", "blocks", "source_calls")]


class Ops(ctypes.Structure):
    _fields_ = [
        ("size", c_uint32),
        ("version", c_uint32),
        ("alloc", CFUNCTYPE(c_void_p, c_void_p, c_size_t, c_size_t, c_uint32, c_size_t)),
        ("resize", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, c_size_t, c_size_t, c_uint32, c_size_t)),
        ("free", CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)),
        ("rewind", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)),
        ("reset", CFUNCTYPE(c_int, c_void_p, c_uint32, c_size_t)),
        ("trim", CFUNCTYPE(None, c_void_p, c_size_t)),
        ("cleanup", CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p)),
        ("claim", CFUNCTYPE(c_void_p, c_void_p, POINTER(Range), c_size_t, c_size_t)),
        ("give", CFUNCTYPE(c_int, c_void_p, POINTER(Range))),
        ("contains", CFUNCTYPE(c_int, c_void_p, c_void_p)),
        ("stats", CFUNCTYPE(c_size_t, c_void_p, POINTER(Stats), c_size_t)),
        ("set", CFUNCTYPE(c_int, c_void_p, c_uint32, c_uint64, c_char_p, c_size_t)),
        ("release", CFUNCTYPE(None, c_void_p)),
    ]


class Head(ctypes.Structure):
    _fields_ = [("cursor", c_size_t), ("ops", POINTER(Ops)), ("limit", c_size_t), ("epoch", c_size_t)]


class Unsupported(Exception):
    """The arena's table is not one that this module may use."""


class ArenaError(Exception):
    """An operation was refused and changed nothing; after ECORRUPT it was done, and damage was found. `code` is the
    ABI's."""

    NAMES = {ENOMEM: "no memory", EMARK: "no mark of this arena that is still good", EARG: "an argument without meaning",
             EBUSY: "a range is claimed or a cleanup is running", ENOSYS: "not supported by this provider",
             ECORRUPT: "done, but bytes were written outside an allocation"}

    def __init__(self, code):
        super().__init__(self.NAMES.get(code, "failed with code %d" % code))
        self.code = code


def round_up(n):
    return (n + 7) & ~7


def word(n):
    """n as a C argument. ctypes would truncate a larger number, and a huge request would become a small one (U15)."""
    if n < 0:
        raise ValueError("negative: %d" % n)
    return min(n, SIZE_MAX)


def power_of_two(align):
    if not 0 < align <= SIZE_MAX or align & (align - 1):
        raise ValueError("no power of two, or not one of a machine word: %d" % align)


class Arena:
    """An arena of any provider, at `address`. It is used, not copied (U6); its owner calls release."""

    def __init__(self, address):
        if not address:
            raise ValueError("no arena: NULL")
        head = Head.from_address(address)
        ops = head.ops.contents
        if ops.version != VERSION:  # U1
            raise Unsupported("the arena's table has version %d, not %d" % (ops.version, VERSION))
        if ops.size < ctypes.sizeof(Ops):  # section 9: nothing beyond it may be read
            raise Unsupported("the arena's table has %d bytes, not %d" % (ops.size, ctypes.sizeof(Ops)))
        self._live_head, self.address = head, address
        self._running, self._raised = 0, []  # cleanups; their exceptions

    @property
    def head(self):
        if self._live_head is None:
            raise ValueError("the arena is released")
        return self._live_head

    @property
    def ops(self):
        return self.head.ops.contents  # read each time (U2): the provider may have swapped it

    def _done(self, code):
        """Raises the first exception of a cleanup, if any; else that of the code."""
        if self._raised and not self._running:
            raised, self._raised = self._raised, []
            raise raised[0]
        if code < 0:
            raise ArenaError(code)

    # The inline paths, section 3.

    def alloc(self, size, align=8, zero=False):
        """The address of size bytes, zeroed if requested. MemoryError: no memory, no budget, or the arena is closed;
        nothing changed."""
        power_of_two(align)
        size, head = word(size), self.head
        p = head.cursor
        pad = -p % align if align > 8 else 0
        if head.limit - p < pad + size:  # the sum of Python's integers does not overflow
            p = self.ops.alloc(self.address, size, align, ZERO if zero else 0, 0)
            if p is None:
                raise MemoryError("arena: %d bytes, aligned to %d" % (size, align))
            return p
        head.cursor = p + pad + round_up(size)
        if zero:
            ctypes.memset(p + pad, 0, size)
        return p + pad

    def mark(self):
        head = self.head
        return Mark(head.cursor, head.epoch & ~1)

    def rewind(self, mark):
        """Frees the allocations since the mark, and runs the cleanups registered since."""
        head = self.head
        if mark.epoch != head.epoch or mark.cursor > head.cursor:
            self._done(self.ops.rewind(self.address, mark.cursor, mark.epoch))
        else:
            head.cursor = mark.cursor

    def resize(self, p, old_size, new_size, align=8, zero=False, stay=False):
        """The allocation's address, which may be new; old_size is the last requested size (U8). MemoryError: it is
        unchanged. stay: rather that than another address."""
        power_of_two(align)
        old_size, new_size = word(old_size), word(new_size)
        head = self.head
        if (p and not head.epoch & 1 and head.cursor - p == round_up(old_size) and head.limit - p >= new_size
                and p % align == 0):
            head.cursor = p + round_up(new_size)
            if zero and new_size > old_size:
                ctypes.memset(p + old_size, 0, new_size - old_size)
            return p
        q = self.ops.resize(self.address, p, old_size, new_size, align, (ZERO if zero else 0) | (STAY if stay else 0), 0)
        if q is None:
            raise MemoryError("arena: %d bytes instead of %d" % (new_size, old_size))
        return q

    def free(self, p, size):
        """Frees p if it is the newest allocation; else does nothing. size is the last requested size (U8)."""
        size, head = word(size), self.head
        if p and not head.epoch & 1 and head.cursor - p == round_up(size):
            head.cursor = p
        elif p and self.ops.free:
            self.ops.free(self.address, p, size)

    # Operations that need a call.

    def reset(self, policy=KEEP_RECENT, keep=0):
        self._done(self.ops.reset(self.address, policy, word(keep)))

    def trim(self, keep=0):
        self.ops.trim(self.address, word(keep))

    def contains(self, p):
        return self.ops.contains(self.address, p) == 1

    def stats(self):
        stats = Stats()  # members that this provider does not fill stay 0
        self.ops.stats(self.address, stats, ctypes.sizeof(stats))
        return stats

    def set_budget(self, size):
        """Limits live bytes from now on; None: no limit."""
        if size is not None and not 0 <= size <= NO_BUDGET:
            raise ValueError("no budget: %d" % size)
        self._done(self.ops.set(self.address, SET_BUDGET, NO_BUDGET if size is None else size, None, 0))

    def cleanup(self, function):
        """Calls function() when the arena is rewound past this point, reset or released. Its exceptions are raised by
        that call, since none may pass through the provider (U13). MemoryError: no memory, or the arena is closed."""
        key = next(_keys)
        node = self.ops.cleanup(self.address, _run_address, key)
        if node is None:
            raise MemoryError("arena: no memory for a cleanup")
        _pending[key] = self, function
        return Cleanup(node, key)

    def claim(self):
        return Claim(self)

    def release(self):
        """Runs the cleanups and returns all memory, the head too. A provider ignores this in a closed arena without an
        error; but a rewind is then EBUSY for every mark, and (0, 0) is never a mark (M11), so that changes nothing."""
        if self.ops.rewind(self.address, None, 0) == EBUSY:
            raise ArenaError(EBUSY)
        self.ops.release(self.address)
        self._live_head = None
        self._done(OK)

    # What Python makes of it.

    def copy(self, data):
        p = self.alloc(len(data), 1)
        ctypes.memmove(p, bytes(data), len(data))
        return p

    def new(self, ctype):
        """A ctypes object in the arena, zeroed. It refers to the arena's memory: invalid after that is freed."""
        return ctype.from_address(self.alloc(ctypes.sizeof(ctype), ctypes.alignment(ctype), zero=True))

    @contextlib.contextmanager
    def scope(self):
        mark = self.mark()
        try:
            yield self
        finally:
            self.rewind(mark)


class Claim:
    """The rest of the current block for one writer, byte by byte: for contiguous text. A context manager, because an
    arena with a claimed range cannot be released (section 4)."""

    def __init__(self, arena):
        self.arena, self.range = arena, Range()  # zeroed before the first claim (U12)
        if arena.ops.claim(arena.address, self.range, 0, 1) is None:
            raise MemoryError("arena: nothing to claim")

    def append(self, data):
        """The address of a copy of data, contiguous, aligned to 1. It must not be resized or freed, which would include
        its neighbours. MemoryError: no memory; the range is unchanged."""
        r, size = self.range, len(data)
        p = r.cursor
        if r.limit - p < size:
            p = self.arena.ops.claim(self.arena.address, r, size, 1)
            if p is None:
                raise MemoryError("arena: %d bytes" % size)
            if r.cursor == p + round_up(size):
                r.cursor = p + size  # the rest of its last 8 bytes belongs to the range, too
        else:
            r.cursor = p + size
        ctypes.memmove(p, bytes(data), size)
        return p

    def give(self):
        self.arena._done(self.arena.ops.give(self.arena.address, self.range))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.give()


class Cleanup:
    """A registered function."""

    def __init__(self, node, key):
        self.node, self._key = node, key

    def cancel(self):
        """Cancels the function. After the function ran the node is freed, and this does nothing (U14)."""
        if _pending.pop(self._key, None):
            Node.from_address(self.node).fn = None


# One C function for all cleanups. Its argument is a key, not an object's address: Python's objects stay here until
# their call.
_pending, _keys = {}, itertools.count(1)


@CFUNCTYPE(None, c_void_p)
def _run(key):
    arena, function = _pending.pop(key)
    arena._running += 1
    try:
        function()
    except BaseException as wrong:  # also KeyboardInterrupt: it must not pass through the provider
        arena._raised.append(wrong)
    finally:
        arena._running -= 1


_run_address = ctypes.cast(_run, c_void_p).value
