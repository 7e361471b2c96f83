package slurmconf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newSlurmConf returns a small configuration, changed by change.
func newSlurmConf(change func(*SlurmConf)) SlurmConf {
	c := SlurmConf{ClusterName: "team_c", Hosts: []string{"c-controller-0"}, Address: "c-controller.team",
		Port: 6817, SlurmdPort: 6818}
	change(&c)
	return c
}

const smallSlurmConf = `ClusterName=team_c
SlurmctldHost=c-controller-0
SlurmctldAddr=c-controller.team
SlurmctldPort=6817
SlurmdPort=6818
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmctldPidFile=/run/slurmctld/slurmctld.pid
SlurmdSpoolDir=/var/spool/slurmd
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json
SlurmctldParameters=enable_configless
ReconfigFlags=KeepPartState
`

func TestRenderSlurmConf(t *testing.T) {
	drop := func(line string) string { return strings.Replace(smallSlurmConf, line+"\n", "", 1) }
	for _, tc := range []struct {
		name   string
		change func(*SlurmConf)
		want   string
	}{
		{"the least", func(*SlurmConf) {}, smallSlurmConf},
		{"everything", func(c *SlurmConf) {
			c.Hosts = append(c.Hosts, "c-controller-1")
			c.Accounting, c.AccountingPort, c.HasMetrics, c.MaxNodeCount = "a.team", 6819, true, 40
			c.Prologs, c.ControllerEpilogs = []string{"a.sh", "b.sh"}, []string{"c.sh"}
			c.NodeSets = []NodeSet{{Name: "cpu"}, {Name: "gpu", HasPartition: true, PartitionOptions: `MaxTime=5 Comment="x y"`},
				{Name: "big", HasPartition: true}}
		}, strings.NewReplacer("=c-controller-0\n", "=c-controller-0\nSlurmctldHost=c-controller-1\n",
			"AuthType", "MaxNodeCount=40\nAuthType").
			Replace(smallSlurmConf) + `AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=a.team
AccountingStoragePort=6819
RebootProgram=/bin/true
MetricsType=metrics/openmetrics
Prolog=a.sh
Prolog=b.sh
EpilogSlurmctld=/etc/slurm/c.sh
NodeSet=cpu Feature=cpu
NodeSet=gpu Feature=gpu
PartitionName=gpu Nodes=gpu MaxTime=5 Comment="x y"
NodeSet=big Feature=big
PartitionName=big Nodes=big
`},
		{"ssh to workers needs the extern step", func(c *SlurmConf) {
			c.NodeSets = []NodeSet{{Name: "cpu"}, {Name: "gpu", HasSSH: true}}
		}, smallSlurmConf + "PrologFlags=Contain\nRebootProgram=/bin/true\nNodeSet=cpu Feature=cpu\nNodeSet=gpu Feature=gpu\n"},
		{"and leaves the user's flags", func(c *SlurmConf) {
			c.NodeSets, c.Extra = []NodeSet{{Name: "gpu", HasSSH: true}}, "PrologFlags=X11"
		}, smallSlurmConf + "RebootProgram=/bin/true\nNodeSet=gpu Feature=gpu\n\n# spec.extraConf\nPrologFlags=X11\n\n" +
			"# Lists of the operator and of spec.extraConf\nPrologFlags=Contain,X11\n"},
		{"and leaves the user's program for reboots", func(c *SlurmConf) {
			c.NodeSets, c.Extra = []NodeSet{{Name: "gpu"}}, "RebootProgram=/sbin/reboot"
		}, smallSlurmConf + "NodeSet=gpu Feature=gpu\n\n# spec.extraConf\nRebootProgram=/sbin/reboot\n"},
		{"the user's lines keep their case and comments",
			func(c *SlurmConf) { c.Extra = "# ours\nmaildomain=X\n\n" },
			smallSlurmConf + "\n# spec.extraConf\n# ours\nmaildomain=X\n"},
		{"the user's options and records count", func(c *SlurmConf) {
			c.NodeSets = []NodeSet{{Name: "gpu", HasPartition: true, PartitionOptions: "MaxTime=5"}}
			c.Extra = "slurmdspooldir=/x\nPartitionName=gpu Nodes=ALL"
		}, drop("SlurmdSpoolDir=/var/spool/slurmd") + "RebootProgram=/bin/true\nNodeSet=gpu Feature=gpu\n" +
			"\n# spec.extraConf\nslurmdspooldir=/x\nPartitionName=gpu Nodes=ALL\n"},
		{"scripts add up", func(c *SlurmConf) { c.Prologs, c.Extra = []string{"a.sh"}, "Prolog=b.sh" },
			smallSlurmConf + "Prolog=a.sh\n\n# spec.extraConf\nProlog=b.sh\n"},
		{"lists are merged", func(c *SlurmConf) {
			c.Extra = "SlurmctldParameters=x\nslurmctldparameters=idle_on_node_suspend,enable_configless"
		}, drop("SlurmctldParameters=enable_configless") + "\n# spec.extraConf\nSlurmctldParameters=x\n" +
			"slurmctldparameters=idle_on_node_suspend,enable_configless\n\n# Lists of the operator and of spec.extraConf\n" +
			"SlurmctldParameters=enable_configless,idle_on_node_suspend\n"},
		{"a continued last line does not take ours", func(c *SlurmConf) {
			c.Extra = "AuthInfo=ttl=5\\\n"
		}, drop("AuthInfo=use_client_ids") + "\n# spec.extraConf\nAuthInfo=ttl=5\\\n" +
			"\n# Lists of the operator and of spec.extraConf\nAuthInfo=use_client_ids,ttl=5\n"},
		{"what agrees is accepted", func(c *SlurmConf) { c.Extra = "clustername=team_c" },
			drop("ClusterName=team_c") + "\n# spec.extraConf\nclustername=team_c\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newSlurmConf(tc.change).Render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestGRESOfNodeSets: slurmctld knows the GRES of the NodeSets and accounts them, unless the user sets these options.
func TestGRESOfNodeSets(t *testing.T) {
	gpus := []NodeSet{{Name: "a", GRES: "gpu:h100:4,shard:8"}, {Name: "b", GRES: "gpu:2(S:0-1)"},
		{Name: "c", GRES: "gpu:a100_3g.20gb:2,nic:no_consume:1K,=:1,fpga"}}
	for _, tc := range []struct {
		name, accounting, extra string
		nodeSets                []NodeSet
		want                    string
	}{
		{"none", "a.team", "", []NodeSet{{Name: "a"}}, ""},
		{"some", "a.team", "", gpus, "GresTypes=fpga,gpu,nic,shard\n" +
			"AccountingStorageTRES=gres/fpga,gres/gpu,gres/gpu:a100_3g.20gb,gres/gpu:h100,gres/nic,gres/shard\n"},
		{"no gres.conf", "a.team", "", gpus, ""},
		{"a type that looks like a number", "a.team", "", []NodeSet{{Name: "a", GRES: "gpu:4090:2,gpu:80G:1,gpu:2,gpu:3"}},
			"GresTypes=gpu\nAccountingStorageTRES=gres/gpu,gres/gpu:4090,gres/gpu:80g\n"},
		{"sockets", "a.team", "", []NodeSet{{Name: "a", GRES: "gpu:h100:4(S:0,1,2),NONE"}},
			"GresTypes=gpu\nAccountingStorageTRES=gres/gpu,gres/gpu:h100\n"},
		{"parts of GPUs", "", "", []NodeSet{{Name: "a", GRES: "shard:8"}, {Name: "b", GRES: "mps:100"}}, "GresTypes=gpu,mps,shard\n"},
		{"another accounting", "a.team", "AccountingStorageType=accounting_storage/none\n", gpus[:1], "GresTypes=gpu,shard\n"},
		{"a slurmdbd of the user", "", "accountingstoragetype=accounting_storage/slurmdbd\n", gpus[1:2],
			"GresTypes=gpu\nAccountingStorageTRES=gres/gpu\n"},
		{"without accounting", "", "", gpus[:1], "GresTypes=gpu,shard\n"},
		{"given", "a.team", "grestypes=gpu,shard,mps\nAccountingStorageTRES=gres/gpu\n", gpus[:1],
			"grestypes=gpu,shard,mps\nAccountingStorageTRES=gres/gpu\n"},
		{"given in part", "a.team", "GresTypes=mps,gpu\n", gpus[:1], "AccountingStorageTRES=gres/gpu,gres/gpu:h100,gres/shard\n" +
			"GresTypes=mps,gpu\nGresTypes=mps,gpu,shard\n"},
		{"given in part in a file", "", "Include gres-types.conf\n", gpus[:1], "Include gres-types.conf\nGresTypes=mps,gpu,shard\n"},
		{"weights name others", "a.team", "PriorityWeightTRES=CPU=1000,GRES/gpu=3000\n" +
			`PartitionName=x Nodes=ALL TRESBillingWeights="CPU=1.0,License/matlab=2" AllowQos=gres/x` + "\n",
			[]NodeSet{{Name: "a", HasPartition: true, PartitionOptions: "TRESBillingWeights=GRES/nic=1.5"}},
			"AccountingStorageTRES=gres/gpu,gres/nic,license/matlab\nPriorityWeightTRES=CPU=1000,GRES/gpu=3000\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newSlurmConf(func(c *SlurmConf) {
				c.Accounting, c.AccountingPort, c.NodeSets, c.Extra = tc.accounting, 6819, tc.nodeSets, tc.extra
				c.ExtraFiles = map[string]string{"gres-types.conf": "GresTypes=mps,gpu\n", GresFile: ""}
				if tc.name == "no gres.conf" {
					delete(c.ExtraFiles, GresFile)
				}
			}).Render()
			if err != nil {
				t.Fatal(err)
			}
			var lines strings.Builder
			for line := range strings.Lines(got) {
				for _, word := range []string{"grestypes", "accountingstoragetres", "priorityweight"} {
					if strings.HasPrefix(strings.ToLower(line), word) {
						lines.WriteString(line)
					}
				}
				if strings.HasPrefix(line, "Include") {
					lines.WriteString(line)
				}
			}
			if diff := cmp.Diff(tc.want, lines.String()); diff != "" {
				t.Errorf("%s\n%s", diff, got)
			}
		})
	}
}

// TestGRESThatGo: the usage of a TRES is lost if it is not accounted for a moment. Kinds whose jobs still run must not block new
// kinds.
func TestGRESThatGo(t *testing.T) {
	for _, tc := range []struct {
		name, extra string
		known, had  []string
		nodeSets    []NodeSet
		want        string
	}{
		{"the last NodeSet with GPUs", "", []string{"gpu"}, []string{"gres/gpu", "gres/gpu:h100"}, nil,
			"GresTypes=gpu\nAccountingStorageTRES=gres/gpu,gres/gpu:h100\n"},
		{"another kind", "", []string{"gpu"}, []string{"gres/gpu"}, []NodeSet{{Name: "a", GRES: "nic:2"}},
			"GresTypes=nic,gpu\nAccountingStorageTRES=gres/gpu,gres/nic\n"},
		{"another kind that is in force", "", []string{"gpu", "nic"}, nil, []NodeSet{{Name: "a", GRES: "nic:2"}},
			"GresTypes=nic,gpu\nAccountingStorageTRES=gres/nic\n"},
		{"the user's kinds, and none is new", "GresTypes=nic\n", []string{"gpu", "nic"}, nil, []NodeSet{{Name: "a", GRES: "nic:2"}}, ""},
		{"the user's list", "AccountingStorageTRES=cpu\n", nil, []string{"gres/gpu"}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newSlurmConf(func(c *SlurmConf) {
				c.Accounting, c.AccountingPort, c.NodeSets, c.Extra = "a.team", 6819, tc.nodeSets, tc.extra
				c.KnownGRES, c.AccountedTRES, c.ExtraFiles = tc.known, tc.had, map[string]string{GresFile: ""}
			}).Render()
			if err != nil {
				t.Fatal(err)
			}
			var lines strings.Builder
			for line := range strings.Lines(strings.ReplaceAll(got, tc.extra, "")) {
				if strings.HasPrefix(line, "GresTypes") || strings.HasPrefix(line, "AccountingStorageTRES") {
					lines.WriteString(line)
				}
			}
			if tc.extra == "" || strings.Count(got, "AccountingStorageTRES") != 1 {
				if diff := cmp.Diff(tc.want, lines.String()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestRenderSlurmConfRefuses(t *testing.T) {
	partition := func(options string) func(*SlurmConf) {
		return func(c *SlurmConf) {
			c.NodeSets = []NodeSet{{Name: "gpu", HasPartition: true, PartitionOptions: options}}
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*SlurmConf)
		want   string
	}{
		{"an empty value", func(c *SlurmConf) { c.ClusterName = "" }, "ClusterName has no value"},
		{"a second line", func(c *SlurmConf) { c.Address = "x\nSlurmUser=root" }, "SlurmctldAddr must not contain line breaks"},
		{"a quotation mark", func(c *SlurmConf) { c.ClusterName = `a"b` }, "ClusterName must not contain a quotation mark"},
		{"a second line in a partition", partition("MaxTime=5\rDefault=YES"), "PartitionName=gpu: line breaks"},
		{"a partition that takes the next line", partition(`MaxTime=5 \`), "PartitionName=gpu: a backslash"},
		{"a NodeSet called all", func(c *SlurmConf) { c.NodeSets = []NodeSet{{Name: "all"}} }, "must not be called all"},
		{"a script in a folder", func(c *SlurmConf) { c.Epilogs = []string{"d/a"} }, `"d/a" must be the name of a file`},
		{"another cluster", func(c *SlurmConf) { c.Extra = "\nclustername=other" },
			"extraConf must not set clustername (line 2)"},
		{"another host", func(c *SlurmConf) { c.Extra = "SlurmctldHost=other" }, "must not set SlurmctldHost (line 1)"},
		{"another pid file, which slurm-agent reads", func(c *SlurmConf) { c.Extra = "SlurmctldPidFile=/tmp/x" },
			"must not set SlurmctldPidFile"},
		{"credentials that slurmds do not accept", func(c *SlurmConf) { c.Extra = "CredType=cred/munge" }, "must not set CredType"},
		{"a NUL", func(c *SlurmConf) { c.Extra = "MailDomain=a\x00b" }, "NUL"},
		{"a log in the place of slurm.conf", func(c *SlurmConf) { c.Extra = "SlurmctldLogFile=/etc/slurm/slurm.conf" },
			"extraConf, line 1 must not set SlurmctldLogFile to /etc/slurm/slurm.conf: the log would replace other files"},
		{"a log in the place of the state", func(c *SlurmConf) { c.Extra = "slurmschedlogfile = /var//spool/x/../slurmctld/job_state" },
			"must not set slurmschedlogfile"},
		{"a log in the place of the pid, by a link", func(c *SlurmConf) { c.Extra = "SlurmctldLogFile=/var/run/slurmctld/slurmctld.pid" },
			"must not set SlurmctldLogFile"},
		{"a log in the place of slurm.conf, by a process", func(c *SlurmConf) { c.Extra = "SlurmctldLogFile=/proc/self/root/etc/slurm/slurm.conf" },
			"must not set SlurmctldLogFile"},
		{"completions in the place of the pid", func(c *SlurmConf) {
			c.Extra = "JobCompLoc=\"/run/slurmctld/slurmctld.pid\"\njobcomptype=jobcomp/filetxt"
		}, "must not set JobCompLoc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newSlurmConf(tc.change).Render()
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q; the text is\n%s", err, tc.want, got)
			}
		})
	}
}

func TestRenderSlurmdbdConf(t *testing.T) {
	conf := SlurmdbdConf{Host: "a-accounting-0", Port: 6819, StorageHost: "mariadb", StoragePort: 3306,
		Database: "slurm_acct_db", User: "slurm", Extra: "PurgeJobAfter=12months"}
	const want = `DbdHost=a-accounting-0
DbdPort=6819
SlurmUser=slurm
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key,jwks=/etc/slurm/jwks.json
StorageType=accounting_storage/mysql
StorageHost=mariadb
StoragePort=3306
StorageLoc=slurm_acct_db
StorageUser=slurm
PidFile=/run/slurmdbd/slurmdbd.pid

# spec.extraConf
PurgeJobAfter=12months
`
	got, err := conf.Render()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	conf.Extra = "storagepass=x"
	if _, err := conf.Render(); err == nil || !strings.Contains(err.Error(), "must not set storagepass") {
		t.Errorf("with a password in extraConf the error is %v", err)
	}
}

func TestCompareSlurmdbdConf(t *testing.T) {
	for _, tc := range []struct {
		old, changed string
		want         Effect
	}{
		{"DbdPort=1\n# a\n", "DbdPort=1\n", NoEffect},
		{"PurgeJobAfter=1month", "purgejobafter=2months", NeedsReconfigure},
		{"StoragePass=a", "StoragePass=b", NeedsRestart},
		{"", "StorageHost=b\nDebugLevel=info", NeedsRestart},
	} {
		if got := CompareSlurmdbdConf(tc.old, tc.changed); got != tc.want {
			t.Errorf("from %q to %q: %d, not %d", tc.old, tc.changed, got, tc.want)
		}
	}
}

func TestAddStoragePassword(t *testing.T) {
	for _, tc := range []struct{ name, text, password, want string }{
		{"a plain one", "DbdPort=1\n", "pw", "DbdPort=1\n\nStoragePass=pw\n"},
		{"one with signs", "", `a b#c\`, "\n\nStoragePass=\"a b\\#c\\\\\"\n"},
		{"a text that would take the line", `X=a\`, "pw", "X=a\\\n\nStoragePass=pw\n"},
	} {
		got, err := AddStoragePassword(tc.text, tc.password)
		settings := ParseSettings(got)
		if got != tc.want || err != nil || settings[len(settings)-1].Value != tc.password {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
	for _, password := range []string{"", `secret"word`, "secret\nword"} {
		if _, err := AddStoragePassword("", password); err == nil || strings.Contains(err.Error(), "secret") ||
			!strings.Contains(err.Error(), "StoragePass") {
			t.Errorf("the error is %v", err)
		}
	}
}

// FuzzRenderSlurmConf checks that no value makes a line of its own: of each line of the operator
// one setting is read, with the value that was given.
func FuzzRenderSlurmConf(f *testing.F) {
	f.Add("c", "MaxTime=5", "MailDomain=x")
	f.Add("a b", `Comment="x # y"`, "AuthInfo=a\\")
	f.Add(`a\`, "x\\\nSlurmUser=root", "# \\\nProlog=/bin/x")
	f.Fuzz(func(t *testing.T, name, options, extra string) {
		in := newSlurmConf(func(c *SlurmConf) {
			c.ClusterName, c.Extra = name, extra
			c.NodeSets = []NodeSet{{Name: "gpu", HasPartition: true, PartitionOptions: options}, {Name: "last"}}
		})
		text, err := in.Render()
		if err != nil {
			return
		}
		ours, _, _ := strings.Cut(text, "\n# spec.extraConf\n")
		if extra == "" || strings.Trim(extra, "\n") == "" {
			ours = text
		}
		settings := ParseSettings(ours)
		if lines := strings.Count(ours, "\n"); len(settings) != lines {
			t.Fatalf("%d lines have %d settings:\n%s", lines, len(settings), text)
		}
		all := ParseSettings(text)
		for i, s := range settings {
			if s != all[i] {
				t.Fatalf("%v is read as %v in:\n%s", s, all[i], text)
			}
			if s.Name == "ClusterName" && s.Value != name {
				t.Errorf("the name %q is read as %q", name, s.Value)
			}
		}
	})
}

// TestPlaceOfJobCompletions: slurmctld writes there only with jobcomp/filetxt.
func TestPlaceOfJobCompletions(t *testing.T) {
	for _, extra := range []string{"JobCompType=jobcomp/script\nJobCompLoc=/etc/slurm/jobcomp.sh", "JobCompLoc=/etc/slurm/rdkafka.conf\nJobCompType=jobcomp/kafka",
		"JobCompType=jobcomp/filetxt\nJobCompType=jobcomp/script\nJobCompLoc=/etc/slurm/jobcomp.sh", "JobCompLoc=/etc/slurm/x",
		"JobCompType=jobcomp/filetxt\nJobCompLoc=/var/log/slurm/jobs"} {
		if _, err := newSlurmConf(func(c *SlurmConf) { c.Extra = extra }).Render(); err != nil {
			t.Errorf("%s: %v", extra, err)
		}
	}
}

// TestLogsMayBeOnTheVolumeOfTheState, under names that slurmctld has no state in.
func TestLogsMayBeOnTheVolumeOfTheState(t *testing.T) {
	for _, extra := range []string{"SlurmctldLogFile=/var/spool/slurmctld/slurmctld.log", "SlurmSchedLogFile=/var/log/sched",
		"JobCompLoc=/var/spool/slurmctld/completions.txt", "JobCompLoc=database", "SlurmctldLogFile="} {
		if _, err := newSlurmConf(func(c *SlurmConf) { c.Extra = extra }).Render(); err != nil {
			t.Errorf("%s: %v", extra, err)
		}
	}
}
