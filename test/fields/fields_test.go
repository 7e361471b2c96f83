// Package fields checks every field that users may set: code reads it, or the list in this package names how users
// learn that it is ignored.
package fields

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

const apiPackage = "github.com/slurmtide/slurmtide/operator/api/v1beta1"

// unreadFields are the fields, as type and name, that no code reads, and how users learn that.
func unreadFields() map[string]string {
	return map[string]string{
		"PodTemplate.Extra":         "unknown fields, which are kept for other versions",
		"VolumeClaimTemplate.Extra": "unknown fields, which are kept for other versions",
		"NodeSetPartition.Config":   "the condition FieldsIgnored and a warning, both of spec.partition",
	}
}

// readerPackages are the packages whose reads count. Packages that validate, convert or copy
// objects do not act on a field.
var readerPackages = []string{
	"./operator/nodeset/...", "./operator/slurmclients", "./operator/cluster", "./operator/token", "./operator/wakeup",
	"./operator/access", "./operator/refs", "./operator/names", "./operator/scaling", "./operator/shape",
	"./metricsapi/...",
}

func TestEveryFieldIsReadOrReported(t *testing.T) {
	read := fieldsRead(t)
	expected := map[string]bool{}
	for _, spec := range []any{v1beta1.NodeSetSpec{}, v1beta1.ClusterSpec{}, v1beta1.TokenSpec{}} {
		collectFields(reflect.TypeOf(spec), expected)
	}
	if len(expected) < 40 || len(read) == 0 {
		t.Fatalf("%d fields are known and %d are read: the test does not find the types or the readers",
			len(expected), len(read))
	}
	for _, field := range slices.Sorted(maps.Keys(expected)) {
		how, listed := unreadFields()[field]
		switch {
		case !read[field] && !listed:
			t.Errorf("no code reads %s: implement it, or add it to IgnoredFields and to unreadFields", field)
		case read[field] && listed:
			t.Errorf("%s is read, so remove it from unreadFields (%s)", field, how)
		}
	}
}

// collectFields adds the fields of our struct types, as type and name.
func collectFields(t reflect.Type, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() != apiPackage || t == reflect.TypeFor[v1beta1.Raw]() {
		return
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() && !f.Anonymous {
			into[t.Name()+"."+f.Name] = true
			collectFields(f.Type, into)
		}
	}
}

// fieldsRead returns the fields of our types that the reader packages select, as type and name.
func fieldsRead(t *testing.T) map[string]bool {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Export}}\t{{.DepOnly}}\t{{.Dir}}\t{{range .GoFiles}}{{.}} {{end}}"}, readerPackages...)...)
	list.Dir = filepath.Join("..", "..")
	list.Stderr = os.Stderr
	text, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, sources := map[string]string{}, map[string][]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		word := strings.Split(lines.Text(), "\t")
		exports[word[0]] = word[1]
		if word[2] == "false" {
			for file := range strings.FieldsSeq(word[4]) {
				sources[word[0]] = append(sources[word[0]], filepath.Join(word[3], file))
			}
		}
	}
	files := token.NewFileSet()
	load := importer.ForCompiler(files, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	out := map[string]bool{}
	for path, names := range sources {
		addReadFields(t, files, load, path, names, out)
	}
	return out
}

func addReadFields(t *testing.T, files *token.FileSet, load types.Importer, path string, names []string,
	into map[string]bool) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: load}).Check(path, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	for _, s := range info.Selections {
		receiver := s.Recv()
		if pointer, ok := receiver.Underlying().(*types.Pointer); ok {
			receiver = pointer.Elem()
		}
		named, ok := receiver.(*types.Named)
		if ok && s.Kind() == types.FieldVal && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == apiPackage {
			into[named.Obj().Name()+"."+s.Obj().Name()] = true
		}
	}
}
