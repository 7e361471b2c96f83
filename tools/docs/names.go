package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// goName matches a package of the repository, such as slurmclient/demand, or a name in one, such as
// slurmclient/demand.Compute or operator/nodeset/plan.Planner.Plan.
var goName = regexp.MustCompile(
	`\b((?:slurmclient|exporter|metricsapi|operator|cmd)(?:/[a-z0-9_-]+)*)((?:\.[A-Za-z]\w*){0,2})\b`)

// GoNames returns the packages of the repository, and the functions, methods and types in them, that
// a page names, each once, in the order of the page.
func GoNames(page string) (names []string) {
	found := map[string]bool{}
	for _, m := range goName.FindAllString(page, -1) {
		isName := strings.ContainsAny(m, "/.")
		if isName && !found[m] {
			found[m] = true
			names = append(names, m)
		}
	}
	return names
}

// fileName matches a file of the repository in backticks.
var fileName = regexp.MustCompile("`([a-z][\\w.-]*(?:/[\\w.-]+)+\\.[a-z]+)`")

// FileNames returns the files of the repository that a page names with their folders, each once, in
// the order of the page.
func FileNames(page string) (files []string) {
	for _, m := range fileName.FindAllStringSubmatch(page, -1) {
		if !slices.Contains(files, m[1]) {
			files = append(files, m[1])
		}
	}
	return files
}

// CheckGoName returns an error if the tree has no package, or no declaration in it, of the name.
func CheckGoName(tree fs.FS, name string) error {
	folder, declared, _ := strings.Cut(name, ".")
	files, err := fs.Glob(tree, folder+"/*.go")
	if err != nil {
		return fmt.Errorf("listing the files of %s: %w", folder, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("%s is no package", folder)
	}
	if declared == "" {
		return nil
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		names, err := declaredNames(tree, file)
		if err != nil {
			return err
		}
		if names[declared] {
			return nil
		}
	}
	return fmt.Errorf("%s declares no %s", folder, declared)
}

// declaredNames returns the functions, types and methods (as Type.Method) of a file.
func declaredNames(tree fs.FS, path string) (map[string]bool, error) {
	text, err := fs.ReadFile(tree, path)
	if err != nil {
		return nil, err
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[receiverPrefix(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					names[t.Name.Name] = true
					addInterfaceMethods(names, t)
				}
			}
		}
	}
	return names, nil
}

// addInterfaceMethods adds the methods that an interface declares itself, not the methods of embedded interfaces.
func addInterfaceMethods(names map[string]bool, t *ast.TypeSpec) {
	declared, ok := t.Type.(*ast.InterfaceType)
	if !ok {
		return
	}
	for _, field := range declared.Methods.List {
		for _, method := range field.Names {
			names[t.Name.Name+"."+method.Name] = true
		}
	}
}

// receiverPrefix returns "Type." for a method, and "" for a function.
func receiverPrefix(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	of := d.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if index, ok := of.(*ast.IndexExpr); ok {
		of = index.X
	}
	if ident, ok := of.(*ast.Ident); ok {
		return ident.Name + "."
	}
	return ""
}
