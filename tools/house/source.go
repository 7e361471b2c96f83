package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// sourceFile is a Go file of the tree that people write: generated files are left out.
type sourceFile struct {
	path  string // relative to the root, with slashes
	lines []string
	set   *token.FileSet
	tree  *ast.File
}

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f sourceFile) place(pos token.Pos, what string) string {
	return fmt.Sprintf("%s:%d: %s", f.path, f.set.Position(pos).Line, what)
}

// trackedFiles lists the files that git knows, relative to root.
func trackedFiles(root string) ([]string, error) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files of %s: %w", root, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

func parseTree(root string) ([]sourceFile, error) {
	names, err := trackedFiles(root)
	if err != nil {
		return nil, err
	}
	var files []sourceFile
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "testdata/") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(tree) {
			continue
		}
		files = append(files, sourceFile{path: name, lines: strings.Split(string(data), "\n"), set: set, tree: tree})
	}
	return files, nil
}

// measureOneWordFunctions counts private functions whose name is a single word. Methods are left
// out: their receiver says the rest.
func measureOneWordFunctions(files []sourceFile) measure {
	m := measure{name: "private functions of one word", barShare: 0.15}
	for _, f := range files {
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.IsExported() || fn.Name.Name == "main" || fn.Name.Name == "init" {
				continue
			}
			m.of++
			if isOneWord(fn.Name.Name) {
				m.places = append(m.places, f.place(fn.Pos(), fn.Name.Name))
			}
		}
	}
	return m
}

func isOneWord(name string) bool {
	return strings.IndexFunc(name, unicode.IsUpper) < 0
}

// measureLargePackages counts the folders with more than 25 Go files, tests included.
func measureLargePackages(files []sourceFile) measure {
	const most = 25
	count := map[string]int{}
	for _, f := range files {
		count[path.Dir(f.path)]++
	}
	m := measure{name: "packages over 25 files", of: len(count)}
	for dir, n := range count {
		if n > most {
			m.places = append(m.places, fmt.Sprintf("%s: %d files", dir, n))
		}
	}
	return m
}

// measureLongLines counts lines of more than 120 columns; a tab is four.
func measureLongLines(files []sourceFile) measure {
	const most = 120
	m := measure{name: "lines over 120 columns", barShare: 0.01}
	for _, f := range files {
		for i, line := range f.lines {
			m.of++
			if width := len([]rune(line)) + 3*strings.Count(line, "\t"); width > most {
				m.places = append(m.places, fmt.Sprintf("%s:%d: %d columns", f.path, i+1, width))
			}
		}
	}
	return m
}
