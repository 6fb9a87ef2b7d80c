//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"context"
	"runtime/cgo"
	"unsafe"
)

// A Budget limits the memory of many arenas on any goroutines: those of a process, of a tenant, of a request. The blocks of
// an arena that [NewArena] makes [Options.Within] a budget count for that budget and for all its parents, and a block is
// refused before one of them would exceed its limit by a byte. What an arena returns in Reset, Trim or Release counts no more.
//
// Arenas within a budget keep no unused blocks over a Reset, and return such blocks before a request fails. Allocations that
// take no block do not touch a budget. Leases are not within a budget. A use after Release is detected for the budget, and
// not for arenas within it.
//
// The methods may be called from any goroutine, Release after all others.
type Budget struct {
	_         noCopy
	c         unsafe.Pointer // nil after Release
	parent    *Budget
	name      string
	onRefusal func(b *Budget, bytes uint64) bool
	handle    cgo.Handle // of the budget, for C; 0 without onRefusal
}

// BudgetOptions are the options of [NewBudget]. The zero value is a budget without a limit, which counts.
type BudgetOptions struct {
	Name   string  // at most 31 bytes, for reports
	Limit  uint64  // the most bytes that may be reserved; 0 for no limit
	Parent *Budget // it counts and limits the bytes of this budget too; nil for none

	// LiveLimit is the most bytes that may be live, in whichever blocks; 0: they are not counted, unless the parent's are.
	// [NoBudget] counts them without a limit. Arenas hold up to 1/128 of it without using it. Allocations have no more cost
	// until a portion of some KiB is used; Reset, Rewind and Release take the slow path.
	LiveLimit uint64

	// OnRefusal is called for a request of so many bytes that the limit of this budget refuses: on the goroutine of the
	// request, once for the request, without a lock. It may make and release other arenas, also within the budget, wait for
	// other goroutines, or write data to a file, and returns whether the request is tried again. It must not use the arena
	// that requests. A panic counts as false, and Goexit must not be called. While it runs, it is not called again for what
	// its goroutine requests: that fails.
	OnRefusal func(b *Budget, bytes uint64) bool
}

// BudgetStats are statistics of a [Budget]; all but the last two are in bytes.
type BudgetStats struct {
	Limit     uint64 // [NoBudget]: none
	Reserved  uint64 // in blocks of arenas within this budget and all below it
	Peak      uint64 // the most that was reserved
	Available uint64 // may be reserved before the budget or a parent refuses; [NoBudget]: no limit
	Refusals  uint64 // requests for a block that the limit of this budget refused
	Children  uint64 // budgets with this parent
}

// BudgetLiveStats are statistics of the live bytes of a [Budget]; all but the last are in bytes.
type BudgetLiveStats struct {
	Limit     uint64 // [NoBudget]: none
	Live      uint64 // within this budget and all below it, with what is parked
	Peak      uint64 // the most that was live
	Available uint64 // may be allocated before the budget or a parent refuses; [NoBudget]: no limit
	Parked    uint64 // at most so many of the live bytes are held by arenas without being allocated
	Refusals  uint64 // requests that the live limit of this budget refused
}

// NewBudget makes a budget that lives until [Budget.Release]; without a Release its memory, about 200 bytes, leaks. It fails
// with [ErrArgument] if the name is too long or the parent was released, and with [ErrNoMemory].
func NewBudget(o BudgetOptions) (*Budget, error) {
	b := &Budget{parent: o.Parent, name: o.Name, onRefusal: o.OnRefusal}
	if o.Parent != nil && o.Parent.c == nil {
		return nil, wrap("NewBudget: the parent was released", ErrArgument)
	}
	if len(o.Name) > 31 {
		return nil, wrap("NewBudget: the name has more than 31 bytes", ErrArgument)
	}
	if o.OnRefusal != nil {
		b.handle = cgo.NewHandle(b)
	}
	if b.c = cBudgetCreate(b, cBudgetLimit(o.Limit)); b.c == nil {
		b.deleteHandle()
		return nil, wrap("NewBudget", ErrNoMemory)
	}
	if o.LiveLimit != 0 {
		must("NewBudget", cBudgetLimitLive(b.c, o.LiveLimit)) // nothing is within it yet
	}
	return b, nil
}

func (b *Budget) deleteHandle() {
	if b.handle != 0 {
		b.handle.Delete()
	}
	b.handle = 0
}

func (b *Budget) check(what string) unsafe.Pointer {
	if b.c == nil {
		panic("toft: " + what + " of a released budget")
	}
	return b.c
}

// Release ends the budget. It fails with [ErrBusy], and the budget is unchanged, while arenas within it are not released,
// bytes are charged or budgets below it exist.
func (b *Budget) Release() error {
	if code := cBudgetRelease(b.check("Release")); code != 0 {
		return wrap("Release: the budget has arenas, charged bytes or children", ErrBusy)
	}
	b.c = nil
	b.deleteHandle()
	return nil
}

// SetLimit sets the limit in bytes; [NoBudget] removes it. A limit below the reserved bytes refuses every block until enough
// is returned.
func (b *Budget) SetLimit(bytes uint64) { cBudgetSetLimit(b.check("SetLimit"), bytes) }

// SetLiveLimit sets the limit of live bytes; [NoBudget] removes it. It fails with [ErrBusy] if they are not counted yet and
// there are arenas within the budget or budgets below it.
func (b *Budget) SetLiveLimit(bytes uint64) error {
	if code := cBudgetLimitLive(b.check("SetLiveLimit"), bytes); code != 0 {
		return wrap("SetLiveLimit: the budget has arenas or children", ErrBusy)
	}
	return nil
}

// Charge counts bytes of memory that does not come from arenas, such as Go's own, until [Budget.Uncharge]. It fails with
// [ErrNoMemory] if a limit refuses them, after a call of OnRefusal.
func (b *Budget) Charge(bytes uint64) error {
	if code := cBudgetCharge(b.check("Charge"), bytes); code != 0 {
		return wrap("Charge", ErrNoMemory)
	}
	return nil
}

// Uncharge ends the count of so many of the bytes that were charged, in any portions. It panics if fewer are.
func (b *Budget) Uncharge(bytes uint64) {
	if code := cBudgetUncharge(b.check("Uncharge"), bytes); code != 0 {
		panic("toft: Uncharge of more bytes than are charged")
	}
}

// LiveStats returns the statistics of live bytes, which are 0 while these are not counted.
func (b *Budget) LiveStats() BudgetLiveStats { return cBudgetLiveStats(b.check("LiveStats")) }

// Stats returns the current statistics of the budget.
func (b *Budget) Stats() BudgetStats { return cBudgetStats(b.check("Stats")) }

// Name returns the name from [BudgetOptions].
func (b *Budget) Name() string { return b.name }

// Parent returns the parent, or nil.
func (b *Budget) Parent() *Budget { return b.parent }

// refused calls OnRefusal.
func (b *Budget) refused(bytes uint64) (again bool) {
	defer func() {
		if recover() != nil {
			again = false
		}
	}()
	return b.onRefusal(b, bytes)
}

type budgetKey struct{}

// ContextWithBudget returns a context that carries the budget to the functions of a request.
func ContextWithBudget(ctx context.Context, b *Budget) context.Context {
	return context.WithValue(ctx, budgetKey{}, b)
}

// BudgetFrom returns the budget that the context carries, or nil, which as [Options.Within] means no budget.
func BudgetFrom(ctx context.Context) *Budget {
	b, _ := ctx.Value(budgetKey{}).(*Budget)
	return b
}
