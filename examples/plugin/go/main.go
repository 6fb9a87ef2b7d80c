// SPDX-License-Identifier: MIT OR Apache-2.0

// Command go is a host of a plugin, as ../host.c: go PLUGIN.
package main

// #cgo CFLAGS: -I../../../abi
// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include "../query.h"
// static row *query(const char *path, toft_arena *a, int64_t count) {
//   void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
//   plugin_query *query = library != NULL ? (plugin_query *)dlsym(library, "query") : NULL;
//   return query != NULL ? query(a, count) : NULL;
// }
import "C"

import (
	"fmt"
	"os"

	"toft.dev/toft"
)

func main() {
	a := toft.Get()
	defer a.Return() // ends the rows
	path, err := a.CString(os.Args[1])
	if err != nil {
		panic(err)
	}
	sum := 0
	for r := C.query((*C.char)(path), (*C.toft_arena)(a.Pointer()), 1000); r != nil; r = r.next {
		sum += int(r.id) + len(C.GoString(r.value))
	}
	fmt.Println("sum", sum)
}
