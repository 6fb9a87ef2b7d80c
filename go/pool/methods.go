//go:build go1.27

// SPDX-License-Identifier: MIT OR Apache-2.0

package pool

// AddColumn is the function [AddColumn] as a method, which may have type parameters since Go 1.27.
func (t *Table) AddColumn[T any]() (*Column[T], error) { return AddColumn[T](t) }
