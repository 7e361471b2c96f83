//go:build e2e

package accounts

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/configagent/accounts"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// env is a cluster with the accounts hpc (bob, carol) and ml (alice, carol), and a loader for its slurmdbd.
type env struct {
	*testing.T
	cluster *realslurm.Cluster
	loader  accounts.Loader
	// name is the ClusterName.
	name string
}

func newEnv(t *testing.T, release string) *env {
	t.Helper()
	name := "prune" + strings.ReplaceAll(release, ".", "")
	cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, Name: name, Nodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	// The folder of the cluster is /inst inside of it, where there is a slurm.conf as well.
	script := fmt.Sprintf("#!/bin/bash\nexec %[1]s/bin/sacctmgr \"${@//%[2]s//inst}\"\n", cluster.Dir,
		strings.ReplaceAll(cluster.Dir, "/", `\/`))
	program := filepath.Join(t.TempDir(), "sacctmgr")
	if err := process.WriteProgram(program, []byte(script)); err != nil {
		t.Fatal(err)
	}
	return &env{t, cluster, accounts.Loader{Sacctmgr: program, TempDir: filepath.Join(cluster.Dir, "scratch"), User: "slurm",
		Port: func() (int32, error) { return 6819, nil }, Log: slog.New(slog.DiscardHandler)}, name}
}

// account returns lines of an account with users.
func account(name string, users ...string) string {
	out := "Parent - root\nAccount - " + name + "\nParent - " + name + "\n"
	for _, user := range users {
		out += "User - " + user + "\n"
	}
	return out
}

// load loads files with prune. Each text gets the line of the cluster.
func (e *env) load(change func(*slurmconf.Accounts), texts ...string) (string, error) {
	wanted := slurmconf.Accounts{Prune: true, Files: map[string]string{}}
	for i, text := range texts {
		wanted.Files[fmt.Sprintf("%d.cfg", i)] = "Cluster - " + e.name + "\n" + text
	}
	if change != nil {
		change(&wanted)
	}
	return e.loader.Load(e.Context(), wanted)
}

// check compares the accounts and users of the cluster.
func (e *env) check(step, want string) {
	e.Helper()
	out, err := e.cluster.Run(e.Context(), "", "sacctmgr", "-nP", "show", "assoc", "where", "cluster="+e.name,
		"format=account,user")
	if err != nil {
		e.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "root|") {
			got = append(got, line)
		}
	}
	if all := strings.Join(got, " "); all != want {
		e.Errorf("%s: the database has %q, not %q", step, all, want)
	}
}

// refused checks an error.
func (e *env) refused(step string, err error, want string) {
	e.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		e.Errorf("%s: the error is %v, without %q", step, err, want)
	}
}

func TestPrune(t *testing.T) {
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	const all = "hpc| hpc|bob hpc|carol ml| ml|alice ml|carol"
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t, release)
			e.check("at first", all)
			_, err := e.load(nil, "")
			e.refused("a file without accounts", err, "never removes all")
			_, err = e.load(nil, account("hpc", "bob", "carol"), account("ml", "alice", "carol"))
			if err != nil {
				t.Error(err)
			}
			e.check("two files", all)
			_, err = e.load(nil, account("hpc", "bob", "carol"))
			e.refused("too many", err, "would remove 3 of 6")
			e.check("too many", all)

			script := []string{"sbatch", "--parsable", "--hold", "--account=ml", "--output=/dev/null", "--chdir=/", "--wrap=true"}
			job, err := e.cluster.Run(t.Context(), "alice", script...)
			if err != nil {
				t.Fatal(err)
			}
			few := account("hpc", "bob", "carol") + account("ml", "carol")
			process.Await(t, func() error { // slurmctld reports the job to slurmdbd
				if _, err := e.load(nil, few); err == nil || !strings.Contains(err.Error(), "Job(s) active") {
					return fmt.Errorf("of a user with a held job the error is %w", err)
				}
				return nil
			})
			e.check("a held job", all)
			if _, err := e.cluster.Run(t.Context(), "", "scancel", strings.TrimSpace(job)); err != nil {
				t.Fatal(err)
			}
			process.Await(t, func() error { _, err := e.load(nil, few); return err })
			e.check("the job has ended", "hpc| hpc|bob hpc|carol ml| ml|carol")

			// carol's default account can be removed only after her other one.
			shown, err := e.load(func(a *slurmconf.Accounts) { a.DryRun = true }, account("hpc", "bob"))
			_, name, found := strings.Cut(shown, "remove-accounts=")
			if err != nil || !found {
				t.Fatalf("the dry run shows %q, %v", shown, err)
			}
			name, _, _ = strings.Cut(name, ";")
			if _, err := e.load(func(a *slurmconf.Accounts) { a.Removals = []string{name} }, account("hpc", "bob")); err != nil {
				t.Error(err)
			}
			e.check("confirmed", "hpc| hpc|bob")
		})
	}
}
