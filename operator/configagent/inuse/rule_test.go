package inuse

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/configagent"
)

// filesOf returns files by name and content.
func filesOf(namesAndContents ...string) configagent.Files {
	out := configagent.Files{}
	for i := 0; i < len(namesAndContents); i += 2 {
		out[namesAndContents[i]] = configagent.File{Content: []byte(namesAndContents[i+1])}
	}
	return out
}

func TestPartitionsAndNodesAreReadAsSlurmReadsThem(t *testing.T) {
	got := readConf(filesOf("slurm.conf", `partitionname=DEFAULT MaxTime=5
PartitionName="quoted" Nodes=ALL # PartitionName=comment
PartitionName=continued \
 Nodes=ALL
Include more.conf
NodeName=DEFAULT CPUs=4
NodeName=n[1-2],x Feature=a
nodename=y CPUs=8 Gres=gpu:1 Weight=3
NodeName=DEFAULT State=DOWN
NodeName=z State=UNKNOWN
DownNodes=n[1-2] State=DOWN
DownNodes=x State=DRAIN
GresTypes=gpu
GRESTYPES = "gpu,shard"
MaxNodeCount=9
Licenses=matlab:2,ansys
`, "more.conf", "PartitionName=included Nodes=ALL\n"))
	want := conf{partitions: []string{"quoted", "continued", "included"},
		nodes: map[string]string{"n1": "map[cpus:4]", "n2": "map[cpus:4]", "x": "map[cpus:4]", "y": "map[cpus:8 gres:gpu:1]",
			"z": "map[cpus:4]"},
		addresses: map[string]string{"n1": "n1 n1 ", "n2": "n2 n2 ", "x": "x x ", "y": "y y ", "z": "z z "},
		down:      map[string]bool{"n1": true, "n2": true}, maxNodes: 9, gresTypes: []string{"gpu", "shard"}, licenses: map[string]uint64{"matlab": 2, "ansys": 1}, maxJobs: 10000}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(conf{})); diff != "" {
		t.Errorf("the configuration differs (-want +got):\n%s", diff)
	}
}

func TestNodesThatBreakJobs(t *testing.T) {
	const before = "NodeName=n[1-3] CPUs=4 Gres=gpu:2 Weight=1"
	for _, tc := range []struct{ name, after, want string }{
		{"unchanged", before, ""},
		{"other weight, features and memory", "NodeName=n[1-3] CPUs=4 Gres=gpu:2 Weight=2 Feature=x RealMemory=5", ""},
		{"written apart", "NodeName=n1 Gres=gpu:2 CPUs=4\nNodeName=n[2-3] CPUs=4 Gres=gpu:2", ""},
		{"removed", "NodeName=n[1-2] CPUs=4 Gres=gpu:2", "n3"},
		{"renamed", "NodeName=m[1-3] CPUs=4 Gres=gpu:2", "n1 n2 n3"},
		{"fewer CPUs", "NodeName=n1 CPUs=2 Gres=gpu:2\nNodeName=n[2-3] CPUs=4 Gres=gpu:2", "n1"},
		{"no GRES", "NodeName=n[1-3] CPUs=4", "n1 n2 n3"},
		{"DOWN", "NodeName=n[1-2] CPUs=4 Gres=gpu:2\nNodeName=n3 CPUs=4 Gres=gpu:2 State=down", "n3"},
		{"in a line DownNodes", before + "\nDownNodes=n[2-3] Reason=x", "n2 n3"},
		{"DRAIN, which lets jobs run", before + " State=DRAIN", ""},
		{"GRES of a type", "NodeName=n[1-3] CPUs=4 Gres=gpu:a100:2", "n1 n2 n3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := readConf(filesOf("slurm.conf", before)).brokenNodes(readConf(filesOf("slurm.conf", tc.after)))
			if strings.Join(got, " ") != tc.want {
				t.Errorf("the nodes are %v, want %s", got, tc.want)
			}
		})
	}
}

// The lines are squeue's of 26.05.
const printed = `1|RUNNING|a||n1|N/A|N/A|N/A|N/A|
2|PENDING|a,b|n[3-4]||N/A|N/A|N/A|N/A|
3_0|PENDING|b|||gres/gpu:2|N/A|N/A|gres/gpu=1|
3_5|COMPLETING|b||n2|N/A|N/A|N/A|N/A|
4+0|PENDING|c|||N/A|N/A|N/A|N/A|
4+1|PENDING|a|||N/A|N/A|N/A|N/A|
5|SUSPENDED|d||n2|N/A|gres/gpu:h100:1,gres/shard:4|N/A|N/A|
6|NODE_FAIL|a||n1|N/A|gres/mps:1|N/A|N/A|
7|COMPLETED|a||n1|N/A|N/A|N/A|N/A|
8|NEW_STATE|e,f|N/A|(null)|N/A|N/A|N/A|N/A|
`

// TestKindsOfGRES: the type of a request may look like a number.
func TestKindsOfGRES(t *testing.T) {
	for lists, want := range map[string]string{
		"gres/gpu": "gpu", "gres/gpu:": "gpu", "gres/gpu=2": "gpu", "gres/gpu:2": "gpu", "gres/gpu:2k": "gpu", "gres/gpu:h100:1": "gpu",
		"gres/gpu:2080ti": "gpu", "gres/gpu:3g.20gb": "gpu", "gres/gpu:1.5": "gpu", "gres/gpu:3g.20gb:2,gres/shard:4": "gpu shard",
		"N/A": "", "cpu=2": "", "license/gpu:1": "",
	} {
		if got := strings.Join(gresTypes([]string{lists}), " "); got != want {
			t.Errorf("the kinds of %q are %q, want %q", lists, got, want)
		}
	}
}

// TestUsesAskOncePerJob: clusters may have thousands of nodes and tens of thousands of jobs.
func TestUsesAskOncePerJob(t *testing.T) {
	jobs := []job{{id: "1", nodes: []string{"n1", "n2", "n1"}}, {id: "2"}, {id: "3", nodes: []string{"n2", "n9"}}}
	calls := 0
	got := usesOf([]string{"n2", "n3", "n1"}, jobs, func(j job) []string {
		calls++
		return nodesOf(j)
	})
	want := []use{{name: "n2", jobs: []string{"1", "3"}}, {name: "n1", jobs: []string{"1"}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(use{})); diff != "" {
		t.Errorf("the uses differ (-want +got):\n%s", diff)
	}
	if calls != len(jobs) {
		t.Errorf("usesOf asks %d times, want %d", calls, len(jobs))
	}
}

func TestJudge(t *testing.T) {
	jobs, err := parseJobs(printed)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name              string
		partitions, nodes []string
		want              string
	}{
		{"nothing is removed", nil, nil, ""},
		{"nobody uses it", []string{"z"}, []string{"n9"}, ""},
		{"finished jobs alone", []string{"z"}, []string{"n5"}, ""},
		{"running, waiting and a part of a het job", []string{"a"}, nil, "PartitionInUse a (jobs 1, 2, 4+1)"},
		{"an array with a completing task", []string{"b"}, nil, "PartitionInUse b (jobs 2, 3_0, 3_5)"},
		{"suspended", []string{"d", "z"}, nil, "PartitionInUse d (job 5)"},
		{"an unknown state counts as unfinished", []string{"e"}, nil, "PartitionInUse e (job 8)"},
		{"the node of a running job", nil, []string{"n1"}, "NodeInUse n1 (job 1)"},
		{"a node that a waiting job requires", nil, []string{"n4"}, "NodeInUse n4 (job 2)"},
		{"both", []string{"d"}, []string{"n4"}, "PartitionInUse d (job 5)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := loss{partitions: tc.partitions, nodes: tc.nodes}.judge(jobs)
			var held *configagent.HeldError
			got := ""
			if errors.As(err, &held) {
				_, list, _ := strings.Cut(held.Message, ": ")
				list, _, _ = strings.Cut(list, ";")
				got = held.Reason + " " + list
			}
			if got != tc.want {
				t.Errorf("the error is %q (%v), want %q", got, err, tc.want)
			}
		})
	}
}

// TestRemovedGresTypes: slurmctld would forget which GRES jobs have, and give them to others.
func TestRemovedGresTypes(t *testing.T) {
	jobs, err := parseJobs(printed)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, before, after, want string }{
		{"none", "GresTypes=gpu", "GresTypes=gpu,shard", ""},
		{"all", "GresTypes=gpu,shard", "", "gpu (jobs 3_0, 5), shard (job 5)"},
		{"one", "GresTypes=gpu,shard", "GresTypes=gpu", "shard (job 5)"},
		{"the last line counts", "GresTypes=gpu", "GresTypes=gpu\ngrestypes=nic", "gpu (jobs 3_0, 5)"},
		{"one of a finished job", "GresTypes=mps", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lost := lossOf(readConf(filesOf("slurm.conf", tc.before)), readConf(filesOf("slurm.conf", tc.after)))
			err := lost.judge(jobs)
			var held *configagent.HeldError
			if errors.As(err, &held) && (held.Reason != "GresInUse" || tc.want == "") || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
			if lost.isNone() != (tc.after == "GresTypes=gpu,shard") {
				t.Error("it is wrong whether something is lost")
			}
		})
	}
}

func TestFewerJobsThanThereAre(t *testing.T) {
	jobs := jobList{count: 5}
	for _, tc := range []struct {
		name, before, after string
		isHeld              bool
	}{
		{"enough", "", "MaxJobCount=11", false},
		{"nearly too few", "", "MaxJobCount=10", true},
		{"as many", "", "MaxJobCount=5", true},
		{"too few", "MaxJobCount=100", "MaxJobCount=4", true},
		{"too few already", "MaxJobCount=4", "maxjobcount=4", false},
		{"more", "MaxJobCount=3", "MaxJobCount=4", false},
		{"too few ids", "FirstJobId=100", "FirstJobId=100\nMaxJobId=103", true},
		{"enough ids", "", "MaxJobId=100", false},
		{"too few, in octal", "", "MaxJobCount=012", true},
		{"too few, in hexadecimal", "", "MaxJobCount=0xa", true},
		{"too few of 1024", "MaxJobCount=0x10k", "MaxJobCount=9", true},
		{"enough of 1024", "", "MaxJobCount=1K", false},
		{"none", "", "MaxJobCount=0", true},
		{"infinitely many", "MaxJobCount=9", "MaxJobCount=INFINITE", false},
		{"what cannot be read", "", "MaxJobCount=20M", true},
		{"an id that cannot be read", "", "FirstJobId=-1", true},
		{"what could not be read before", "MaxJobCount=20M", "MaxJobCount=9", true},
		{"what could not be read before, either", "MaxJobCount=20M", "MaxJobCount=20M", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			lost := lossOf(readConf(filesOf("slurm.conf", tc.before)), readConf(filesOf("slurm.conf", tc.after)))
			if err := lost.judge(jobs); (err != nil) != tc.isHeld {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAMessageNamesTheNumberThatCannotBeRead(t *testing.T) {
	lost := lossOf(readConf(filesOf("slurm.conf", "")), readConf(filesOf("slurm.conf", "MaxJobCount=2M")))
	const want = "it is unknown how many jobs it lets slurmctld remember, since maxjobcount=2M cannot be read"
	for _, err := range []error{lost.judge(jobList{count: 3}), lost.doubt(errNotStarted)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestWhatSqueueDoesNotPrintIsAnError(t *testing.T) {
	for _, line := range []string{"slurm_load_jobs error", "1|RUNNING|a|n1", "1|RUNNING|a|n[|n1|N/A|N/A|N/A|N/A|"} {
		if _, err := parseJobs(line + "\n"); err == nil {
			t.Errorf("%q is no error", line)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	many := []string{"1", "2", "3", "4", "5", "6", "7"}
	var uses []use
	for _, name := range many {
		uses = append(uses, use{name, many})
	}
	want := "1 (jobs 1, 2, 3, 4, 5 and 2 more), "
	if got := describe(uses); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, ", 2 more") {
		t.Errorf("the list is %s", got)
	}
}
