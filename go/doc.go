// SPDX-License-Identifier: MIT OR Apache-2.0

// Package toft is memory for the parameters of C calls, and for pools that the garbage collector does not look at.
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
//		info := toft.New[C.struct_open_info](a)
//		info.name = (*C.char)(cname)
//		info.mode_count = C.int(len(modes))
//		info.modes = (*C.uint)(unsafe.SliceData(toft.CopySlice(a, modes)))
//		return errorOf(C.lib_open(info))
//	}
//
// [Get] and Return work from any goroutine and take a few nanoseconds; an allocation moves a pointer. Nothing is freed
// piece by piece, nothing is seen by the garbage collector, and no arena has a finalizer.
//
// # What may be allocated
//
// Numbers, arrays, structs, and pointers to C memory, arenas included: [New], [MakeSlice], [Copy], [CopySlice]. Types that
// hold a string, slice, map, chan, func or interface are refused, at any depth, with a panic that names the field. Memory
// is zeroed, unless it is asked for through [PlainOf], which takes types without pointers only. As in all C memory, no Go
// pointer may be stored; run the tests of a wrapper with GOEXPERIMENT=cgocheck2 to be sure.
//
// # What a call costs
//
// A call from Go to C costs about 26 ns by itself (AMD Zen 4; 35 were measured on an Intel Xeon), with nothing in it. A whole wrapper call with a
// leased arena is therefore several times as fast as with C.malloc and C.free, not twenty times: those are two foreign
// calls for each parameter, and Toft makes none.
//
// # Who may do what
//
// One goroutine at a time may use an arena; it may be handed from one to another. C may keep what is in a leased arena
// until Return, and what is in an owned one until Release. A lease may be held over several calls, and any number of them
// at once: beyond four for each processor a Get and its Return take some 10 to 15 ns longer together. A second Return, and
// the use of a returned arena from Go, panic; if it has been leased again meanwhile, with TOFT_DEBUG=1 in the environment
// or [SetDebug] only, which name the places of Get and Return. What C does with a returned arena is not seen.
//
// In programs built with the race detector two goroutines that use one arena at once are reported. What they write to the
// memory in it is not: the detector does not look at C memory.
//
// A mark is a line: what was allocated before it, a Rewind leaves; so what C still looks at must be before.
//
// Where memory ends, or a budget, an allocation panics with an [AllocError]. Most wrappers let it pass, as they would let
// pass what append does; those that take sizes from others use the Try forms, which return it.
//
// # Arenas and C
//
// A *Arena is C's toft_arena: four words that every language of the Toft family bumps inline. [Arena.Pointer] hands it to C
// code that allocates from it, and [Wrap] and [Own] take arenas that C made. The C side needs toft_abi.h, a header of 75
// lines to copy, and this:
//
//	static void *take(toft_arena *a, size_t size) {
//		unsigned char *p = a->cursor;
//		if ((size_t)(a->limit - p) < size) return a->ops->alloc(a, size, 8, 0, 0);
//		a->cursor = p + ((size + 7) & ~(size_t)7);
//		return p;
//	}
//
// after it has seen that a->ops->version is 1, once for each arena; or toft.h, which this package carries.
//
// # Pools
//
// A [Pool] holds values without pointers, addressed by 32-bit handles that notice when they are stale; a [Table] keeps one
// contiguous [Column] for each field. Both lie outside the collector's sight, so that ten million nodes cost it nothing.
//
// # Building
//
// Arenas need cgo and a C compiler; pools and tables need neither. Linux is tested. The build tag toft_portable leaves out the
// one use of the runtime's internals.
package toft
