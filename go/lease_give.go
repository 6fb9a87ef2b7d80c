//go:build cgo && (!linux || !amd64 || race || toft_portable)

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import "sync/atomic"

// give makes the lease idle, for whoever takes it next to see all that was done before.
func (l *lease) give() { atomic.StoreUint32(&l.state, idle) }

// release lets others use the list. Only lease_pin.go calls it.
func (s *list) release() { atomic.StoreUint32(&s.busy, 0) }
