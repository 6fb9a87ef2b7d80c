//go:build !cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// Arenas are C memory. The undefined name makes the compiler's message name what is missing. Pools, which need no cgo,
// are in the package toft.dev/toft/pool.
var _ = toft_needs_cgo__set_CGO_ENABLED_1_and_install_a_C_compiler
