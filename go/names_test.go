//go:build cgo

// SPDX-License-Identifier: MIT OR Apache-2.0

package toft

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each exported function, method and type of the public packages has an example that runs, or is used in one.
func TestEveryNameHasAnExample(t *testing.T) {
	for folder, least := range map[string]int{".": 50, "pool": 25, "frozen": 8, "meter": 12, "leasetest": 6} {
		names, examples := map[string]bool{}, map[string]bool{} // also the names that examples use
		for file, f := range parsed(t, folder) {
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

// parsed returns the files of a folder that are built here.
func parsed(t *testing.T, folder string) map[string]*ast.File {
	files, err := os.ReadDir(folder)
	all := map[string]*ast.File{}
	for _, file := range files {
		name := file.Name()
		if built, _ := build.Default.MatchFile(folder, name); built && strings.HasSuffix(name, ".go") {
			if all[name], err = parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err != nil || len(all) == 0 {
		t.Fatal(folder, err)
	}
	return all
}

// A call that hands out memory returns an unsafe.Pointer, or a *T or []T of a type parameter.
func TestEveryCallThatHandsOutMemoryIsTried(t *testing.T) {
	memory := regexp.MustCompile(`^(unsafe\.Pointer|\*T|\[\]T)$`)
	for _, f := range parsed(t, ".") {
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Type.Results == nil || !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
				continue
			}
			if _, tried := handsOut[d.Name.Name]; !tried && memory.MatchString(types.ExprString(d.Type.Results.List[0].Type)) {
				t.Errorf("%s is not in handsOut", d.Name)
			}
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
