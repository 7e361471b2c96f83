package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// NamesIn returns the names of the programs that run in a pid namespace, which is given as the link
// /proc/PID/ns/pid shows it. Processes that have ended and wait for their parent to notice (zombies)
// do not run.
func NamesIn(t testing.TB, namespace string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != namespace {
			continue // exited, or in another namespace
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(link)), "stat"))
		if err != nil {
			continue // exited
		}
		// "PID (name) state ...": the name may contain parentheses (proc(5)).
		text := string(stat)
		begin, end := strings.Index(text, "("), strings.LastIndex(text, ") ")
		if begin < 0 || end < begin || strings.HasPrefix(text[end+2:], "Z") {
			continue
		}
		found = append(found, text[begin+1:end])
	}
	return found
}
