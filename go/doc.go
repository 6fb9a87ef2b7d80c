// SPDX-License-Identifier: MIT OR Apache-2.0

// Package toft provides arenas in C memory, for the parameters of C calls and for data that the garbage collector should
// not scan. Pools of reusable slots, which need no cgo, are in the package [toft.dev/toft/pool].
//
// A wrapper of a C library leases an arena for the length of a call, builds C's structs in it, and returns it:
//
//	func Open(name string, modes []uint32) error {
//		a := toft.Get()
//		defer a.Return()
//		cname, err := a.CString(name)
//		if err != nil {
//			return err
//		}
//		info := a.New[C.struct_open_info]() // before Go 1.27: toft.New[C.struct_open_info](a)
//		info.name = (*C.char)(cname)
//		info.mode_count = C.int(len(modes))
//		info.modes = (*C.uint)(unsafe.SliceData(a.CopySlice(modes))) // toft.CopySlice(a, modes)
//		return errorOf(C.lib_open(info))
//	}
//
// A wrapper needs these names: [Get] and [Lease.Return], [New], [MakeSlice], [Copy] and [CopySlice] for structs and arrays,
// [Arena.CString] and [Arena.CBytes] for text and bytes, and [Arena.Alloc] for other memory. With Go 1.27 each function that
// takes an arena and a type is also a method: a.New[T](), a.MakeSlice[T](n), a.TryCopy(v). The package [toft.dev/toft/leasetest] finds misuse in its tests, and [toft.dev/toft/meter] shows what uses the memory of an arena.
//
// [Get] and [Lease.Return] may be called from any goroutine and take a few nanoseconds; an allocation moves a pointer. An
// arena frees everything at once. It has no finalizer, and its contents are not scanned.
//
// # Types
//
// [New], [MakeSlice], [Copy] and [CopySlice] accept types of numbers, pointers to C memory, and arrays and structs of these.
// They panic for types that contain a string, slice, map, chan, func or interface, at any depth, and for pointers to such
// types, since no C memory contains one: *string, [time.Time] (which has a *time.Location), atomic.Pointer of such a type.
// The message names the field. Memory is zeroed except by [Arena.AllocUninit] and by [Uninit], which accepts types without
// pointers only. As in all C memory, no Go pointer may be stored in a pointer to numbers either, nor in an unsafe.Pointer.
// With leasetest.SetDebug Return finds them; GOEXPERIMENT=cgocheck2 detects the stores.
//
// # Leases and arenas
//
// [Get] returns a [Lease], which ends with Return. [NewArena] and [Own] return an [Arena], which ends with Release. The
// compiler refuses the wrong one of the two. [Wrap] returns an Arena that C releases. Functions that only allocate should
// take a *Arena.
//
// One goroutine at a time may use an arena; it may be passed from one to another. C may keep the contents of a leased arena
// until Return, and those of an owned one until Release. A lease may be held over several calls, and any number of leases
// may be held at once: if there are more than four for each processor, a Get and its Return take 10 to 15 ns longer.
//
// A second Return and the use of a returned arena from Go panic until the arena is leased again. With TOFT_DEBUG=1 in the
// environment or leasetest.SetDebug they always panic, with the places of Get and Return, and a pointer to the memory of a returned
// lease faults, in Go and in C, with a message that names these places. The use of a returned arena by C is not detected
// otherwise.
//
// In programs built with the race detector, two goroutines that use one arena at once are reported. The detector does not
// observe C memory, so it does not report races on the contents.
//
// [Arena.Rewind] frees everything that was allocated after a [Mark]. C must not use that memory any more.
//
// # Errors
//
// An allocation that fails panics with an [AllocError], which wraps its cause: [ErrNoMemory] also if a budget is used up,
// [ErrArgument] for sizes, lengths and alignments out of range, [ErrBusy] in a cleanup of the same arena. The Try functions
// return it.
//
// # Memory
//
// [Arena.SetBudget] limits the bytes of one arena, a [Budget] those of many, with parents and a callback.
//
// Leases keep memory between calls: as much as recent calls needed, at most 64 MiB in all (see [LeaseLimits]), until two
// collections of garbage have passed without a use. The runtime does not count C memory. It is not part of the heap size
// that triggers collections, and not of GOMEMLIMIT. [Held] returns what leases, owned arenas, caches and pools hold. In a
// process with a memory limit, [AdjustMemoryLimit] keeps the runtime's limit at a total less that. [TrimLeases] frees the
// idle part.
//
// [Arena.Stats] and [ReadLeaseStats] return numbers. The package [toft.dev/toft/meter] writes a pprof profile of live bytes
// by call site; with leasetest.SetDebug the profile "toft.leases" of runtime/pprof shows the leases that were not returned.
//
// # Arenas and C
//
// A *Arena is C's toft_arena: four words from which every language of Toft allocates inline. [Arena.Pointer] passes it to C
// code that allocates from it, and [Wrap] and [Own] take arenas that C made. The C side needs toft_abi.h, a header of 75
// lines, and this function:
//
//	static void *take(toft_arena *a, size_t size) {
//		unsigned char *p = a->cursor;
//		if ((size_t)(a->limit - p) < size) return a->ops->alloc(a, size, 8, 0, 0);
//		a->cursor = p + ((size + 7) & ~(size_t)7);
//		return p;
//	}
//
// It must check once for each arena that a->ops->version is 1. The header lies beside the Go files that include it, since
// cgo does not find those of other modules. This command writes it:
//
//	awk '/==== toft/ { on = /toft.abi.h/ } on' "$(go list -f '{{.Dir}}' toft.dev/toft)/toft.h" >toft_abi.h
//
// # Building
//
// This package needs cgo and a C compiler. The build tag toft_portable leaves out the one use of the runtime's internals.
//
// On Linux leases use membarrier(2). Where a filter of system calls refuses it when the process starts, Get and Return use
// atomic operations instead, which take some nanoseconds more.
package toft
