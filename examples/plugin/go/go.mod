module plugin_host

go 1.24

require toft.dev/toft v0.0.0

replace toft.dev/toft => ../../../go
