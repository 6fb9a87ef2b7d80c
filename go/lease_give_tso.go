//go:build cgo && linux && amd64 && !race && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// give makes the lease idle, for whoever takes it next to see all that was done before. On amd64 a store does that;
// atomic.StoreUint32 is an exchange, which takes as long as all the rest of Return.
func (l *lease) give() { l.state = idle }

// release lets others use the list.
func (s *list) release() { s.busy = 0 }
