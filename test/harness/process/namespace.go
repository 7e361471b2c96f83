package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// PIDNamespace keeps a pid namespace alive until it is closed. Linux gives the number of a deleted namespace to the
// next new one, and a search would then find the processes of another cluster.
type PIDNamespace struct {
	file *os.File
	name string // as the link /proc/PID/ns/pid shows it
}

// OpenPIDNamespace opens the pid namespace of a process, which the caller closes.
func OpenPIDNamespace(pid int) (*PIDNamespace, error) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return nil, err
	}
	name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &PIDNamespace{file: file, name: name}, nil
}

// Close lets the namespace go.
func (n *PIDNamespace) Close() error { return n.file.Close() }

// Programs returns the names of the programs that run in the namespace. Zombies, which have ended and wait for their
// parent to notice, do not count.
func (n *PIDNamespace) Programs(t testing.TB) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != n.name {
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
