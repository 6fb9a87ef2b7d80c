// SPDX-License-Identifier: MIT OR Apache-2.0

package offheap

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Mappings returns how many mappings this process has and how many it may have, 0 and 0 where there is no such limit. It
// takes milliseconds in a process that has many, and little memory, because the Go heap cannot grow at the limit.
func Mappings() (count, limit int) {
	if runtime.GOOS != "linux" {
		return 0, 0
	}
	setting, err := os.Open("/proc/sys/vm/max_map_count")
	if err != nil {
		return 0, 0
	}
	defer setting.Close()
	list, err := os.Open("/proc/self/maps")
	if err != nil {
		return 0, 0
	}
	defer list.Close()
	part := make([]byte, 4096)
	n, _ := setting.Read(part)
	if limit, err = strconv.Atoi(strings.TrimSpace(string(part[:n]))); err != nil {
		return 0, 0
	}
	for {
		n, err := list.Read(part)
		count += bytes.Count(part[:n], []byte{'\n'})
		if err != nil {
			return count, limit
		}
	}
}
