//go:build race

// SPDX-License-Identifier: MIT OR Apache-2.0

package frozen

// The race detector keeps its own memory in the range where files are mapped, and replaces mappings there.
const raceBuild = true
