#!/usr/bin/env python3
"""The tests: test_arena.py FOLDER, where `run --test` built the providers. Each runs on C's arenas and on Rust's.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import collections
import ctypes
import os
import pathlib
import sys
import tempfile
import unittest

import arena as abi
import providers
import tree

BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")


class Spy:
    """The arena's table, copied, with a count of the calls: which replaces it, as a provider may do (M20)."""

    def __init__(self, arena, **replaced):
        self.calls, self.kept = collections.Counter(), []
        self.ops = abi.Ops.from_buffer_copy(arena.head.ops.contents)
        for name, kind in abi.Ops._fields_[2:]:
            original = getattr(arena.head.ops.contents, name)
            setattr(self.ops, name, replaced[name] if name in replaced else self.counting(name, kind, original))
        arena.head.ops = ctypes.pointer(self.ops)

    def counting(self, name, kind, original):
        def call(*arguments):
            self.calls[name] += 1
            return original(*arguments)
        self.kept.append(kind(call))
        return self.kept[-1]


class OnEachProvider:
    def setUp(self):
        self.source = providers.Source()
        self.arena = abi.Arena(self.provider().create_with(self.source))

    def tearDown(self):
        if self.arena._live_head:
            self.arena.release()
        self.assertEqual((self.source.held, self.source.wrong), ({}, []))  # everything was returned

    def block_of(self, p):
        return next(base for base, (size, _) in self.source.held.items() if base + 64 <= p <= base + size)

    # Tables that must be refused.

    def refused(self, **changes):
        ops = abi.Ops.from_buffer_copy(self.arena.head.ops.contents)
        for name, value in changes.items():
            setattr(ops, name, value)
        head = abi.Head(self.arena.head.cursor, ctypes.pointer(ops), self.arena.head.limit, self.arena.head.epoch)
        with self.assertRaises(abi.Unsupported) as raised:
            abi.Arena(ctypes.addressof(head))
        return str(raised.exception)

    def test_refuses_other_tables(self):
        self.assertIn("version 2", self.refused(version=2))
        self.assertIn("version 0", self.refused(version=0))
        short = ctypes.sizeof(abi.Ops) - 1
        self.assertIn("%d bytes" % short, self.refused(size=short))
        with self.assertRaises(ValueError):
            abi.Arena(None)

    def test_takes_a_table_that_has_grown(self):
        ops = abi.Ops.from_buffer_copy(self.arena.head.ops.contents)
        ops.size += 80
        head = abi.Head(self.arena.head.cursor, ctypes.pointer(ops), self.arena.head.limit, self.arena.head.epoch)
        self.assertEqual(abi.Arena(ctypes.addressof(head)).mark(), self.arena.mark())

    # Allocation.

    def test_allocates_inline_until_there_is_no_room(self):
        spy = Spy(self.arena)
        room, before = self.arena.head.limit - self.arena.head.cursor, self.arena.head.cursor
        for n in range(room // 8):
            self.assertEqual(self.arena.alloc(8 - n % 8), before + 8 * n)
        self.assertEqual(self.arena.alloc(0), self.arena.head.cursor)
        self.assertEqual(spy.calls, {})
        self.assertTrue(self.arena.contains(self.arena.alloc(1)))
        self.assertEqual(spy.calls["alloc"], 1)
        self.assertEqual(self.arena.stats().live, room + 8)

    def test_aligns_on_both_paths(self):
        spy = Spy(self.arena)
        ends = []
        for n in range(200):
            align, size = 1 << n % 13, n * 7 % 300
            p = self.arena.alloc(size, align)
            self.assertEqual((p % align, p % 8), (0, 0))
            ctypes.memset(p, n, size)
            ends.append((p, size, n))
        for p, size, n in ends:
            self.assertEqual(ctypes.string_at(p, size), bytes([n]) * size)
        self.assertTrue(0 < spy.calls["alloc"] < 200)

    def test_zeroes_on_both_paths(self):
        with self.arena.scope():
            ctypes.memset(self.arena.alloc(3000), 0xFF, 3000)
        for size in (3000, 100_000):
            p = self.arena.alloc(size, zero=True)
            self.assertEqual(ctypes.string_at(p, size), bytes(size))
            ctypes.memset(p, 0xFF, size)
            self.assertEqual(ctypes.string_at(self.arena.resize(p, size, size + 500, zero=True) + size, 500), bytes(500))

    def test_refuses_absurd_sizes(self):
        before = self.arena.mark()
        for size in (abi.SIZE_MAX, abi.SIZE_MAX - 6, abi.SIZE_MAX // 2, abi.SIZE_MAX + 9, 2**200):
            for align in (8, 64, 2**40, (abi.SIZE_MAX + 1) // 2):
                with self.assertRaises(MemoryError):
                    self.arena.alloc(size, align)
                with self.assertRaises(MemoryError):
                    self.arena.resize(None, 0, size, align)
        for size, align in ((-1, 8), (8, 0), (8, -8), (8, 3), (8, 24), (8, abi.SIZE_MAX + 1)):
            with self.assertRaises(ValueError):
                self.arena.alloc(size, align)
        for align in (0, 3, 12, abi.SIZE_MAX):
            self.assertIsNone(self.arena.ops.alloc(self.arena.address, 8, align, 0, 0))
        self.assertEqual((self.arena.mark(), self.arena.stats().live), (before, 0))

    # Resize and free.

    def test_resizes(self):
        spy = Spy(self.arena)
        p = self.arena.alloc(10)
        ctypes.memmove(p, b"0123456789", 10)
        self.assertEqual(self.arena.resize(p, 10, 1000), p)
        self.assertEqual(self.arena.resize(p, 1000, 10), p)
        self.assertEqual(self.arena.head.cursor, p + 16)
        self.assertEqual(spy.calls, {})
        q = self.arena.alloc(1)
        self.assertEqual(self.arena.resize(p, 10, 4), p)  # an older one shrinks in place
        with self.assertRaises(MemoryError):
            self.arena.resize(p, 4, 100, stay=True)
        moved = self.arena.resize(p, 10, 100)
        self.assertGreater(moved, q)
        self.assertEqual(ctypes.string_at(moved, 10), b"0123456789")
        aligned = self.arena.resize(moved, 100, 100, 512)
        self.assertEqual((aligned % 512, ctypes.string_at(aligned, 10)), (0, b"0123456789"))
        self.assertEqual(spy.calls["resize"], 4)
        with self.assertRaises(MemoryError):
            self.arena.resize(None, 5, 10)

    def test_frees_the_newest(self):
        p, q = self.arena.alloc(5), self.arena.alloc(6)
        self.arena.free(p, 5)
        self.assertEqual(self.arena.stats().live, 16)
        self.arena.free(q, 6)
        self.arena.free(p, 5)
        self.arena.free(None, 0)
        self.assertEqual(self.arena.stats().live, 0)

    def test_needs_no_free_in_the_table(self):
        Spy(self.arena, free=dict(abi.Ops._fields_)["free"]())
        p, q = self.arena.alloc(5), self.arena.alloc(6)
        self.arena.free(p, 5)
        self.assertEqual(self.arena.stats().live, 16)
        self.arena.free(q, 6)
        self.assertEqual(self.arena.stats().live, 8)

    # Marks and cleanups.

    def test_rewinds_inline_and_over_blocks(self):
        spy = Spy(self.arena)
        kept = self.arena.copy(b"kept")
        mark = self.arena.mark()
        for size in (100, 100_000, 3_000_000):
            for _ in range(3):
                self.arena.alloc(size)
                self.arena.rewind(mark)
                self.assertEqual((self.arena.head.cursor, self.arena.stats().live), (mark.cursor, 8))
            self.assertEqual(spy.calls["rewind"], {100: 0, 100_000: 3, 3_000_000: 6}[size])  # one for each new block
        self.assertEqual(ctypes.string_at(kept, 4), b"kept")

    def test_refuses_marks_that_are_not_good(self):
        mark = self.arena.mark()
        self.arena.reset()
        other = providers.Source()
        another = abi.Arena(self.provider().create_with(other))
        another.alloc(8)
        for bad in (mark, abi.Mark(0, 0), another.mark(), abi.Mark(mark.cursor + 1, mark.epoch)):
            if bad.epoch == self.arena.head.epoch:
                bad = abi.Mark(bad.cursor, bad.epoch + 2)  # the inline path detects no foreign mark: U10
            with self.assertRaises(abi.ArenaError) as raised:
                self.arena.rewind(bad)
            self.assertEqual(raised.exception.code, abi.EMARK)
        another.release()
        self.assertEqual(other.held, {})

    def test_runs_cleanups_once_and_newest_first(self):
        ran = []
        self.arena.cleanup(lambda: ran.append("kept"))
        with self.arena.scope():
            for n in range(3):
                self.arena.cleanup(lambda n=n: ran.append(n))
            never = self.arena.cleanup(lambda: ran.append("never"))
            never.cancel()
            self.assertIsNone(abi.Node.from_address(never.node).fn)
        self.assertEqual(ran, [2, 1, 0])
        self.arena.reset()
        self.assertEqual(ran, [2, 1, 0, "kept"])
        late = self.arena.cleanup(lambda: ran.append("released"))
        self.arena.release()
        late.cancel()  # its node is freed
        self.assertEqual(ran, [2, 1, 0, "kept", "released"])
        self.assertEqual([p for p in abi._pending.values() if p[0] is self.arena], [])

    def test_cleanups_find_the_arena_closed_and_may_raise(self):
        a, seen = self.arena, []

        def code(call, *arguments):
            with self.assertRaises(abi.ArenaError) as raised:
                call(*arguments)
            seen.append(raised.exception.code)

        def look():
            with self.assertRaises(MemoryError):
                a.alloc(1)
            code(a.rewind, a.mark())
            code(a.reset)
            code(a.set_budget, 10)
            code(a.release)

        mark = a.mark()
        a.cleanup(look)
        a.cleanup(lambda: {}["the first to raise"])
        a.cleanup(look)
        with self.assertRaisesRegex(KeyError, "the first to raise"):
            a.rewind(mark)
        self.assertEqual(seen, [abi.EBUSY] * 8)
        a.alloc(1)  # usable again
        self.assertEqual(a.stats().live, 8)

    # Claims.

    def test_claims_a_range_for_text(self):
        words = [b"%d" % n * (n % 40) for n in range(1000)]
        with self.arena.claim() as text:
            places = [text.append(word) for word in words]
            for refused in (self.arena.reset, self.arena.release, lambda: self.arena.rewind(self.arena.mark())):
                with self.assertRaises(abi.ArenaError) as raised:
                    refused()
                self.assertEqual(raised.exception.code, abi.EBUSY)
            with self.assertRaises(MemoryError):
                self.arena.claim()
            aside = self.arena.copy(b"served elsewhere")
        self.assertEqual([ctypes.string_at(p, len(word)) for p, word in zip(places, words)], words)
        self.assertEqual(ctypes.string_at(aside, 16), b"served elsewhere")
        for p, q, word in zip(places, places[1:], words):
            self.assertTrue(q == p + len(word) or self.block_of(q) != self.block_of(p))
        self.assertGreater(len({self.block_of(p) for p in places}), 3)
        self.assertEqual(self.arena.alloc(1), abi.round_up(places[-1] + len(words[-1])))

    def test_gives_the_range_when_its_holder_fails(self):
        with self.assertRaises(ZeroDivisionError):
            with self.arena.claim() as text:
                text.append(b"abc")
                1 // 0
        self.assertEqual(self.arena.stats().live, 8)
        self.arena.reset()

    def test_gives_once(self):
        claim = self.arena.claim()
        claim.append(b"abc")
        claim.give()
        with self.assertRaises(abi.ArenaError) as raised:
            claim.give()
        self.assertEqual(raised.exception.code, abi.EARG)

    # Budgets, kept memory, and the end.

    def test_a_budget_is_exact(self):
        self.arena.alloc(100)
        self.arena.set_budget(128)
        p = self.arena.alloc(24)
        with self.assertRaises(MemoryError):
            self.arena.alloc(1)
        with self.assertRaises(MemoryError):
            self.arena.cleanup(print)
        self.assertEqual((self.arena.stats().live, self.arena.stats().budget), (128, 128))
        self.arena.free(p, 24)
        self.arena.set_budget(50)  # below the live bytes
        with self.assertRaises(MemoryError):
            self.arena.alloc(1)
        self.assertEqual(self.arena.alloc(0), self.arena.head.cursor)
        self.arena.set_budget(None)
        self.arena.alloc(100_000)
        for bad in (-1, 2**64):
            with self.assertRaises(ValueError):
                self.arena.set_budget(bad)

    def test_no_memory_changes_nothing(self):
        self.source.fail_at = range(2, 100)  # smaller blocks, too
        p, mark = self.arena.copy(b"here"), self.arena.mark()
        with self.assertRaises(MemoryError):
            self.arena.alloc(10_000)
        self.assertEqual((self.arena.mark(), ctypes.string_at(p, 4)), (mark, b"here"))
        self.source.fail_at = ()
        self.arena.alloc(10_000)

    def test_resets_and_trims(self):
        for policy, keep in ((abi.KEEP_RECENT, 0), (abi.KEEP_ALL, 0), (abi.KEEP_BYTES, 1 << 20)):
            for _ in range(4):
                for _ in range(10):
                    self.arena.alloc(30_000)
                self.arena.reset(policy, keep)
            takes = self.source.takes
            for _ in range(4):
                for _ in range(10):
                    self.arena.alloc(30_000)
                self.arena.reset(policy, keep)
            self.assertEqual((self.source.takes, self.arena.stats().live), (takes, 0))  # steady state
        self.assertGreater(self.arena.stats().reserved, 300_000)
        self.arena.trim()
        self.assertEqual(self.source.bytes_held(), self.arena.stats().reserved)
        self.assertLess(self.arena.stats().reserved, 300_000)
        with self.assertRaises(abi.ArenaError) as raised:
            self.arena.reset(99)
        self.assertEqual(raised.exception.code, abi.EARG)

    def test_statistics(self):
        for _ in range(20):
            self.arena.alloc(1000)
        stats = self.arena.stats()
        self.assertEqual((stats.live, stats.budget), (20_000, abi.NO_BUDGET))
        self.assertEqual((stats.reserved, stats.source_calls), (self.source.bytes_held(), self.source.takes))
        self.assertEqual(stats.blocks, len(self.source.held))
        part = abi.Stats(blocks=77)
        self.assertEqual(self.arena.ops.stats(self.arena.address, part, 8), 8)
        self.assertEqual((part.live, part.blocks), (20_000, 77))

    def test_settings_are_refused_in_order(self):
        def code(what, value):
            return self.arena.ops.set(self.arena.address, what, value, None, 0)

        def closed():
            for what, value, wanted in ((99, 0, abi.ENOSYS), (4, 7, abi.EARG), (4, 1, abi.EBUSY), (1, 0, abi.EBUSY)):
                self.assertEqual(code(what, value), wanted)

        with self.arena.scope():
            self.arena.cleanup(closed)
        with self.arena.claim():
            closed()
        self.assertEqual((code(99, 0), code(4, 7), code(1, abi.NO_BUDGET)), (abi.ENOSYS, abi.EARG, abi.OK))

    def test_a_released_arena_is_refused(self):
        self.arena.release()
        for call in (lambda: self.arena.alloc(1), self.arena.mark, self.arena.reset, self.arena.release, self.arena.stats):
            with self.assertRaisesRegex(ValueError, "released"):
                call()

    # Larger programs.

    def test_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            sizes = {}
            for n in range(60):  # deeper with each
                place = os.path.join(folder, *("d%d" % k for k in range(n % 7)), "e%d" % n)
                os.makedirs(place)
                for k in range(n):
                    name = os.path.join(place, "%d-\u00e4" % k)
                    with open(name, "wb") as out:
                        out.write(bytes(n * k))
                    while name != folder:
                        name = os.path.dirname(name)
                        sizes[name] = sizes.get(name, 0) + n * k
                sizes.setdefault(place, 0)
            os.symlink(folder, os.path.join(folder, "round"))  # not followed, and as large as its text
            sizes[folder] += len(os.fsencode(folder))
            found, unread = tree.totals(self.arena, tree.load(BUILD / "libtree.so"), folder)
            self.assertEqual({path: size for size, path in found}, sizes)
            self.assertEqual([size for size, _ in found], sorted(sizes.values(), reverse=True))
            self.assertEqual(unread, [])
            self.assertGreater(self.arena.stats().blocks, 3)


class OnC(OnEachProvider, unittest.TestCase):
    @staticmethod
    def provider():
        return providers.C(BUILD / "libtoft.so")


class OnRust(OnEachProvider, unittest.TestCase):
    @staticmethod
    def provider():
        return providers.Rust(BUILD / "rust" / "release" / "librust_provider.so")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
