//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Each exported function, method and type of the public packages has an example that runs, or is used in one.
func TestEveryNameHasAnExample(t *testing.T) {
	for folder, least := range map[string]int{".": 50, "pool": 25, "frozen": 8, "meter": 12, "leasetest": 6} {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		names, examples := map[string]bool{}, map[string]bool{} // also the names that examples use
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range f.Decls {
				declared(d, strings.HasSuffix(file, "_test.go"), names, examples)
			}
		}
		for name := range names {
			if _, method, _ := strings.Cut(name, "_"); !examples[name] && !examples[method] {
				t.Errorf("%s: Example%s is missing", folder, name)
			}
		}
		if len(names) < least {
			t.Errorf("%s: %d names", folder, len(names))
		}
	}
}

func declared(d ast.Decl, test bool, names, examples map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if example, ok := strings.CutPrefix(name, "Example"); test && ok {
			examples[example] = true
			ast.Inspect(d, func(n ast.Node) bool {
				if used, ok := n.(*ast.SelectorExpr); ok {
					examples[used.Sel.Name] = true
				}
				return true
			})
		}
		if d.Recv != nil {
			name = receiver(d.Recv.List[0].Type) + "_" + name
		}
		if !test && ast.IsExported(name) && d.Name.IsExported() {
			names[name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok && !test && s.Name.IsExported() {
				names[s.Name.Name] = true
			}
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
