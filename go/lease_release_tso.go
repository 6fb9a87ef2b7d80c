//go:build cgo && linux && amd64 && !race && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

// release makes the slot idle. The goroutine that takes it next sees all earlier writes: on amd64 a plain store is enough
// for that, while atomic.StoreUint32 is an exchange, which takes as long as the rest of Return.
func (s *slot) release() { s.state = idle }

// release lets others use the list.
func (l *list) release() { l.busy = 0 }
