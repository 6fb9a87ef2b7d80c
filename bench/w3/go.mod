// The rivals are needed by this benchmark alone: Toft's own module depends on nothing.
module toft.dev/toft/bench/w3

go 1.24.0

replace toft.dev/toft => ../../go

replace toft.dev/toft/cgoparam => ../../go/cgoparam

require (
	github.com/CannibalVox/cgoparam v1.1.0
	github.com/dgraph-io/ristretto/v2 v2.4.2
	toft.dev/toft v0.1.0
	toft.dev/toft/cgoparam v0.1.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	golang.org/x/sys v0.36.0 // indirect
)
