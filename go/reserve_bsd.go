//go:build darwin || dragonfly || freebsd || netbsd || openbsd

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

const (
	noReserve  = 0
	adviseHuge = 0 // these have no such call, or need none
)
