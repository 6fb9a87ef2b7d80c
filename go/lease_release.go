//go:build cgo && (!linux || !amd64 || race || toft_portable)

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import "sync/atomic"

// release makes the slot idle. The goroutine that takes it next sees all earlier writes.
func (s *slot) release() { atomic.StoreUint32(&s.state, idle) }

// release lets others use the list. Only lease_pin.go calls it.
func (l *list) release() { atomic.StoreUint32(&l.busy, 0) }
