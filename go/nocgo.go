//go:build !cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// Toft keeps its memory in C, out of the garbage collector's sight. Without cgo there is none, so the build stops here:
// set CGO_ENABLED=1 and install a C compiler.
var _ = toft_needs_cgo_set_CGO_ENABLED_to_1_and_install_a_C_compiler
