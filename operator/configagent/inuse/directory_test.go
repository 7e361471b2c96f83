package inuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeDirectory is a Directory whose programs know names.
type fakeDirectory struct {
	*testing.T
	Directory
	dir string
}

// getentScript is a getent that reads digits as a number, prints the entries that it finds and ends with 2 if a name is missing. SSSD
// finds "ALICE" and prints "alice".
const getentScript = `#!/bin/sh
echo "getent $*" >>"%[1]s/calls"
known=:$(tr '\n' : <"%[1]s/$1"):; shift 2
for name; do
	case $name in broken) exit 1 ;; ALICE) echo alice:x:1; continue ;; *[!0-9]*) ;; *) missing=1; continue ;; esac
	case $known in *:"$name":*) echo "$name:x:1" ;; *) missing=1 ;; esac
done
exit ${missing:+2}
`

// idScript is an id, which ends with 1 if a name is missing.
const idScript = `#!/bin/sh
echo "id $*" >>"%[1]s/calls"
known=:$(tr '\n' : <"%[1]s/passwd"):; shift 2
for name; do
	case $known in *:"$name":*) echo 1 ;; *) missing=1 ;; esac
done
exit ${missing:+1}
`

func newDirectory(t *testing.T, users, groups []string) fakeDirectory {
	t.Helper()
	dir := t.TempDir()
	d := fakeDirectory{T: t, dir: dir, Directory: Directory{Getent: filepath.Join(dir, "getent"), ID: filepath.Join(dir, "id")}}
	for name, text := range map[string]string{"passwd": strings.Join(users, "\n"), "group": strings.Join(groups, "\n"),
		"getent": fmt.Sprintf(getentScript, dir), "id": fmt.Sprintf(idScript, dir), "calls": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// calls returns the calls of the programs.
func (d fakeDirectory) calls() string {
	d.Helper()
	out, err := os.ReadFile(filepath.Join(d.dir, "calls"))
	if err != nil {
		d.Fatal(err)
	}
	return string(out)
}

// TestDirectory: all names are looked up at once, and single ones only if some are missing.
func TestDirectory(t *testing.T) {
	for _, tc := range []struct {
		name, database  string
		names           []string
		unknown, called string
	}{
		{"all are known", "passwd", []string{"alice", "domain user", "bob"}, "", "getent passwd -- alice domain user bob\n"},
		{"a user is missing", "passwd", []string{"alice", "carol", "bob"}, "carol", "getent passwd -- alice carol bob\ngetent passwd -- carol\n"},
		{"another spelling beside a missing user", "passwd", []string{"ALICE", "bob", "carol"}, "carol",
			"getent passwd -- ALICE bob carol\ngetent passwd -- ALICE\ngetent passwd -- carol\n"},
		{"a group is missing", "group", []string{"hpc", "alice"}, "alice", "getent group -- hpc alice\ngetent group -- alice\n"},
		{"a user whose name is a number", "passwd", []string{"20231234"}, "", "id -u -- 20231234\n"},
		{"numbers among other names", "passwd", []string{"1", "20231234", "alice"}, "1",
			"getent passwd -- alice\nid -u -- 1 20231234\nid -u -- 1\nid -u -- 20231234\n"},
		{"a group whose name is a number cannot be looked up", "group", []string{"4711"}, "", ""},
		{"a name that begins as an option", "passwd", []string{"-s"}, "-s", "getent passwd -- -s\ngetent passwd -- -s\n"},
		{"nobody", "passwd", nil, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDirectory(t, []string{"alice", "bob", "domain user", "20231234"}, []string{"hpc", "staff"})
			unknown, err := d.FindUnknown(t.Context(), tc.database, tc.names)
			if got := strings.Join(unknown, ","); err != nil || got != tc.unknown {
				t.Errorf("%q are unknown, want %q: %v", got, tc.unknown, err)
			}
			if got := d.calls(); got != tc.called {
				t.Errorf("the calls are\n%swant\n%s", got, tc.called)
			}
		})
	}
}

// TestDirectoryOfThousands needs a few programs for as many members as a university has.
func TestDirectoryOfThousands(t *testing.T) {
	var users []string
	for i := range 2*maxNames + 1 {
		users = append(users, fmt.Sprint("user", i))
	}
	d := newDirectory(t, users[:len(users)-1], nil)
	unknown, err := d.FindUnknown(t.Context(), "passwd", users)
	if err != nil || !slices.Equal(unknown, users[len(users)-1:]) {
		t.Errorf("%q are unknown: %v", unknown, err)
	}
	if calls := strings.Count(d.calls(), "\n"); calls != 4 {
		t.Errorf("there are %d calls, want 3 and one for the missing user", calls)
	}
}

// TestDirectoryThatFails: only the status for an unknown name means that a user is missing.
func TestDirectoryThatFails(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	d := newDirectory(t, []string{"alice"}, nil)
	none := Directory{Getent: filepath.Join(t.TempDir(), "none"), ID: "none"}
	for _, tc := range []struct {
		name      string
		ctx       context.Context //nolint:containedctx // it is what a case is about
		directory Directory
		user      string
		want      string
	}{
		{"another status", t.Context(), d.Directory, "broken", "looking broken up with " + d.Getent + ": exit status 1"},
		{"no getent", t.Context(), none, "carol", "no such file"},
		{"no id", t.Context(), none, "7", "executable file not found"},
		{"no answer in time", ended, d.Directory, "carol", "context canceled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			unknown, err := tc.directory.FindUnknown(tc.ctx, "passwd", []string{tc.user})
			if len(unknown) > 0 || err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q are unknown, the error is %v, want %q", unknown, err, tc.want)
			}
			if isEnd := errors.Is(err, context.Canceled); isEnd != (tc.ctx.Err() != nil) {
				t.Errorf("the error %v is that of the context: %t", err, isEnd)
			}
		})
	}
}
