//go:build cgo && linux && (amd64 || arm64) && !race && !asan && !toft_portable

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// refuseMembarrier makes membarrier(2) fail with EPERM on this thread and in processes that it starts.
func refuseMembarrier() error {
	number := map[string]uint32{"amd64": 324, "arm64": 283}[runtime.GOARCH]
	type instruction struct {
		code   uint16
		jt, jf uint8
		k      uint32
	}
	filter := []instruction{
		{0x20, 0, 0, 0}, // load the number of the system call
		{0x15, 0, 1, number},
		{0x06, 0, 0, 0x0005_0000 | uint32(syscall.EPERM)},
		{0x06, 0, 0, 0x7fff_0000}, // allow
	}
	program := struct {
		length uint16
		filter *instruction
	}{uint16(len(filter)), &filter[0]}
	const setNoNewPrivileges, setFilter, filterMode = 38, 22, 2
	for _, call := range [][3]uintptr{{setNoNewPrivileges, 1, 0}, {setFilter, filterMode, uintptr(unsafe.Pointer(&program))}} {
		if _, _, code := syscall.Syscall6(syscall.SYS_PRCTL, call[0], call[1], call[2], 0, 0, 0); code != 0 {
			return code
		}
	}
	runtime.KeepAlive(filter)
	return nil
}

// With membarrier(2) refused, leases are taken without a lock, and the tests of leases pass.
func TestLeasesWithoutMembarrier(t *testing.T) {
	const child = "TOFT_TEST_MEMBARRIER"
	if os.Getenv(child) != "" {
		if pins || active.Load() != 0 || !grouped.Load() {
			t.Fatal("the leases need a barrier")
		}
		for range 1000 {
			l := Get()
			if uintptr(unsafe.Pointer(l))-rangeStart >= procBytes {
				t.Fatal("an extra lease")
			}
			l.Return()
		}
		return
	}
	if !pins {
		t.Skip("this system refuses it already")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread ends with the goroutine
		if err := refuseMembarrier(); err != nil {
			t.Log("this system has no filter of system calls: ", err)
			return
		}
		program := exec.Command(os.Args[0], "-test.v", "-test.short", "-test.run=Lease|Extra|Get|Return|Trim|Cleanup|Collect|Debug")
		program.Env = append(os.Environ(), child+"=1")
		out, err := program.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestLeasesWithoutMembarrier") {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	<-done
}
