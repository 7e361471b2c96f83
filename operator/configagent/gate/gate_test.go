package gate

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// fakePrograms are programs of Slurm that keep each partition's state in a file, and log what scontrol sets. They have messages to
// send, or a job that is not launched, as often as the files sending and unlaunched have lines.
var fakePrograms = map[string]string{
	"scontrol": `#!/bin/sh
cd %[1]s/partitions
case $1 in
update)
  [ -e ../refuses ] && echo "slurm_update error: Access/permission denied" >&2 && exit 1
  echo "${3#State=}" >"${2#PartitionName=}"; echo "${2#PartitionName=} ${3#State=}" >>../log ;;
show) [ "$2" = config ] && cat ../boot && exit 0; for p in *; do echo "PartitionName=$p AllowGroups=ALL State=$(cat "$p") TotalCPUs=4"; done ;;
*) for p in *; do echo "PartitionName=$p AllowGroups=ALL State=$(cat "$p") TotalCPUs=4"; done ;;
esac
`,
	"sdiag": `#!/bin/sh
if [ -s %[1]s/sending ]; then sed -i 1d %[1]s/sending; echo "Agent count:          1"; else echo "Agent count:          0"; fi
echo sdiag >>%[1]s/log
`,
	"squeue": `#!/bin/sh
echo "RUNNING None"
if [ -s %[1]s/unlaunched ]; then head -n 1 %[1]s/unlaunched; sed -i 1d %[1]s/unlaunched; fi
`,
}

// cluster is a gate whose programs are fakePrograms.
type cluster struct {
	*testing.T
	Gate
	dir string
}

// newCluster returns one with partitions, written "name=STATE".
func newCluster(t *testing.T, partitions ...string) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{T: t, dir: dir, Gate: Gate{File: filepath.Join(dir, "closed"),
		Programs: partition.Programs{Scontrol: filepath.Join(dir, "scontrol")}, Log: slog.New(slog.DiscardHandler)}}
	c.Conf = partition.ConfStates{Programs: c.Programs, Live: dir, File: filepath.Join(dir, "states")}
	for name, script := range fakePrograms {
		c.writeFile(name, fmt.Sprintf(script, dir))
	}
	c.writeFile("slurm.conf", "ClusterName=c\n")
	c.hasStarted(time.Now().Add(-time.Minute))
	for _, p := range partitions {
		c.setAsAdministrator(p)
	}
	return c
}

// newOpenedCluster returns a cluster whose gate was closed and opened.
func newOpenedCluster(t *testing.T, partitions ...string) *cluster {
	t.Helper()
	c := newCluster(t, partitions...)
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	return c
}

func (c *cluster) writeFile(name, text string) {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.Fatal(err)
	}
	// Watch may read it meanwhile.
	temporary := filepath.Join(c.dir, ".new")
	c.must(process.WriteProgram(temporary, []byte(text)))
	c.must(os.Rename(temporary, path))
}

// setAsAdministrator sets a partition's state, as an administrator does.
func (c *cluster) setAsAdministrator(partition string) {
	c.Helper()
	name, state, _ := strings.Cut(partition, "=")
	c.writeFile("partitions/"+name, state+"\n")
}

// expectStates compares the states of all partitions.
func (c *cluster) expectStates(when string, want ...string) {
	c.Helper()
	states, err := c.Programs.States(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(states)) {
		got = append(got, name+"="+states[name])
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		c.Errorf("%s the partitions are %v, want %v", when, got, want)
	}
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// TestAdministratorsStatesAreKept: states set before Close, and between Close and Open.
func TestAdministratorsStatesAreKept(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP", "c=UP", "d=DOWN", "e=DRAIN", "f=INACTIVE")
	c.must(c.Close(t.Context()))
	c.expectStates("closed,", "a=DOWN", "b=DOWN", "c=DOWN", "d=DOWN", "e=DRAIN", "f=INACTIVE")
	c.setAsAdministrator("b=DRAIN")
	c.must(os.Remove(filepath.Join(c.dir, "partitions", "c"))) // the new configuration has it no more
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "a=UP", "b=DRAIN", "d=DOWN", "e=DRAIN", "f=INACTIVE")
	c.setAsAdministrator("a=DOWN")
	c.must(c.Open(t.Context()))
	c.expectStates("opened again,", "a=DOWN", "b=DRAIN", "d=DOWN", "e=DRAIN", "f=INACTIVE")
}

// TestANewStateInTheConfigurationCounts for any earlier state of the partition. Without a new state in the configuration the
// partition's state stays.
func TestANewStateInTheConfigurationCounts(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP", "c=UP", "d=UP", "e=DRAIN")
	c.writeFile("slurm.conf", "PartitionName=a\nPartitionName=b\nPartitionName=c\nPartitionName=d State=DOWN\n"+
		"PartitionName=e State=DOWN\n")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.expectStates("as administrators have set them,", "a=UP", "b=UP", "c=UP", "d=UP", "e=DRAIN")
	c.writeFile("slurm.conf", "PartitionName=a Nodes=ALL State=UP State=DOWN\npartitionname=b Nodes=ALL \\\n state=down\n"+
		"PartitionName=c Nodes=ALL State=UP # State=DOWN\n#PartitionName=d State=DOWN\nPartitionName=d\nPartitionName=e\n"+
		"PartitionName=new State=DOWN\n")
	c.must(c.Close(t.Context()))
	c.expectStates("closed,", "a=DOWN", "b=DOWN", "c=DOWN", "d=DOWN", "e=DOWN")
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "a=DOWN", "b=DOWN", "c=UP", "d=UP", "e=UP")
	c.setAsAdministrator("a=UP")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.expectStates("opened by an administrator,", "a=UP", "b=DOWN", "c=UP", "d=UP", "e=UP")
}

func TestNoPartitions(t *testing.T) {
	c := newCluster(t, "d=DOWN")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "d=DOWN")
	if _, err := os.Stat(c.File); err == nil {
		t.Error("the file is still there")
	}
}

func TestCloseWaitsForLaunches(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.writeFile("sending", "1\n2\n")
	c.writeFile("unlaunched", "RUNNING Prolog\nCONFIGURING None\nCONFIGURING Prolog\n")
	c.must(c.Close(t.Context()))
	log, err := os.ReadFile(filepath.Join(c.dir, "log"))
	c.must(err)
	if want := "a DOWN\n" + strings.Repeat("sdiag\n", 6); string(log) != want {
		t.Errorf("the log is %q, want %q", log, want)
	}
}

// TestAnAgentThatEndedLeavesNoPartitionDown: the next agent closes the open partitions, and opens all.
func TestAnAgentThatEndedLeavesNoPartitionDown(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.must(c.Close(t.Context()))
	c.setAsAdministrator("b=UP")
	c.setAsAdministrator("new=UP")
	c.must(c.Close(t.Context()))
	c.expectStates("closed,", "a=DOWN", "b=DOWN", "new=DOWN")
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "a=UP", "b=UP", "new=UP")
}

func TestARefusedChangeIsAnError(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.writeFile("refuses", "")
	if err := c.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "Access/permission denied") {
		t.Errorf("the error of Close is %v", err)
	}
	c.setAsAdministrator("a=DOWN")
	if err := c.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "Access/permission denied") {
		t.Errorf("the error of Open is %v", err)
	}
	c.must(os.Remove(filepath.Join(c.dir, "refuses")))
	c.must(c.Open(t.Context()))
	c.expectStates("allowed to,", "a=UP")
}

// TestAForgottenGateIsOpened: an old gate is opened, but not one that was closed just now.
func TestAForgottenGateIsOpened(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.must(c.Close(t.Context()))
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait) // it writes into the folder of the test
	watching.Go(func() { c.openForgotten(t.Context(), 10*time.Millisecond, time.Hour) })
	time.Sleep(100 * time.Millisecond)
	c.expectStates("closed just now,", "a=DOWN")
	long := time.Now().Add(-2 * time.Hour)
	c.must(os.Chtimes(c.File, long, long))
	for range 1000 {
		if _, err := os.Stat(c.File); err != nil {
			c.expectStates("forgotten,", "a=UP")
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it is still closed")
}

// TestADamagedFileKeepsNoPartitionDown: it is unknown which partitions the agent has set DOWN.
func TestADamagedFileKeepsNoPartitionDown(t *testing.T) {
	for _, text := range []string{"", "[", "null", "{}x", "0"} {
		c := newCluster(t, "a=DOWN", "b=DRAIN")
		c.writeFile("closed", text)
		c.must(c.Open(t.Context()))
		c.expectStates(fmt.Sprintf("opened with %q,", text), "a=UP", "b=DRAIN")
		if _, err := os.Stat(c.File); err == nil {
			t.Errorf("%q is still there", text)
		}
		c.writeFile("closed", text)
		c.must(c.Close(t.Context()))
		c.expectStates(fmt.Sprintf("closed with %q,", text), "a=DOWN", "b=DRAIN")
		c.must(c.Open(t.Context()))
		c.expectStates(fmt.Sprintf("closed and opened with %q,", text), "a=UP", "b=DRAIN")
	}
}

// TestAFileOfAnOlderAgent: it contains only the names of the partitions.
func TestAFileOfAnOlderAgent(t *testing.T) {
	c := newCluster(t, "a=DOWN", "b=DOWN")
	c.writeFile("closed", `["a"]`)
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "a=UP", "b=DOWN")
}

// hasStarted sets the start time of slurmctld.
func (c *cluster) hasStarted(at time.Time) {
	c.Helper()
	c.writeFile("boot", "BOOT_TIME               = "+at.Format("2006-01-02T15:04:05")+"\n")
}

// recovers sets the time when slurmctld recovered its state.
func (c *cluster) recovers(at time.Time) {
	c.Helper()
	c.writeFile("last_config_lite", "")
	c.must(os.Chtimes(filepath.Join(c.dir, "last_config_lite"), at, at))
}

// savePartitions sets the time when slurmctld saved the states of partitions.
func (c *cluster) savePartitions(at time.Time) {
	c.Helper()
	c.writeFile("part_state", "")
	c.must(os.Chtimes(filepath.Join(c.dir, "part_state"), at, at))
}

// restoreLost does what Watch does every few seconds.
func (c *cluster) restoreLost() {
	c.Helper()
	c.must(c.closed().RestoreLost(c.Context()))
}

// expectNoFiles fails the test if an open gate left files.
func (c *cluster) expectNoFiles() {
	c.Helper()
	if left, err := filepath.Glob(filepath.Join(c.dir, "closed*")); err != nil || len(left) > 0 {
		c.Errorf("%v are left (%v)", left, err)
	}
}

// TestAKilledSlurmctldLeavesNoPartitionDown: slurmctld saves the states of partitions some seconds after Open. If it is killed
// before, it starts with the states of the reconfigure.
func TestAKilledSlurmctldLeavesNoPartitionDown(t *testing.T) {
	c := newCluster(t, "batch=UP", "old=DRAIN")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.expectStates("after Open", "batch=UP", "old=DRAIN")
	c.setAsAdministrator("batch=DOWN")
	c.restoreLost()
	c.expectStates("with an administrator's", "batch=DOWN", "old=DRAIN")
	c.hasStarted(time.Now().Add(2 * time.Second))
	c.writeFile("closed", `{"batch":"UP"}`)
	c.restoreLost()
	c.expectStates("while another reconfigure has closed the gate", "batch=DOWN", "old=DRAIN")
	c.must(os.Remove(c.File))
	c.restoreLost()
	c.expectStates("after slurmctld has started with what it had saved", "batch=UP", "old=DRAIN")
	c.setAsAdministrator("batch=DOWN")
	c.restoreLost()
	c.expectStates("with what an administrator has set after that", "batch=DOWN", "old=DRAIN")
	long := time.Now().Add(-time.Minute)
	c.must(os.Chtimes(c.File+".restored", long, long))
	c.savePartitions(time.Now())
	c.restoreLost()
	c.expectStates("once slurmctld has saved", "batch=DOWN", "old=DRAIN")
	c.expectNoFiles()
}

// TestWatchLeavesAGateInUse: closing a gate and a reconfigure may take longer than forgottenAfter. Only the gate of an agent that has
// ended is forgotten.
func TestWatchLeavesAGateInUse(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.refreshInterval = 20 * time.Millisecond
	c.writeFile("unlaunched", strings.Repeat("RUNNING Prolog\n", 5))
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { c.openForgotten(ctx, 20*time.Millisecond, 400*time.Millisecond) })
	stop := c.KeepClosed(t.Context())
	c.must(c.Close(t.Context()))
	time.Sleep(600 * time.Millisecond) // slurmctld executes itself
	c.expectStates("while the gate is in use", "a=DOWN", "b=DOWN")
	stop()
	for range 100 {
		if _, closed := c.closed().Age(); !closed {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	watching.Wait()
	c.expectStates("after the agent has ended", "a=UP", "b=UP")
}

// TestWatchOpensWhatWasLost runs the loop of Watch; the other tests call its steps.
func TestWatchOpensWhatWasLost(t *testing.T) {
	c := newOpenedCluster(t, "a=UP")
	c.hasStarted(time.Now())
	c.setAsAdministrator("a=DOWN")
	var watching sync.WaitGroup
	t.Cleanup(watching.Wait) // it writes into the folder of the test
	watching.Go(func() { c.openForgotten(t.Context(), 10*time.Millisecond, time.Hour) })
	for range 1000 {
		if state, err := os.ReadFile(filepath.Join(c.dir, "partitions", "a")); err == nil && string(state) == "UP\n" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it is still closed")
}

// TestAStandbyLeavesNoPartitionDown: a standby that takes over reports the start of its process, which may be days ago.
func TestAStandbyLeavesNoPartitionDown(t *testing.T) {
	c := newOpenedCluster(t, "batch=UP")
	c.hasStarted(time.Now().Add(-24 * time.Hour))
	c.setAsAdministrator("batch=DOWN")
	c.restoreLost()
	c.expectStates("after a standby has taken over", "batch=UP")
}

// TestAnotherReconfigureLeavesNoPartitionDown: it begins before the gate is checked, and finds the partitions DOWN whose states
// slurmctld lost.
func TestAnotherReconfigureLeavesNoPartitionDown(t *testing.T) {
	c := newOpenedCluster(t, "a=UP", "b=UP")
	c.hasStarted(time.Now())
	c.setAsAdministrator("b=DOWN")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.expectStates("open again,", "a=UP", "b=UP")
}

// TestSavingWhatWasLostLeavesNoPartitionDown: an administrator changes another partition of a slurmctld that has just started.
func TestSavingWhatWasLostLeavesNoPartitionDown(t *testing.T) {
	c := newOpenedCluster(t, "a=UP", "b=UP")
	c.hasStarted(time.Now())
	c.setAsAdministrator("b=DOWN")
	c.savePartitions(time.Now().Add(2 * time.Second))
	c.restoreLost()
	c.expectStates("after slurmctld has saved what it had lost,", "a=UP", "b=UP")
}

// TestWhatSlurmctldHasSavedIsKept: it saves all when it ends.
func TestWhatSlurmctldHasSavedIsKept(t *testing.T) {
	c := newCluster(t, "a=UP")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.setAsAdministrator("a=DOWN")
	c.savePartitions(time.Now().Add(3 * time.Second))
	c.hasStarted(time.Now().Add(5 * time.Second))
	c.restoreLost()
	c.expectStates("with an administrator's, after a restart,", "a=DOWN")
	c.expectNoFiles()
}

// TestAPartOfTheStatesIsSaved: a slow file server replaces slurmctld's file after Open, with earlier states.
func TestAPartOfTheStatesIsSaved(t *testing.T) {
	c := newCluster(t, "a=UP", "b=UP")
	c.must(c.Close(t.Context()))
	c.must(c.Open(t.Context()))
	c.savePartitions(time.Now().Add(100 * time.Millisecond))
	c.restoreLost()
	c.hasStarted(time.Now().Add(5 * time.Second))
	c.setAsAdministrator("b=DOWN")
	c.restoreLost()
	c.expectStates("after slurmctld has started with a part,", "a=UP", "b=UP")
}

// TestWhatIsSavedInTheSecondOfTheStartIsKept: slurmctld saves everything a tenth of a second before it executes itself again, and
// reports its start in whole seconds.
func TestWhatIsSavedInTheSecondOfTheStartIsKept(t *testing.T) {
	c := newOpenedCluster(t, "a=UP")
	c.setAsAdministrator("a=DOWN")
	second := time.Now().Truncate(time.Second).Add(5 * time.Second)
	c.savePartitions(second.Add(370 * time.Millisecond))
	c.hasStarted(second)
	c.recovers(second.Add(480 * time.Millisecond))
	c.restoreLost()
	c.expectStates("with an administrator's, after his own reconfigure,", "a=DOWN")
	c.expectNoFiles()
}

// TestWhatIsSavedAfterTheRecoveryIsLost: the slurmctld that lost the states saves them in the second of its start.
func TestWhatIsSavedAfterTheRecoveryIsLost(t *testing.T) {
	c := newOpenedCluster(t, "a=UP", "b=UP")
	second := time.Now().Truncate(time.Second).Add(5 * time.Second)
	c.hasStarted(second)
	c.recovers(second.Add(300 * time.Millisecond))
	c.savePartitions(second.Add(400 * time.Millisecond))
	c.setAsAdministrator("b=DOWN")
	c.restoreLost()
	c.expectStates("after slurmctld has saved what it had lost,", "a=UP", "b=UP")
}

// TestAStartInTheSameSecondLeavesNoPartitionDown: slurmctld reports its start in whole seconds. If it is killed right after Open, its
// successor may start in the same second as the slurmctld that received the states.
func TestAStartInTheSameSecondLeavesNoPartitionDown(t *testing.T) {
	for what, look := range map[string]func(*cluster){
		"Watch":          (*cluster).restoreLost,
		"the next Close": func(c *cluster) { c.must(c.Close(t.Context())); c.must(c.Open(t.Context())) },
	} {
		c := newCluster(t, "a=UP", "b=UP")
		c.recovers(time.Now().Add(-200 * time.Millisecond))
		c.must(c.Close(t.Context()))
		c.must(c.Open(t.Context()))
		c.recovers(time.Now().Add(400 * time.Millisecond))
		c.setAsAdministrator("b=DOWN")
		look(c)
		c.expectStates("after "+what+",", "a=UP", "b=UP")
	}
}

// TestTheNextChangeKeepsWhatAnAdministratorHasClosed: it closes nothing, since an administrator has closed all partitions or one of
// them.
func TestTheNextChangeKeepsWhatAnAdministratorHasClosed(t *testing.T) {
	for _, own := range []string{"DOWN", "UP"} {
		c := newOpenedCluster(t, "a=UP", "b=UP")
		c.setAsAdministrator("a=DOWN")
		c.setAsAdministrator("b=" + own)
		c.must(c.Close(t.Context()))
		second := time.Now().Truncate(time.Second).Add(5 * time.Second)
		c.savePartitions(second.Add(370 * time.Millisecond))
		c.hasStarted(second)
		c.must(c.Open(t.Context()))
		c.restoreLost()
		c.expectStates("closed for maintenance between two changes,", "a=DOWN", "b="+own)
		c.hasStarted(second.Add(time.Minute))
		c.restoreLost()
		c.expectStates("after slurmctld was killed,", "a=DOWN", "b="+own)
	}
}

// TestAKillWhileTheGateClosesLeavesNoPartitionDown: between the read of lost states and the read of the reconfigure's states.
func TestAKillWhileTheGateClosesLeavesNoPartitionDown(t *testing.T) {
	c := newOpenedCluster(t, "a=UP", "b=UP")
	states := map[string]string{"a": "UP", "b": "DOWN"}
	c.restoreLost()
	c.hasStarted(time.Now())
	for name, state := range states {
		c.setAsAdministrator(name + "=" + state)
	}
	c.must(c.closed().Set(t.Context(), []string{"a", "b"}))
	c.expectStates("closed,", "a=DOWN", "b=DOWN")
	c.savePartitions(time.Now().Add(3 * time.Second))
	c.hasStarted(time.Now().Add(5 * time.Second))
	c.must(c.Open(t.Context()))
	c.expectStates("open,", "a=UP", "b=UP")
}
