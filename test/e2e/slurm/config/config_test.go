//go:build e2e

package config

import (
	"flag"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// forEachRelease runs a test with a cluster of every release.
func forEachRelease(t *testing.T, test func(t *testing.T, release string, tr trial)) {
	t.Helper()
	forReleases(t, realslurm.Versions(), test)
}

var long = flag.Bool("long", false, "run every test on every release, not only the short ones")

// forNewestRelease runs a test that takes minutes on the newest release, and on every one with -long.
func forNewestRelease(t *testing.T, test func(t *testing.T, release string, tr trial)) {
	t.Helper()
	all := realslurm.Versions()
	if !*long {
		all = all[len(all)-1:]
	}
	forReleases(t, all, test)
}

// forEachReleaseIfLong runs a test that takes long with a cluster of every release, only with -long.
func forEachReleaseIfLong(t *testing.T, test func(t *testing.T, release string, tr trial)) {
	t.Helper()
	if !*long {
		t.Skip("it runs only with -long")
	}
	forReleases(t, realslurm.Versions(), test)
}

// forReleases runs a test beside a slurmctld of each release.
func forReleases(t *testing.T, releases []string, test func(t *testing.T, release string, tr trial)) {
	t.Helper()
	if missing := realslurm.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	t.Parallel()
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: release, WithoutAccounting: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := cluster.Close(); err != nil {
					t.Error(err)
				}
			})
			tr, err := newTrial(t.Context(), cluster)
			if err != nil {
				t.Fatal(err)
			}
			test(t, release, tr)
		})
	}
}

// slurmConf returns a configuration for the host of the cluster, changed by change.
func (tr trial) slurmConf(change func(*slurmconf.SlurmConf)) slurmconf.SlurmConf {
	c := slurmconf.SlurmConf{ClusterName: "trial", Hosts: []string{"ctl"}, Address: "ctl", Port: tr.port,
		SlurmdPort: 6818, MaxNodeCount: 10}
	change(&c)
	return c
}

// TestSlurmctldReadsWhatIsRendered compares the options of a real slurmctld with the rendered ones.
func TestSlurmctldReadsWhatIsRendered(t *testing.T) {
	cases := []struct {
		name   string
		change func(*slurmconf.SlurmConf)
		want   []string
	}{
		{"the least", func(*slurmconf.SlurmConf) {}, []string{"ClusterName = trial", "MaxNodeCount = 10",
			"AuthType = auth/slurm", "CredType = cred/slurm", "AuthInfo = use_client_ids",
			"AuthAltTypes = auth/jwt", "SlurmctldParameters = enable_configless", "SlurmctldAddr = ctl"}},
		{"NodeSets and partitions", func(c *slurmconf.SlurmConf) {
			c.NodeSets = []slurmconf.NodeSet{{Name: "cpu"}, {Name: "gpu", HasPartition: true,
				PartitionOptions: "Default=YES MaxTime=5 # the rest is a comment"}}
		}, []string{"PartitionName=gpu", "Default=YES", "MaxTime=00:05:00", "NodeSets=gpu"}},
		{"scripts of both", func(c *slurmconf.SlurmConf) {
			c.Prologs, c.ControllerEpilogs, c.Extra = []string{"a.sh"}, []string{"c.sh"}, "Prolog=b.sh"
		}, []string{"Prolog[0] = a.sh", "Prolog[1] = b.sh", "EpilogSlurmctld[0] = /etc/slurm/c.sh"}},
		{"lists of both, after a continued line", func(c *slurmconf.SlurmConf) {
			c.Extra = "slurmctldparameters=idle_on_node_suspend\nMailDomain=x\\\n"
		}, []string{"SlurmctldParameters = enable_configless,idle_on_node_suspend", "MailDomain = x"}},
		{"a list of both, added to", func(c *slurmconf.SlurmConf) { c.Extra = "SlurmctldParameters+=idle_on_node_suspend" },
			[]string{"SlurmctldParameters = enable_configless,idle_on_node_suspend"}},
		{"the user's option", func(c *slurmconf.SlurmConf) { c.Extra = "maxnodecount=7" }, []string{"MaxNodeCount = 7"}},
		{"space and hashes", func(c *slurmconf.SlurmConf) { c.Extra = `MailDomain="a \#b\\c"` },
			[]string{`MailDomain = a #b\c`}},
		{"an escaped line end", func(c *slurmconf.SlurmConf) { c.Extra = "MailDomain=a\\\\\nTreeWidth=7" },
			[]string{`MailDomain = a\`, "TreeWidth = 7"}},
	}
	forEachRelease(t, func(t *testing.T, release string, tr trial) {
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				conf := tr.slurmConf(func(c *slurmconf.SlurmConf) {
					tc.change(c)
					c.HasMetrics = release != "24.11"
				})
				text, err := conf.Render()
				if err != nil {
					t.Fatal(err)
				}
				files := map[string]string{"slurm.conf": text}
				for _, script := range []string{"a.sh", "b.sh", "c.sh"} {
					files[script] = "#!/bin/sh\n"
				}
				out, err := tr.run(t.Context(), files, "slurmctld", "Running as primary controller",
					"sh", "-c", "scontrol show config && scontrol show partition")
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(strings.Fields(out), " ")
				for _, want := range tc.want {
					if !strings.Contains(got, want) {
						t.Errorf("slurmctld does not have %q:\n%s\n%s", want, text, out)
					}
				}
			})
		}
	})
}

// TestSlurmctldRefusesWhatWeRefuse checks the values that package slurmconf refuses: a real slurmctld refuses them too,
// or reads them as something else.
func TestSlurmctldRefusesWhatWeRefuse(t *testing.T) {
	lines := map[string]string{
		"a quotation mark": `MailDomain="a b"c"`,
		"a line break":     "MailDomain=a\rSlurmdTimeout=7",
		"no value":         "MailDomain=",
		"two words":        "MailDomain=a b",
		"a NUL":            "MailDomain=a\x00b",
	}
	means := map[string]string{"a NUL": "MailDomain = a"}
	forEachRelease(t, func(t *testing.T, _ string, tr trial) {
		for name, line := range lines {
			t.Run(name, func(t *testing.T) {
				text, err := tr.slurmConf(func(*slurmconf.SlurmConf) {}).Render()
				if err != nil {
					t.Fatal(err)
				}
				out, err := tr.run(t.Context(), map[string]string{"slurm.conf": text + line + "\n"}, "slurmctld",
					"Running as primary controller", "sh", "-c", "scontrol show config | grep '^MailDomain '")
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(strings.Fields(out), " ")
				if want := means[name]; want != "" && strings.HasPrefix(got, want) {
					return
				}
				if !strings.Contains(got, "fatal: Unable to process configuration file") {
					t.Errorf("slurmctld takes %q:\n%s", line, out)
				}
			})
		}
	})
}

// TestSlurmdbdReadsWhatIsRendered starts a real slurmdbd, which reads its configuration and stops at its database.
func TestSlurmdbdReadsWhatIsRendered(t *testing.T) {
	forEachRelease(t, func(t *testing.T, _ string, tr trial) {
		text, err := slurmconf.SlurmdbdConf{Host: "ctl", Port: tr.port, StorageHost: "127.0.0.1", StoragePort: 1,
			Database: "slurm_acct_db", User: "slurm", Extra: "PurgeJobAfter=12months"}.Render()
		if err != nil {
			t.Fatal(err)
		}
		if text, err = slurmconf.AddStoragePassword(text, "a b#c"); err != nil {
			t.Fatal(err)
		}
		conf, err := tr.slurmConf(func(*slurmconf.SlurmConf) {}).Render()
		if err != nil {
			t.Fatal(err)
		}
		const waits = "The database must be up when starting the MYSQL plugin"
		out, err := tr.run(t.Context(), map[string]string{"slurmdbd.conf": text, "slurm.conf": conf}, "slurmdbd", waits, "true")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, waits) {
			t.Errorf("slurmdbd does not wait for its database:\n%s", out)
		}
		out, err = tr.run(t.Context(), map[string]string{"slurmdbd.conf": text + "Nonsense=1\n", "slurm.conf": conf},
			"slurmdbd", waits, "true")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out, "Parsing error at unrecognized key: Nonsense") {
			t.Errorf("slurmdbd takes an option that it does not know:\n%s", out)
		}
	})
}
