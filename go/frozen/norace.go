//go:build !race

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

const raceBuild = false
