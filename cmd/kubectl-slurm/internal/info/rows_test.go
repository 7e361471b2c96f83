package info

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// testCluster is like a cluster of Slurm 26.05 whose sinfo printed the outputs below.
func testCluster() Cluster {
	at := slurm.At(time.Date(2026, 11, 30, 21, 29, 14, 0, time.UTC))
	node := func(name, states, partitions, reason string) *slurm.Node {
		n := &slurm.Node{Name: name, State: slurm.ParseNodeState(strings.Split(states, "+")...),
			Partitions: strings.Split(partitions, ","), Reason: reason}
		if reason != "" {
			n.ReasonBy, n.ReasonAt = "root", at
		}
		return n
	}
	return Cluster{
		Nodes: []*slurm.Node{
			node("cloud-10", "IDLE+CLOUD+POWERED_DOWN", "batch,averyveryverylongname", ""),
			node("cloud-9", "IDLE+CLOUD+POWERED_DOWN", "batch,averyveryverylongname", ""),
			node("f1", "FUTURE", "batch", ""),
			node("n1", "MIXED+DRAIN", "batch,gpu,debug", "again"),
			node("n2", "MIXED+MAINTENANCE", "batch,gpu", ""),
			node("n3", "IDLE+DRAIN", "batch,gpu", "bad disk, really long reason text"),
			node("n4", "DOWN+DRAIN", "batch,gpu", "bad disk, really long reason text"),
		},
		Partitions: []*slurm.Partition{
			{Name: "averyveryverylongname", State: slurm.PartitionUp, Position: 5, MaxTime: slurm.Num(30)},
			{Name: "batch", State: slurm.PartitionUp, Position: 1, Default: true, MaxTime: slurm.Infinite()},
			{Name: "debug", State: slurm.PartitionDrain, Position: 3, MaxTime: slurm.Num(60)},
			{Name: "empty", State: slurm.PartitionInactive, Position: 4, MaxTime: slurm.Infinite()},
			{Name: "gpu", State: slurm.PartitionUp, Position: 2, MaxTime: slurm.Num(1440)},
		},
	}
}

func TestTheRowsAreThoseOfSinfo(t *testing.T) {
	for _, tc := range []struct {
		style Style
		want  string
	}{
		{ByState, `PARTITION             AVAIL  TIMELIMIT  NODES  STATE NODELIST
batch*                   up   infinite      1   mix$ n2
batch*                   up   infinite      2  idle~ cloud-[9-10]
batch*                   up   infinite      1   drng n1
batch*                   up   infinite      2  drain n[3-4]
gpu                      up 1-00:00:00      1   mix$ n2
gpu                      up 1-00:00:00      1   drng n1
gpu                      up 1-00:00:00      2  drain n[3-4]
debug                 drain    1:00:00      1   drng n1
empty                 inact   infinite      0    n/a
averyveryverylongname    up      30:00      2  idle~ cloud-[9-10]
`},
		{Summary, `PARTITION             AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
batch*                   up   infinite          2/2/2/6 cloud-[9-10],n[1-4]
gpu                      up 1-00:00:00          2/0/2/4 n[1-4]
debug                 drain    1:00:00          1/0/0/1 n1
empty                 inact   infinite          0/0/0/0
averyveryverylongname    up      30:00          0/2/0/2 cloud-[9-10]
`},
		{ByNode, `NODELIST   NODES             PARTITION STATE
cloud-9        1                batch* idle~
cloud-9        1 averyveryverylongname idle~
cloud-10       1                batch* idle~
cloud-10       1 averyveryverylongname idle~
n1             1                batch* drng
n1             1                   gpu drng
n1             1                 debug drng
n2             1                batch* mix$
n2             1                   gpu mix$
n3             1                batch* drain
n3             1                   gpu drain
n4             1                batch* drain
n4             1                   gpu drain
`},
		{Reasons, `REASON               USER      TIMESTAMP           NODELIST
again                root      2026-11-30T21:29:14 n1
bad disk, really lon root      2026-11-30T21:29:14 n[3-4]
`},
	} {
		t.Run(string(tc.style), func(t *testing.T) {
			c := testCluster()
			var out strings.Builder
			if err := Table(tc.style, c.Rows(tc.style, time.UTC)).Print(&out, table.Plain, table.WithHeadings); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheOrderOfTheRecordsDoesNotMatter(t *testing.T) {
	for _, style := range []Style{ByState, Summary, ByNode, Reasons} {
		a, b := testCluster(), testCluster()
		slices.Reverse(b.Nodes)
		slices.Reverse(b.Partitions)
		if diff := cmp.Diff(a.Rows(style, time.UTC), b.Rows(style, time.UTC)); diff != "" {
			t.Errorf("%s: %s", style, diff)
		}
	}
}
