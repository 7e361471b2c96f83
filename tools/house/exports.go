package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// measureUnusedExports counts exported functions, types, variables, constants and methods that no other place of the
// tree mentions. It leaves out
//
//   - generated code;
//   - methods that may satisfy an interface of a library;
//   - values of an enumeration, which is complete only with all its constants.
func measureUnusedExports(root string) (measure, error) {
	m := measure{name: "exported names without a use"}
	root, err := filepath.Abs(root)
	if err != nil {
		return m, err
	}
	set := token.NewFileSet()
	loaded, err := packages.Load(&packages.Config{
		Dir: root, Fset: set, Tests: true, BuildFlags: []string{"-tags=e2e"},
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
		ParseFile: func(set *token.FileSet, name string, src []byte) (*ast.File, error) {
			f, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
			if err == nil && !strings.HasPrefix(name, root+"/") {
				dropBodies(f)
			}
			return f, err
		},
	}, "./...")
	if err != nil {
		return m, fmt.Errorf("loading packages: %w", err)
	}
	declared, used := map[string]string{}, map[string]bool{}
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if len(p.GoFiles) == 0 || !strings.HasPrefix(p.GoFiles[0], root+"/") {
			return
		}
		for id, o := range p.TypesInfo.Defs {
			if o != nil && isCandidate(o, set, root) {
				declared[positionOf(set, o)] = placeOf(set, root, id, o)
			}
		}
		for _, o := range p.TypesInfo.Uses {
			used[positionOf(set, originOf(o))] = true
		}
	})
	m.of = len(declared)
	for at, place := range declared {
		if !used[at] {
			m.places = append(m.places, place)
		}
	}
	return m, nil
}

func dropBodies(f *ast.File) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			fn.Body = nil
		}
	}
}

func isCandidate(o types.Object, set *token.FileSet, root string) bool {
	file := set.Position(o.Pos()).Filename
	name := filepath.Base(file)
	if !o.Exported() || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_") ||
		strings.HasSuffix(name, ".gen.go") {
		return false
	}
	switch o := o.(type) {
	case *types.Func:
		// A method may satisfy an interface that another module declares.
		return o.Signature().Recv() == nil
	case *types.Const:
		_, enumerated := o.Type().(*types.Named)
		return !enumerated
	case *types.TypeName, *types.Var:
		return o.Parent() == o.Pkg().Scope()
	}
	return false
}

func originOf(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

func positionOf(set *token.FileSet, o types.Object) string {
	return set.Position(o.Pos()).String()
}

func placeOf(set *token.FileSet, root string, id *ast.Ident, o types.Object) string {
	at := set.Position(o.Pos())
	return fmt.Sprintf("%s:%d: %s", strings.TrimPrefix(at.Filename, root+"/"), at.Line, id.Name)
}
