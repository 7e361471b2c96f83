package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

func TestInvalidArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, args, want string }{
		{"no subcommand of demo", "demo", "must select a subcommand"},
		{"an unknown command", "dream", `unknown command "dream"`},
		{"an unknown subcommand", "demo dream", `unknown command "dream"`},
		{"an argument", "demo run fast", `"fast"`},
		{"an unknown flag", "demo run --fast", "unknown flag: --fast"},
		{"a flag of another subcommand", "demo down --ci", "unknown flag: --ci"},
		{"no repository", "demo run --repository=" + file + ".gone", "does not exist"},
		{"a file as repository", "demo run --repository=" + file, "is not a folder"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseFlags(strings.Fields(tc.args))
			if err == nil || errors.Is(err, flags.ErrPrinted) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestFlagsSetTheOptions(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct {
		name, args    string
		pictures, dir string
		ci, simulate  bool
	}{
		{"defaults", "demo run", dir + "/.run/demo", dir + "/.run/demo", false, false},
		{"flags before the command", "--dir=/d demo down", "/d", "/d", false, false},
		{"switches", "demo run --ci --simulate --pictures=/p", "/p", dir + "/.run/demo", true, true},
		{"switches that are off", "demo run --no-ci --no-simulate", dir + "/.run/demo", dir + "/.run/demo", false,
			false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o, err := parseFlags(append([]string{"--repository=" + dir}, strings.Fields(tc.args)...))
			if err != nil || o.subcommand == nil {
				t.Fatalf("the error is %v", err)
			}
			if o.pictures != tc.pictures || o.dir != tc.dir || o.ci != tc.ci || o.simulate != tc.simulate {
				t.Errorf("the options are %+v", o)
			}
		})
	}
}
