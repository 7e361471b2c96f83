// Package floors checks the layering of the module: packages import only packages on lower floors.
package floors

import (
	_ "embed"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/slurmtide/slurmtide/"

// floors maps path prefixes, the most specific first, to floors.
var floors = []struct {
	prefix string
	floor  int
}{
	{"slurmclient/slurm", 0},
	{"slurmclient/hostlist", 0},
	{"slurmclient/signing", 0},
	{"operator/podspec", 1},
	{"operator/refs", 1},
	{"operator/shape", 1},
	{"operator/sshd", 1},
	{"operator/scaling", 1},
	{"operator/problem", 1},
	{"operator/holder", 1},
	{"operator/deploymentstatus", 1},
	{"operator/access", 3},
	{"operator/certs", 3},
	{"operator/api", 0},
	{"operator/names", 0},
	{"operator/releases", 0},
	{"operator/slurmconf", 0},
	{"charts", 0},
	{"slurmclient/occupancy", 1},
	{"slurmclient/references", 1},
	{"slurmclient/constraint", 0},
	{"slurmclient/internal", 1},
	{"slurmclient/api", 1},
	{"slurmclient/slurmtest", 2},
	{"slurmclient/demand", 3},
	{"slurmclient", 2},
	{"exporter", 4},
	{"metricsapi", 4},
	{"operator", 4},
	{"cmd", 5},
	{"test", 6},
	{"hack", 6},
	{"tools", 5},
}

// isUnder reports whether path is the folder prefix or inside it.
func isUnder(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

func floorOf(t *testing.T, path string) int {
	t.Helper()
	for _, f := range floors {
		if isUnder(path, f.prefix) {
			return f.floor
		}
	}
	t.Fatalf("%s has no floor: add it to floors", path)
	return 0
}

type sourceFile struct {
	path    string // folder, relative to the root of the module
	name    string
	imports []string
}

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	const root = "../.."
	var out []sourceFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata") &&
			path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		s := sourceFile{path: filepath.ToSlash(filepath.Dir(rel)), name: rel}
		for _, imp := range file.Imports {
			name, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, name)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d source files found: the test searches the wrong folder", len(out))
	}
	return out
}

func TestImportsPointDown(t *testing.T) {
	for _, file := range sourceFiles(t) {
		for _, imp := range file.imports {
			to, ours := strings.CutPrefix(imp, module)
			if ours && !mayImport(t, file.path, to) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", file.name, floorOf(t, file.path), to, floorOf(t, to))
			}
		}
	}
}

// mayImport is the rule: packages may import from lower floors, and from the same floor within one
// part.
func mayImport(t *testing.T, from, to string) bool {
	t.Helper()
	lower, upper := floorOf(t, to), floorOf(t, from)
	return lower < upper || lower == upper && mayShareFloor(from, to)
}

// mayShareFloor allows imports within one part, and from the decoders to the bindings.
func mayShareFloor(from, to string) bool {
	part := func(p string) string { part, _, _ := strings.Cut(p, "/"); return part }
	if isUnder(from, "slurmclient/internal") && isUnder(to, "slurmclient/api") {
		return true
	}
	if part(from) != part(to) {
		return false
	}
	if isUnder(to, "slurmclient/slurmtest/internal") {
		return isUnder(from, "slurmclient/slurmtest")
	}
	return !isUnder(to, "slurmclient/slurmtest") && !isUnder(from, "slurmclient/slurm") &&
		!isUnder(from, "slurmclient/hostlist")
}

func TestSlurmclientImportsNeitherKubernetesNorPrometheus(t *testing.T) {
	foreign := regexp.MustCompile(`^(k8s\.io|sigs\.k8s\.io|github\.com/prometheus|` + module + `operator)/`)
	for _, file := range sourceFiles(t) {
		if !isUnder(file.path, "slurmclient") {
			continue
		}
		for _, imp := range file.imports {
			if foreign.MatchString(imp) {
				t.Errorf("%s imports %s", file.name, imp)
			}
		}
	}
}

func TestAPITypesImportOnlyKubernetesTypes(t *testing.T) {
	allowed := regexp.MustCompile(`^([a-z]+(/[a-z0-9]+)*|k8s\.io/(api|apimachinery)/.*|` + module + `operator/api/.*)$`)
	seen := 0
	for _, file := range sourceFiles(t) {
		if !isUnder(file.path, "operator/api") || floorOf(t, file.path) > 0 {
			continue
		}
		seen++
		for _, imp := range file.imports {
			if !allowed.MatchString(imp) {
				t.Errorf("%s imports %s", file.name, imp)
			}
		}
	}
	if seen == 0 {
		t.Fatal("operator/api has no source files: the test searches the wrong folder")
	}
}

// TestMayImport tests the rule itself on imports that do not exist.
func TestMayImport(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"operator/wakeup", "operator/api/v1beta1", true},
		{"metricsapi", "operator/api/v1beta1", true},
		{"metricsapi", "slurmclient/demand", true},
		{"metricsapi/serving", "metricsapi", true},
		{"cmd/slurm-metrics-adapter", "exporter", true},
		{"operator/api/v1alpha1", "operator/api/v1beta1", true},
		{"metricsapi/clusters", "operator/access", true},
		{"metricsapi", "operator/scaling", true},
		{"operator/slurmclients", "operator/access", true},
		{"operator/admission", "operator/certs", true},
		{"metricsapi", "operator/wakeup", false},
		{"operator/api/v1beta1", "operator/access", false},
		{"operator/scaling", "slurmclient", false},
		{"operator/access", "operator/slurmclients", false},
		{"metricsapi", "exporter", false},
		{"exporter", "metricsapi", false},
		{"operator/wakeup", "metricsapi", false},
		{"operator/wakeup", "cmd/slurm-operator", false},
		{"operator/api/v1beta1", "operator/wakeup", false},
		{"operator/api/v1beta1", "slurmclient/slurm", false},
		{"slurmclient/demand", "operator/wakeup", false},
	} {
		if got := mayImport(t, c.from, c.to); got != c.allowed {
			t.Errorf("%s may import %s: %v, want %v", c.from, c.to, got, c.allowed)
		}
	}
}

func TestOnlyWireImportsVersionedBindings(t *testing.T) {
	versioned := regexp.MustCompile(`/slurmclient/api/v\d{4}$`)
	for _, file := range sourceFiles(t) {
		if isUnder(file.path, "slurmclient/internal/wire") || isUnder(file.path, "slurmclient/api") ||
			isUnder(file.path, "test") {
			continue
		}
		for _, imp := range file.imports {
			if versioned.MatchString(imp) {
				t.Errorf("%s imports %s: only slurmclient/internal/wire may", file.name, imp)
			}
		}
	}
}

// purePackages decide without I/O: the same arguments give the same result. hack/test runs their tests without the race
// detector, which has nothing to find in them.
//
//go:embed pure_packages.txt
var pureList string

var purePackages = strings.Fields(pureList)

// impureCode matches what pure packages must not use: contexts, clients, files, HTTP, goroutines and the clock. They may use the pure
// functions of package net, such as ParseIP and JoinHostPort; no expression here distinguishes these from a dial.
var impureCode = regexp.MustCompile(`"(context|os|os/exec|net/http|math/rand(/v2)?)"|` +
	`"(k8s\.io/client-go|sigs\.k8s\.io/controller-runtime/pkg/client)[/"]|` +
	`\bgo (func\b|[\w.]+\()|"sync|\btime\.(Now|Since|Until|After|AfterFunc|Sleep|Tick|NewTimer|NewTicker)\(`)

func TestPurePackages(t *testing.T) {
	files := map[string]int{}
	for _, file := range sourceFiles(t) {
		if !slices.Contains(purePackages, file.path) {
			continue
		}
		files[file.path]++
		text, err := os.ReadFile(filepath.Join("../..", file.name))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := impureCode.FindString(line); found != "" {
				t.Errorf("%s:%d: a pure package has %s", file.name, i+1, found)
			}
		}
	}
	for _, path := range purePackages {
		if files[path] == 0 {
			t.Errorf("%s has no source files", path)
		}
	}
}

// TestImpureCode tests the rule itself.
func TestImpureCode(t *testing.T) {
	for line, impure := range map[string]bool{
		`	"context"`: true, `	"sync/atomic"`: true, `	go func() {`: true, `	go c.watch(`: true, `	"k8s.io/client-go/kubernetes"`: true,
		`	"sigs.k8s.io/controller-runtime/pkg/client"`: true,
		`	begin := time.Now()`:                         true, `	return time.Since(begin)`: true,
		`	"k8s.io/api/core/v1"`: false, `	return now.Add(time.Minute)`: false, `	"net/netip"`: false,
	} {
		if got := impureCode.MatchString(line); got != impure {
			t.Errorf("%s is impure: %t, want %t", line, got, impure)
		}
	}
}
