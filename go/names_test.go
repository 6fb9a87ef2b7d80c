//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every exported function, method and type has an example that runs.
func TestEveryNameHasAnExample(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names, examples := map[string]bool{}, map[string]bool{}
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
		if !examples[name] {
			t.Errorf("Example%s is missing", name)
		}
	}
	if len(names) < 50 {
		t.Errorf("%d names", len(names))
	}
}

func declared(d ast.Decl, test bool, names, examples map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if example, ok := strings.CutPrefix(name, "Example"); test && ok {
			examples[example] = true
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

// Without cgo every name of arenas is there, so that the compiler says what is missing.
func TestNamesWithoutCgo(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	with, without := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := with
		switch tag, _, _ := strings.Cut(string(text), "\n"); {
		case strings.HasSuffix(file, "_test.go"):
			continue
		case file == "nocgo.go":
			names = without
		case !strings.HasPrefix(tag, "//go:build cgo"):
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names[d.Name.Name] = true
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names[n.Name] = true
						}
					}
				}
			}
		}
	}
	for name := range with {
		if ast.IsExported(name) && !without[name] {
			t.Errorf("nocgo.go lacks %s", name)
		}
	}
	for name := range without {
		if ast.IsExported(name) && !with[name] {
			t.Errorf("nocgo.go has %s, which is no name of arenas", name)
		}
	}
}
