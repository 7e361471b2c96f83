package partition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// newOverride returns an Override of partitions whose states are in files of a folder.
func newOverride(t *testing.T) (Override, func(states map[string]string)) {
	t.Helper()
	dir := t.TempDir()
	o := Override{Programs: Programs{Scontrol: filepath.Join(dir, "scontrol")}, File: filepath.Join(dir, "record"),
		States: map[string]string{Up: Drain}}
	script := fmt.Sprintf(`#!/bin/sh
cd %s/partitions
case $1 in
update) echo "${3#State=}" >"${2#PartitionName=}" ;;
*) for p in *; do echo "PartitionName=$p AllowGroups=ALL State=$(cat "$p") TotalCPUs=4"; done ;;
esac
`, dir)
	err := errors.Join(process.WriteProgram(o.Programs.Scontrol, []byte(script)),
		os.Mkdir(filepath.Join(dir, "partitions"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return o, func(states map[string]string) {
		t.Helper()
		for name, state := range states {
			if err := os.WriteFile(filepath.Join(dir, "partitions", name), []byte(state+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func expect(t *testing.T, o Override, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	states, err := o.Programs.States(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(states); got != "map["+want+"]" {
		t.Errorf("the partitions are %s, want %s", got, want)
	}
}

func TestOverride(t *testing.T) {
	o, set := newOverride(t)
	set(map[string]string{"a": Up, "b": Up, "c": Down})
	expect(t, o, o.Restore(t.Context()), "a:UP b:UP c:DOWN")
	expect(t, o, o.Set(t.Context(), []string{"a", "b", "c", "unknown"}), "a:DRAIN b:DRAIN c:DOWN")
	expect(t, o, o.Restore(t.Context(), "b"), "a:UP b:DRAIN c:DOWN")
	expect(t, o, o.Restore(t.Context()), "a:UP b:UP c:DOWN")
	if _, overridden := o.Age(); overridden {
		t.Error("the file is still there")
	}
}

// TestSince: a state that is set after a file was written stays. A partition that was overridden earlier may be a different one
// with the same name.
func TestSince(t *testing.T) {
	for name, tc := range map[string]struct {
		since string
		age   time.Duration
		want  string
	}{
		"written before":  {"conf", time.Minute, "a:UP"},
		"written later":   {"conf", -time.Minute, "a:DRAIN"},
		"missing":         {"none", 0, "a:DRAIN"},
		"not asked about": {"", 0, "a:DRAIN"},
	} {
		t.Run(name, func(t *testing.T) {
			o, set := newOverride(t)
			conf := filepath.Join(filepath.Dir(o.File), "conf")
			written := time.Now().Add(-tc.age)
			if err := errors.Join(os.WriteFile(conf, nil, 0o600), os.Chtimes(conf, written, written)); err != nil {
				t.Fatal(err)
			}
			if tc.since != "" {
				o.Since = filepath.Join(filepath.Dir(o.File), tc.since)
			}
			set(map[string]string{"a": Up})
			expect(t, o, o.Set(t.Context(), []string{"a"}), "a:DRAIN")
			set(map[string]string{"a": Up})
			expect(t, o, o.Set(t.Context(), []string{"a"}), tc.want)
		})
	}
}

// TestSeveralStates: each partition gets its own state back.
func TestSeveralStates(t *testing.T) {
	o, set := newOverride(t)
	o.States = map[string]string{Up: Drain, Down: Inactive}
	set(map[string]string{"a b": Up, "c": Down, "d": Drain})
	for _, damaged := range []bool{false, true} {
		expect(t, o, o.Set(t.Context(), []string{"a b", "c", "d"}), "a b:DRAIN c:INACTIVE d:DRAIN")
		if damaged {
			set(map[string]string{"d": Up})
			if err := os.WriteFile(o.File, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			expect(t, o, o.Restore(t.Context()), "a b:UP c:DOWN d:UP")
			return
		}
		expect(t, o, o.Restore(t.Context()), "a b:UP c:DOWN d:DRAIN")
	}
}

// TestAgeOfAFutureFile: a clock that was set back must not keep partitions closed.
func TestAgeOfAFutureFile(t *testing.T) {
	o, set := newOverride(t)
	set(map[string]string{"a": Up})
	expect(t, o, o.Set(t.Context(), []string{"a"}), "a:DRAIN")
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(o.File, future, future); err != nil {
		t.Fatal(err)
	}
	if age, _ := o.Age(); age < 50*time.Minute {
		t.Errorf("the file is %s old", age)
	}
}

// TestAgeByAnotherClock: the clock of a file server is ahead of this machine's, or behind, and another agent of the cluster wrote
// the file a moment ago.
func TestAgeByAnotherClock(t *testing.T) {
	for _, skew := range []time.Duration{2 * time.Minute, -2 * time.Minute} {
		o, set := newOverride(t)
		o.volumeTime = func() (time.Time, error) { return time.Now().Add(skew), nil }
		set(map[string]string{"a": Up})
		expect(t, o, o.Set(t.Context(), []string{"a"}), "a:DRAIN")
		written := time.Now().Add(skew)
		if err := os.Chtimes(o.File, written, written); err != nil {
			t.Fatal(err)
		}
		if age, overridden := o.Age(); !overridden || age > time.Minute {
			t.Errorf("with a skew of %s a file that was just written is %s old", skew, age)
		}
		o.Since = filepath.Join(filepath.Dir(o.File), "conf")
		earlier := time.Now().Add(-time.Minute)
		if err := errors.Join(os.WriteFile(o.Since, nil, 0o600), os.Chtimes(o.Since, earlier, earlier)); err != nil {
			t.Fatal(err)
		}
		set(map[string]string{"a": Up})
		expect(t, o, o.Set(t.Context(), []string{"a"}), "a:UP")
	}
}

// TestAgeOnAFullVolume: this machine's time is used instead.
func TestAgeOnAFullVolume(t *testing.T) {
	o, set := newOverride(t)
	set(map[string]string{"a": Up})
	expect(t, o, o.Set(t.Context(), []string{"a"}), "a:DRAIN")
	o.volumeTime = func() (time.Time, error) { return time.Time{}, errors.New("no space left on device") }
	if age, overridden := o.Age(); !overridden || age > time.Minute {
		t.Errorf("a file that was just written is %s old", age)
	}
}
