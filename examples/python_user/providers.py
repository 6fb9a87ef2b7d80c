"""The providers of arenas: creation is not part of the ABI, and differs between providers.

C's is libtoft, a shared library; Rust's is the crate, which rust_provider/ puts behind one C function. Both take
blocks from a Source, which counts them and raises no exceptions.

SPDX-License-Identifier: MIT OR Apache-2.0
"""
import ctypes
import mmap
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_int, c_size_t, c_uint32, c_uint64, c_void_p

TAKE = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
PUT = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class Source:
    """Blocks of exact sizes on page boundaries, which it refuses at the acquisitions numbered in fail_at (1 is the first)."""

    def __init__(self, fail_at=()):
        self.held, self.takes, self.fail_at = {}, 0, set(fail_at)
        self.took, self.gave, self.wrong = [], [], []  # sizes; and violations of the rules by a provider
        self.take, self.put = TAKE(self._take), PUT(self._put)

    def _take(self, _, size):
        self.takes += 1
        if self.takes in self.fail_at or size > 2**40:
            return None
        memory = mmap.mmap(-1, size)
        base = ctypes.addressof(c_char.from_buffer(memory))
        self.held[base] = size, memory
        self.took.append(size)
        return base

    def _put(self, _, base, size):
        if self.held.pop(base, (None,))[0] != size:
            self.wrong.append((base, size))
        self.gave.append(size)

    def bytes_held(self):
        return sum(size for size, _ in self.held.values())


class CSource(Structure):
    _fields_ = [("take", TAKE), ("put", PUT), ("extend", c_void_p)]


class Options(Structure):
    """toft_options of toft.h."""

    _fields_ = [("size", c_size_t), ("source", POINTER(CSource)), ("buffer", c_void_p), ("buffer_size", c_size_t),
                ("budget", c_uint64), ("reserve", c_size_t), ("failure", c_void_p), ("failure_arg", c_void_p),
                ("flags", c_uint32)]


class C:
    """libtoft."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.toft_create.restype = self.library.toft_create_with.restype = c_void_p
        self.library.toft_create_with.argtypes = [POINTER(Options)]

    def create(self):
        """The address of a new arena on the heap, or None."""
        return self.library.toft_create()

    def create_with(self, source, budget=0, reserve=0):
        """On a source, which the caller keeps alive. A budget of 0 is none."""
        source.c = CSource(source.take, source.put, None)
        options = Options(size=ctypes.sizeof(Options), source=ctypes.pointer(source.c), budget=budget, reserve=reserve)
        return self.library.toft_create_with(options)


class Rust:
    """The crate, through rust_provider/."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.rust_arena.restype = self.library.rust_arena_on.restype = c_void_p
        self.library.rust_arena_on.argtypes = [TAKE, PUT, c_uint64, c_size_t]

    def create(self):
        return self.library.rust_arena()

    def create_with(self, source, budget=0, reserve=0):
        return self.library.rust_arena_on(source.take, source.put, budget, reserve)
