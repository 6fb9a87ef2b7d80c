//go:build cgo && go1.27

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// The functions that allocate as methods, which may have type parameters since Go 1.27. A [Lease] has them too.

// New is the function [New] as a method: it allocates a zeroed T.
func (a *Arena) New[T any]() *T { return New[T](a) }

// TryNew is the function [TryNew] as a method.
func (a *Arena) TryNew[T any]() (*T, error) { return TryNew[T](a) }

// NewAligned is the function [NewAligned] as a method.
func (a *Arena) NewAligned[T any](align uint) *T { return NewAligned[T](a, align) }

// TryNewAligned is the function [TryNewAligned] as a method.
func (a *Arena) TryNewAligned[T any](align uint) (*T, error) { return TryNewAligned[T](a, align) }

// Copy is the function [Copy] as a method: it allocates a copy of v.
func (a *Arena) Copy[T any](v T) *T { return Copy(a, v) }

// TryCopy is the function [TryCopy] as a method.
func (a *Arena) TryCopy[T any](v T) (*T, error) { return TryCopy(a, v) }

// MakeSlice is the function [MakeSlice] as a method: it allocates a slice of n zeroed elements.
func (a *Arena) MakeSlice[T any](n int) []T { return MakeSlice[T](a, n) }

// TryMakeSlice is the function [TryMakeSlice] as a method.
func (a *Arena) TryMakeSlice[T any](n int) ([]T, error) { return TryMakeSlice[T](a, n) }

// MakeSliceAligned is the function [MakeSliceAligned] as a method.
func (a *Arena) MakeSliceAligned[T any](n int, align uint) []T {
	return MakeSliceAligned[T](a, n, align)
}

// TryMakeSliceAligned is the function [TryMakeSliceAligned] as a method.
func (a *Arena) TryMakeSliceAligned[T any](n int, align uint) ([]T, error) {
	return TryMakeSliceAligned[T](a, n, align)
}

// CopySlice is the function [CopySlice] as a method: it allocates a copy of s.
func (a *Arena) CopySlice[T any](s []T) []T { return CopySlice(a, s) }

// TryCopySlice is the function [TryCopySlice] as a method.
func (a *Arena) TryCopySlice[T any](s []T) ([]T, error) { return TryCopySlice(a, s) }
