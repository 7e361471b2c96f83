package inuse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// fakePrograms are programs of Slurm that keep each partition's state in a file of the folder partitions, and print the file
// jobs. They fail while the files down and refuses exist.
var fakePrograms = map[string]string{
	"scontrol": `#!/bin/sh
cd %[1]s/partitions
[ -e ../down ] && echo "Unable to contact slurm controller" >&2 && exit 1
case "$*" in
update*)
  [ -e ../refuses ] && echo "Access/permission denied" >&2 && exit 1
  case $3 in State=*) echo "${3#State=}" >"${2#PartitionName=}" ;; esac ;;
*nodes) cat ../nodes 2>/dev/null || true ;;
*jobs)
  [ -e ../no-job-details ] && echo "scontrol: error" >&2 && exit 1
  cat ../job-details 2>/dev/null || echo "No jobs in the system" ;;
*reservations) cat ../reservations 2>/dev/null || echo "No reservations in the system" ;;
*) for p in *; do echo "PartitionName=$p AllowGroups=ALL Hidden=NO State=$(cat "$p") TotalCPUs=4"; done ;;
esac
`,
	"squeue": `#!/bin/sh
[ -e %[1]s/no-jobs-list ] && echo "squeue: error" >&2 && exit 1
cat %[1]s/jobs
`,
	"sacctmgr": `#!/bin/sh
[ -e %[1]s/no-database ] && echo "sacctmgr: error: Sending PersistInit msg: Connection refused" >&2 && exit 1
echo "cpu 1"
`,
}

// cluster is a Judge whose programs are fakePrograms.
type cluster struct {
	*testing.T
	Judge
	dir string
}

// newCluster returns one with the partitions a, b and closed, and with jobs.
func newCluster(t *testing.T, jobs string) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{T: t, dir: dir, Judge: Judge{Programs: partition.Programs{Scontrol: filepath.Join(dir, "scontrol")},
		Wanted: filepath.Join(dir, "wanted"), Live: filepath.Join(dir, "live"), File: filepath.Join(dir, "drained"), GateFile: filepath.Join(dir, "closed"),
		ReachesSlurmdbd: func(context.Context, []slurmconf.Setting) bool { return true }, Log: slog.New(slog.DiscardHandler)}}
	for name, script := range fakePrograms {
		c.write(name, fmt.Sprintf(script, dir))
	}
	c.write("jobs", jobs)
	c.write("live/slurm.conf", "ClusterName=c\n")
	c.set("a=UP", "b=UP", "closed=DOWN")
	return c
}

func (c *cluster) write(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o700)); err != nil {
		c.Fatal(err)
	}
}

// set sets states of partitions, as an administrator does.
func (c *cluster) set(partitions ...string) {
	c.Helper()
	for _, p := range partitions {
		name, state, _ := strings.Cut(p, "=")
		c.write("partitions/"+name, state+"\n")
	}
}

const inForce = "PartitionName=a\nPartitionName=b\nPartitionName=closed State=DOWN\n"

// hold judges a slurm.conf that replaces inForce, as revision 2, and returns the reason why it is held.
func (c *cluster) hold(wanted string) string {
	c.Helper()
	return c.holdFiles(filesOf("slurm.conf", inForce, slurmconf.RevisionFile, "1"),
		filesOf("slurm.conf", wanted, slurmconf.RevisionFile, "2"))
}

// holdFiles is hold for any files.
func (c *cluster) holdFiles(inForce, wanted configagent.Files) string {
	c.Helper()
	err := c.Hold(c.Context(), inForce, wanted)
	var held *configagent.HeldError
	if err != nil && !errors.As(err, &held) {
		c.Fatal(err)
	}
	if held == nil {
		return ""
	}
	return held.Reason + ": " + held.Message
}

func (c *cluster) expect(got, want string) {
	c.Helper()
	if got != want && (want == "" || !strings.Contains(got, want)) {
		c.Errorf("the revision is held for %q, want %q", got, want)
	}
}

func (c *cluster) expectStates(want string) {
	c.Helper()
	states, err := c.Programs.States(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	if got := fmt.Sprint(states); got != "map["+want+"]" {
		c.Errorf("the partitions are %s, want %s", got, want)
	}
}

func TestAPartitionInUseIsDrainedUntilItIsEmpty(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n6|PENDING|a|||N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "PartitionInUse: it removes partitions of unfinished jobs, "+
		"which slurmctld would end: a (jobs 5, 6)")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	c.write("jobs", "5|COMPLETED|a||n1|N/A|N/A|N/A|N/A|\n6|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 6)")
	c.write("jobs", "")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	if err := os.Remove(filepath.Join(c.dir, "partitions", "a")); err != nil { // the revision is applied
		t.Fatal(err)
	}
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "")
	if _, err := os.Stat(c.File); err == nil {
		t.Error("partitions are still remembered as drained")
	}
}

func TestAWithdrawnRevisionGivesPartitionsTheirStateBack(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n6|PENDING|b|||N/A|N/A|N/A|N/A|\n7|PENDING|closed|||N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("TreeWidth=5\n"), "a (job 5), b (job 6), closed (job 7)")
	c.expectStates("a:DRAIN b:DRAIN closed:INACTIVE")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 5)")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	c.expect(c.hold(inForce), "")
	c.expectStates("a:UP b:UP closed:DOWN")
}

func TestAnAdministratorsStateStays(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n6|PENDING|b|||N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("PartitionName=closed\n"), "a (job 5), b (job 6)")
	c.set("a=UP", "b=INACTIVE")
	c.expect(c.hold("PartitionName=closed\n"), "a (job 5), b (job 6)")
	c.expectStates("a:UP b:INACTIVE closed:DOWN")
	c.expect(c.hold(inForce), "")
	c.expectStates("a:UP b:INACTIVE closed:DOWN")
}

// TestACreatedPartitionIsNoAdministrators: a partition was drained and removed, and exists again before an agent noticed.
func TestACreatedPartitionIsNoAdministrators(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 5)")
	c.write("live/slurm.conf", "ClusterName=c\n")
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(c.conf(), later, later); err != nil {
		t.Fatal(err)
	}
	c.set("a=UP")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 5)")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
}

// TestNoJobComesInBetween: a partition that an administrator has reopened is drained when its last job has ended. A revision is not
// applied while another agent has closed partitions.
func TestNoJobComesInBetween(t *testing.T) {
	const without = "PartitionName=b\nPartitionName=closed\n"
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold(without), "a (job 5)")
	c.set("a=UP")
	c.expect(c.hold(without), "a (job 5)")
	c.expectStates("a:UP b:UP closed:DOWN")
	c.write("jobs", "")
	c.write("closed", "{}")
	c.expect(c.hold(without), "partitions are closed for a reconfigure")
	if err := os.Remove(c.GateFile); err != nil {
		t.Fatal(err)
	}
	c.expect(c.hold(without), "")
	c.expectStates("a:DRAIN b:UP closed:DOWN")
}

// TestRoomForDynamicNodes: slurmctld forgets nodes beyond MaxNodeCount.
func TestRoomForDynamicNodes(t *testing.T) {
	const before = inForce + "MaxNodeCount=256\nNodeName=n[1-2] CPUs=1\n"
	for _, tc := range []struct{ name, after, want string }{
		{"as much", before, ""},
		{"enough", inForce + "MaxNodeCount=5\nNodeName=n[1-2] CPUs=1\n", ""},
		{"too little", inForce + "MaxNodeCount=4\nNodeName=n[1-2] CPUs=1\n", "NodeInUse: it leaves room for 2 dynamic Slurm nodes"},
		{"more static nodes", inForce + "MaxNodeCount=256\nNodeName=n[1-254] CPUs=1\n", "and there are 3"},
		{"enough of 1024", inForce + "MaxNodeCount=1k\nNodeName=n[1-2] CPUs=1\n", ""},
		{"too little, in hexadecimal", inForce + "MaxNodeCount=0x4\nNodeName=n[1-2] CPUs=1\n", "it leaves room for 2"},
		{"what cannot be read", inForce + "MaxNodeCount=256M\nNodeName=n[1-2] CPUs=1\n", "it leaves room for 0"},
		{"no MaxNodeCount", inForce + "NodeName=n[1-2] CPUs=1\n", "it leaves room for 0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("nodes", "NodeName=n1\nNodeName=n2\nNodeName=w-0\nNodeName=w-1 State=FUTURE\nNodeName=w-2 State=FUTURE\n")
			hold := func() string {
				err := c.Hold(t.Context(), filesOf("slurm.conf", before), filesOf("slurm.conf", tc.after, slurmconf.RevisionFile, "2"))
				var held *configagent.HeldError
				if err != nil && !errors.As(err, &held) {
					t.Fatal(err)
				}
				if held == nil {
					return ""
				}
				return held.Reason + ": " + held.Message
			}
			c.expect(hold(), tc.want)
			c.write("down", "")
			if got := hold(); (got != "") != (tc.after != before && tc.name != "enough of 1024") {
				t.Errorf("without slurmctld it is held for %q", got)
			}
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(hold(), "")
		})
	}
}

// TestNobodyKnows: while the jobs are unknown, files that remove nothing are applied, and files that remove something wait.
func TestNobodyKnows(t *testing.T) {
	const without, with = "PartitionName=b\nPartitionName=closed\n", inForce + "PartitionName=more\n"
	for _, tc := range []struct{ name, file, why string }{
		{"slurmctld is down", "down", "Unable to contact slurm controller"},
		{"the agent may not drain", "refuses", "Access/permission denied"},
		{"squeue fails", "no-jobs-list", "squeue: error"},
		{"squeue prints something else", "jobs", "squeue printed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write(tc.file, "nonsense\n")
			c.expect(c.hold(without), "PartitionInUse: it removes the partitions a, and slurmctld does not say which jobs there are")
			c.expect(c.hold(without), tc.why)
			c.expect(c.hold(with), "")
		})
	}
	t.Run("the agent may not see the jobs of a closed partition", func(t *testing.T) {
		c := newCluster(t, "")
		c.write("refuses", "")
		c.expect(c.hold("PartitionName=a\nPartitionName=b\n"), "Access/permission denied")
	})
	t.Run("slurmctld has not started", func(t *testing.T) {
		c := newCluster(t, "")
		if err := os.RemoveAll(c.Live); err != nil {
			t.Fatal(err)
		}
		c.expect(c.hold(without), "it has not started yet")
		c.expect(c.hold(with), "")
	})
}

// TestCreatedPartitions: slurmctld forgets those that scontrol has created at each reconfigure.
func TestCreatedPartitions(t *testing.T) {
	c := newCluster(t, "5|RUNNING|created||n1|N/A|N/A|N/A|N/A|\n")
	c.set("created=UP")
	c.expect(c.hold(inForce+"TreeWidth=5\n"), "created (job 5)")
}

func TestAForcedRevisionIsApplied(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.write("wanted/"+slurmconf.ForcedRevisionFile, "1")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 5)")
	c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "")
}

// TestAForgottenDrainEnds: the agent that held the revision has ended, or the revision is no longer wanted.
func TestAForgottenDrainEnds(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed\n"), "a (job 5)")
	go c.watch(t.Context(), 10*time.Millisecond, time.Hour)
	time.Sleep(50 * time.Millisecond)
	c.expectStates("a:DRAIN b:UP closed:DOWN")
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(c.File, long, long); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if _, err := os.Stat(c.File); err != nil {
			c.expectStates("a:UP b:UP closed:DOWN")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("a is still drained")
}

// TestNamesOfSlurmNodes: slurmctld does not start with a node set that has the name of a node.
func TestNamesOfSlurmNodes(t *testing.T) {
	for _, tc := range []struct{ name, add, want string }{
		{"a node set", "NodeSet=gpu-0 Feature=gpu-0\n", "NameTaken: it gives names of Slurm nodes"},
		{"a node set in other case", "NodeSet=GPU-0 Feature=gpu-0\n", ""},
		{"a node set of another name", "NodeSet=gpu Feature=gpu\n", ""},
		{"a static node, while no job has the dynamic one", "NodeName=gpu-[0-3] CPUs=1\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, "")
			c.write("nodes", "NodeName=gpu-0 State=FUTURE\nNodeName=cpu-0 State=IDLE\n")
			c.expect(c.hold(inForce+tc.add), tc.want)
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.hold(inForce+tc.add), tc.want)
			c.write("nodes", "NodeName=cpu-0 State=IDLE\n")
			c.expect(c.hold(inForce+tc.add), "")
		})
	}
}

// TestAStaticNodeGetsTheNameOfADynamicOne: slurmctld gives the dynamic node the shape of the line, and ends the jobs that
// do not fit into it.
func TestAStaticNodeGetsTheNameOfADynamicOne(t *testing.T) {
	const added = inForce + "NodeName=gpu-[0-3] CPUs=1\n"
	for _, tc := range []struct{ name, jobs, want string }{
		{"a job runs on it", "5|RUNNING|a|gpu-[2-3]||N/A|N/A|N/A|N/A|\n", "NodeInUse: it gives names of dynamic nodes to other nodes"},
		{"a job requires it", "5|PENDING|a||gpu-1|N/A|N/A|N/A|N/A|\n", "gpu-1 (job 5)"},
		{"its job has ended", "5|COMPLETED|a|gpu-2||N/A|N/A|N/A|N/A|\n", ""},
		{"a job runs elsewhere", "5|RUNNING|a|gpu-4||N/A|N/A|N/A|N/A|\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, tc.jobs)
			c.expect(c.hold(added), tc.want)
			c.expectStates("a:UP b:UP closed:DOWN")
			c.write("wanted/"+slurmconf.ForcedRevisionFile, "2\n")
			c.expect(c.hold(added), "")
		})
	}
	c := newCluster(t, "")
	c.write("down", "")
	c.expect(c.hold(added), "NodeInUse: it adds the nodes gpu-0, gpu-1, gpu-2, gpu-3")
}

// TestVariablesOfSqueueDoNotCount: spec.reconfigure.env of a Controller may set them.
func TestVariablesOfSqueueDoNotCount(t *testing.T) {
	t.Setenv("SQUEUE_PARTITION", "other")
	c := newCluster(t, "")
	c.write("squeue", "#!/bin/sh\n[ -n \"$SQUEUE_PARTITION\" ] || echo '5|RUNNING|a||n1|N/A|N/A|N/A|N/A|'\n")
	c.expect(c.hold("PartitionName=b\nPartitionName=closed State=DOWN\n"), "a (job 5)")
}

// TestOtherAgentsLeaveDrainedPartitions: an agent has judged a revision without a, and slurmctld is about to get it. Another agent
// judges another revision, or watches.
func TestOtherAgentsLeaveDrainedPartitions(t *testing.T) {
	const withNode = inForce + "NodeName=n1 CPUs=1\n"
	newHalfway := func(t *testing.T) (c *cluster, judgeOther func(conf string)) {
		c = newCluster(t, "6|RUNNING|b||n1|N/A|N/A|N/A|N/A|\n")
		before := filesOf("slurm.conf", withNode, slurmconf.RevisionFile, "A")
		without := filesOf("slurm.conf", "PartitionName=b\nPartitionName=closed\nNodeName=n1 CPUs=1\n", slurmconf.RevisionFile, "C")
		c.expect(c.holdFiles(before, without), "")
		c.expectStates("a:DRAIN b:UP closed:DOWN")
		return c, func(conf string) { c.holdFiles(before, filesOf("slurm.conf", conf, slurmconf.RevisionFile, "B")) }
	}
	for name, other := range map[string]string{"a revision that waits for a node": inForce, "a revision that waits for nothing": withNode} {
		t.Run(name, func(t *testing.T) {
			c, judgeOther := newHalfway(t)
			judgeOther(other)
			c.expectStates("a:DRAIN b:UP closed:DOWN")
			long := time.Now().Add(-withdrawnAfter - time.Second) // the first revision is judged no more
			for _, path := range c.noteFiles() {
				if err := os.Chtimes(path, long, long); err != nil {
					t.Fatal(err)
				}
			}
			judgeOther(other)
			c.expectStates("a:UP b:UP closed:DOWN")
			if left := c.noteFiles(); len(left) > 0 {
				t.Errorf("the files %v are left", left)
			}
		})
	}
	t.Run("a watch while partitions are closed", func(t *testing.T) {
		c, judgeOther := newHalfway(t)
		c.write("closed", `{"b":"UP"}`)
		c.watchFor(300*time.Millisecond, 50*time.Millisecond)
		judgeOther(withNode)
		c.expectStates("a:DRAIN b:UP closed:DOWN")
	})
	t.Run("a watch before partitions are closed", func(t *testing.T) {
		c, _ := newHalfway(t)
		stop := c.drainFor("C").KeepFresh(t.Context(), 10*time.Millisecond)
		c.watchFor(time.Second, 400*time.Millisecond)
		stop()
		c.expectStates("a:DRAIN b:UP closed:DOWN")
		c.watchFor(time.Second, 400*time.Millisecond)
		c.expectStates("a:UP b:UP closed:DOWN")
	})
}

// noteFiles returns the files that record the revisions for which partitions are drained.
func (c *cluster) noteFiles() []string {
	c.Helper()
	files, err := filepath.Glob(c.File + ".holder-*")
	if err != nil {
		c.Fatal(err)
	}
	return files
}

// watchFor watches for a time. Partitions that are drained for longer than withdrawn get their state back.
func (c *cluster) watchFor(d, withdrawn time.Duration) {
	ctx, stop := context.WithTimeout(c.Context(), d)
	defer stop()
	c.watch(ctx, 20*time.Millisecond, withdrawn)
}

// TestJudgingSetsNoPartitionDown: another agent has closed all partitions when the judge asks for their states, and opens them right
// afterwards.
func TestJudgingSetsNoPartitionDown(t *testing.T) {
	c := newCluster(t, "5|RUNNING|a||n1|N/A|N/A|N/A|N/A|\n")
	opening := strings.Replace(fmt.Sprintf(fakePrograms["scontrol"], c.dir), "*reservations)",
		"*reservations) [ -e ../closed ] && echo UP >a && echo UP >b && rm ../closed;", 1)
	c.write("scontrol", opening)
	for range 10 { // the judge may ask about any partition
		c.set("a=DOWN", "b=DOWN", "closed=DOWN")
		c.write("closed", `{"a":"UP","b":"UP"}`)
		c.hold("PartitionName=b\nPartitionName=closed\n")
		c.expectStates("a:DRAIN b:UP closed:DOWN")
		c.hold(inForce)
	}
}
