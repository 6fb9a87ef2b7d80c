module toft.dev/toft

go 1.24
