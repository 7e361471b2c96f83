//go:build e2e

package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/daemon"
	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/inuse"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// agentBeside is a slurm-agent beside the slurmctld of a cluster. Its live folder is its own; Apply copies from there.
type agentBeside struct {
	*testing.T
	tr     trial
	agent  *configagent.Agent
	cfg    configagent.Config
	judge  inuse.Judge
	gate   gate.Gate
	etc    string
	number int
	// gres is gres.conf of the next revisions.
	gres string
	// stop ends the agent, and does nothing if none runs.
	stop func()
}

// confFiles are the files that Apply copies.
var confFiles = []string{"slurm.conf", "more.conf", "gres.conf"}

func newAgentBeside(t *testing.T, tr trial) *agentBeside {
	t.Helper()
	dir := t.TempDir()
	a := &agentBeside{T: t, tr: tr, etc: filepath.Join(tr.cluster.Dir, "etc"), stop: func() {}}
	live, log := filepath.Join(dir, "live"), slog.New(slog.DiscardHandler)
	a.gate = newGate(t, tr, live)
	a.gate.Conf.Overridden = filepath.Join(dir, "drained")
	a.judge = inuse.Judge{Programs: a.gate.Programs, Wanted: filepath.Join(dir, "wanted"), Live: live,
		File: a.gate.Conf.Overridden, GateFile: a.gate.File, ReachesSlurmdbd: daemon.ReachesSlurmdbd, Log: log}
	a.cfg = configagent.Config{Daemon: configagent.SlurmctldDaemon(), Wanted: a.judge.Wanted, Live: live,
		Accepted: filepath.Join(dir, "accepted"), Interval: 100 * time.Millisecond,
		Check:       func(context.Context, configagent.Files) error { return nil },
		BeforeStart: func(context.Context) error { return nil },
		Hold:        a.judge.Hold, Apply: a.apply, Log: log, Now: time.Now}
	return a
}

// start starts the agent, or another one in its place.
func (a *agentBeside) start() {
	a.Helper()
	a.stop()
	agent := configagent.New(a.cfg)
	ctx, cancel := context.WithCancel(a.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = agent.Run(ctx) }()
	a.agent, a.stop = agent, func() { cancel(); <-ended }
	a.Cleanup(a.stop)
}

func (a *agentBeside) apply(ctx context.Context, _ slurmconf.Effect) error {
	if err := a.gate.Close(ctx); err != nil {
		return err
	}
	for _, name := range confFiles {
		text, err := os.ReadFile(filepath.Join(a.cfg.Live, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(a.etc, name), text, 0o644); err != nil { //nolint:gosec // slurmd reads it
			return err
		}
	}
	if _, err := a.tr.cluster.Run(ctx, "", "scontrol", "reconfigure"); err != nil {
		return err
	}
	var err error
	for range 50 {
		if err = a.gate.Open(ctx); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// want writes the wanted files, and returns their revision.
func (a *agentBeside) want(conf, more string) string {
	a.Helper()
	a.number++
	revision := strconv.Itoa(a.number)
	files := configagent.Files{"slurm.conf": {Content: []byte(conf), Mode: 0o644}, "more.conf": {Content: []byte(more),
		Mode: 0o644}, slurmconf.RevisionFile: {Content: []byte(revision), Mode: 0o644}}
	if a.gres != "" {
		files["gres.conf"] = configagent.File{Content: []byte(a.gres), Mode: 0o644}
	}
	if err := configagent.WriteFiles(a.cfg.Wanted, files); err != nil {
		a.Fatal(err)
	}
	return revision
}

func (a *agentBeside) awaitApplied(revision string) {
	a.Helper()
	process.Await(a.T, func() error {
		if s := a.agent.Status(); s.Applied != revision {
			return fmt.Errorf("the status is %+v, held for %+v", s, s.Held)
		}
		return nil
	})
}

func (a *agentBeside) awaitHeld(revision, reason, part string) {
	a.Helper()
	process.Await(a.T, func() error {
		s := a.agent.Status()
		if s.Wanted != revision || s.Held == nil || s.Held.Reason != reason || !strings.Contains(s.Held.Message, part) {
			return fmt.Errorf("the status is %+v, held for %+v", s, s.Held)
		}
		return nil
	})
}

func (a *agentBeside) run(argv ...string) string {
	a.Helper()
	out, err := a.tr.cluster.Run(a.Context(), "", argv...)
	if err != nil {
		a.Fatal(err)
	}
	return strings.TrimSpace(out)
}

func (a *agentBeside) submit(args ...string) string {
	a.Helper()
	return a.run(append([]string{"sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--mem=1", "--wrap", "sleep 600"},
		args...)...)
}

func (a *agentBeside) awaitJob(id, state string) {
	a.Helper()
	process.Await(a.T, func() error {
		shown, err := a.tr.cluster.Run(a.Context(), "", "scontrol", "--oneliner", "show", "job", id)
		if err == nil && !strings.Contains(shown, "JobState="+state+" ") {
			err = errors.New(shown)
		}
		return err
	})
}

// TestRevisionsThatEndJobsWait: the revisions end jobs in different ways, and the jobs continue. A revision is applied when the jobs have
// ended, or when it is forced.
func TestRevisionsThatEndJobsWait(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(text) + "ReconfigFlags=KeepPartState\nPartitionName=doomed Nodes=ALL\nNodeSet=set Feature=rack1\n" +
			"PartitionName=set Nodes=set\nInclude more.conf\n"
		const more = "PartitionName=included Nodes=ALL\n"
		first := a.want(string(text), "") // before the agent looks, so that it sees all files
		a.start()
		a.awaitApplied(first)
		a.awaitApplied(a.want(base, more))
		a.run("scontrol", "create", "PartitionName=created", "Nodes=ALL")
		edit := func(old, replacement string) string {
			if !strings.Contains(base, old) {
				t.Fatalf("slurm.conf has no %q", old)
			}
			return strings.ReplaceAll(base, old, replacement)
		}
		a.run("scontrol", "create", "NodeName=w-0", "CPUs=1", "State=FUTURE")
		for _, tc := range []struct{ name, partition, reason, conf, more string }{
			{"a created partition", "created", "PartitionInUse", base + "TreeWidth=7\n", more},
			{"a removed line", "doomed", "PartitionInUse", edit("PartitionName=doomed Nodes=ALL\n", ""), more},
			{"a renamed NodeSet", "set", "PartitionInUse", strings.ReplaceAll(edit("NodeSet=set", "NodeSet=other"),
				"PartitionName=set Nodes=set", "PartitionName=other Nodes=other"), more},
			{"an emptied included file", "included", "PartitionInUse", base, "# nothing\n"},
			{"a commented Include", "included", "PartitionInUse", edit("Include more.conf", "# Include more.conf"), more},
			{"GRES of nodes", "batch", "NodeInUse", edit("Gres=gpu:h100:4 ", ""), more},
			{"nodes in a line DownNodes", "batch", "NodeInUse", base + "DownNodes=n[1-9] State=DOWN\n", more},
			{"no room for a dynamic node", "batch", "NodeInUse", base + "MaxNodeCount=2\n", more},
			{"a kind of GRES", "batch", "GresInUse", edit("GresTypes=gpu\n", ""), more},
			{"fewer jobs than there are, with the tasks of an array", "batch", "TooManyJobs", base + "MaxJobCount=40\n" +
				"MaxArraySize=40\n", more},
			{"fewer jobs than there are", "batch", "TooManyJobs", base + "MaxJobCount=2\nMaxArraySize=2\n", more},
		} {
			if !*long && !slices.Contains([]string{"a created partition", "a removed line", "GRES of nodes",
				"no room for a dynamic node", "a kind of GRES"}, tc.name) {
				continue
			}
			running := a.submit("--partition", tc.partition, "--gres=gpu:1")
			waiting := a.submit("--hold", "--partition", tc.partition, "--array=1-30")
			a.awaitJob(running, "RUNNING")
			a.awaitHeld(a.want(tc.conf, tc.more), tc.reason, "")
			a.awaitJob(running, "RUNNING")
			a.awaitJob(waiting, "PENDING")
			a.run("scancel", running)
			if tc.reason != "PartitionInUse" {
				a.run("scancel", waiting)
				a.awaitApplied(a.want(base+"# "+tc.name+"\n", more))
				continue
			}
			if state := a.run("sinfo", "--noheader", "--summarize", "--partition="+tc.partition, "--format=%a"); state != "drain" {
				t.Errorf("%s: the partition is %s", tc.name, state)
			}
			a.awaitHeld(strconv.Itoa(a.number), tc.reason, tc.partition+" (jobs "+waiting+"_1, ")
			a.run("scancel", waiting)
			a.awaitApplied(strconv.Itoa(a.number))
			a.awaitApplied(a.want(base+"# "+tc.name+"\n", more))
			if shown := a.run("sinfo", "--noheader", "--all", "--format=%R %a"); strings.Contains(shown, "drain") {
				t.Errorf("%s: the partitions are %s afterwards", tc.name, shown)
			}
		}
		a.checkForce(edit("PartitionName=doomed Nodes=ALL\n", ""), more)
	})
}

// TestAStaticNodeWithTheNameOfADynamicOneWaits: slurmctld would give the dynamic node the shape of the line.
func TestAStaticNodeWithTheNameOfADynamicOneWaits(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(text) + "ReconfigFlags=KeepPartState\n"
		first := a.want(base, "")
		a.start()
		a.awaitApplied(first)
		a.run("scontrol", "create", "NodeName=dyn-0", "State=CLOUD", "CPUs=4")
		job := a.submit("--hold", "--partition=batch", "--nodelist=dyn-0")
		added := a.want(base+"NodeName=dyn-[0-1] CPUs=1\n", "")
		a.awaitHeld(added, "NodeInUse", "dyn-0 (job "+job+")")
		a.awaitJob(job, "PENDING")
		a.run("scancel", job)
		a.awaitApplied(added)
	})
}

// TestFilesOfGRESThatNodesMayLackWait: the slurmds would end without the files, in pods with their jobs.
func TestFilesOfGRESThatNodesMayLackWait(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		conf, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		gres, err := os.ReadFile(filepath.Join(a.etc, "gres.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(conf) + "ReconfigFlags=KeepPartState\n"
		a.gres = string(gres)
		first := a.want(base, "")
		a.start()
		a.awaitApplied(first)
		job := a.submit("--partition=batch")
		a.awaitJob(job, "RUNNING")
		a.gres = string(gres) + "Name=gpu Type=h100 File=/dev/nvidia[0-7]\n"
		a.awaitHeld(a.want(base, ""), "GresInUse", "(job "+job+"); give the lines a NodeName")
		a.gres = string(gres) + "NodeName=elsewhere-[0-3] Name=gpu Type=h100 File=/dev/nvidia[0-7]\n"
		a.awaitApplied(a.want(base, ""))
		a.awaitJob(job, "RUNNING")
		a.run("scancel", job)
		for _, args := range [][]string{{"--gres=gpu:1"}, {"--exclusive"}} {
			job := a.submit(append(args, "--partition=batch")...)
			a.awaitJob(job, "RUNNING")
			a.gres = strings.ReplaceAll(string(gres), "[0-3]", "[0-1]")
			a.awaitHeld(a.want(base, ""), "GresInUse", "gres.conf counts fewer GRES of nodes")
			a.awaitHeld(strconv.Itoa(a.number), "GresInUse", "(job "+job+")")
			a.gres = string(gres)
			a.awaitApplied(a.want(base, ""))
			a.awaitJob(job, "RUNNING")
			a.run("scancel", job)
		}
	})
}

// TestWhatReservationsAreMadeOfStays: slurmctld would delete the reservations, and hold their jobs for good.
func TestWhatReservationsAreMadeOfStays(t *testing.T) {
	forNewestRelease(t, func(t *testing.T, _ string, tr trial) {
		a := newAgentBeside(t, tr)
		text, err := os.ReadFile(filepath.Join(a.etc, "slurm.conf"))
		if err != nil {
			t.Fatal(err)
		}
		base := string(text) + "ReconfigFlags=KeepPartState\n"
		first := a.want(base, "") // with which slurmctld has started, for the agent
		a.start()
		a.awaitApplied(first)
		a.awaitApplied(a.want(base+"PartitionName=doomed Nodes=ALL\nLicenses=left:1,stays:1\n", ""))
		create := func(args ...string) {
			a.run(append([]string{"scontrol", "create", "reservation", "users=root", "start=now+3600", "duration=60"}, args...)...)
		}
		create("reservationname=course", "partition=doomed", "nodecnt=1")
		create("reservationname=seats", "licenses=left:1", "flags=license_only,any_nodes")
		job := a.submit("--partition=batch", "--reservation=course")
		removed := a.want(base+"Licenses=stays:1\n", "")
		a.awaitHeld(removed, "ReservationInUse", "course (partition doomed), seats (license left)")
		a.awaitJob(job, "PENDING")
		a.run("scancel", job)
		a.run("scontrol", "delete", "reservation=course")
		a.awaitHeld(removed, "ReservationInUse", ": seats (license left)")
		a.run("scontrol", "delete", "reservation=seats")
		a.awaitApplied(removed)
	})
}

// checkForce checks that a revision which ends a job waits until it is forced, even after the pod has moved.
func (a *agentBeside) checkForce(conf, more string) {
	a.Helper()
	running := a.submit("--partition=doomed")
	a.awaitJob(running, "RUNNING")
	before := a.agent.Status().Applied
	a.cfg.Live += "-of-another-pod"
	a.judge.Live, a.gate.Conf.Live = a.cfg.Live, a.cfg.Live
	a.cfg.Hold = a.judge.Hold
	revision := a.want(conf, more)
	a.start()
	a.awaitHeld(revision, "PartitionInUse", "doomed (job "+running+")")
	a.awaitJob(running, "RUNNING")
	if applied := a.agent.Status().Applied; applied != before {
		a.Errorf("slurmctld starts with revision %s, want %s", applied, before)
	}
	err := os.WriteFile(filepath.Join(a.cfg.Wanted, slurmconf.ForcedRevisionFile), []byte(revision), 0o600)
	if err != nil {
		a.Fatal(err)
	}
	a.awaitApplied(revision)
	a.awaitJob(running, "NODE_FAIL")
}
