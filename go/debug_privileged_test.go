//go:build cgo && linux && !asan

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"errors"
	"os"
	"os/exec"
	"testing"
)

// A set-user-ID program does not read TOFT_DEBUG.
func TestDebugOfAPrivilegedProcess(t *testing.T) {
	if os.Getenv("TOFT_TEST_PRIVILEGED") != "" {
		if !cPrivileged() {
			os.Exit(3)
		}
		if debug.on.Load() {
			os.Exit(4)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only root can make a program of another user")
	}
	folder, err := os.MkdirTemp("", "toft")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := folder + "/program"
	const uid = 65534
	for _, err := range []error{
		os.Chmod(folder, 0o755), os.WriteFile(program, text, 0o755), os.Chown(program, uid, uid),
		os.Chmod(program, 0o755|os.ModeSetuid),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	child := exec.Command(program, "-test.run=^TestDebugOfAPrivilegedProcess$")
	child.Dir = "/"
	child.Env = append(os.Environ(), "TOFT_TEST_PRIVILEGED=1", "TOFT_DEBUG=1")
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case !errors.As(err, &exit):
		t.Skip("this system cannot run the test's program: ", err)
	case exit.ExitCode() == 3:
		t.Skip("set-user-ID has no effect there")
	default:
		t.Errorf("%v: %s", err, out)
	}
}
