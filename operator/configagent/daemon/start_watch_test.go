package daemon

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

func TestASlurmctldHangsWhileItStarts(t *testing.T) {
	const step = time.Minute
	first, second := processID{10, "100"}, processID{10, "200"}
	idle := startSample{process: first, used: processUse{time.Second, 1000}}
	with := func(change func(*startSample)) startSample { s := idle; change(&s); return s }
	for _, tc := range []struct {
		name string
		// samples follow each other by a minute; the last one is repeated up to the tenth.
		samples []startSample
		// hangs is the number of the sample that shows the hang, 0 for never.
		hangs int
	}{
		{"it does nothing", []startSample{idle}, 6},
		{"it answers at once", []startSample{with(func(s *startSample) { s.answers = true }), idle}, 0},
		{"it answers late, and is busy then", []startSample{idle, idle, idle, idle,
			with(func(s *startSample) { s.answers = true }), idle}, 0},
		{"it computes", []startSample{idle, idle, idle, with(func(s *startSample) { s.used.cpu += startCPU })}, 9},
		{"it reads its state", []startSample{idle, idle, idle, with(func(s *startSample) { s.used.io += startIO })}, 9},
		{"it does a little", []startSample{idle, idle, idle,
			with(func(s *startSample) { s.used.io, s.used.cpu = 2000, 2*time.Second })}, 6},
		{"it waits for slurmdbd", []startSample{with(func(s *startSample) { s.awaitsSlurmdbd = true })}, 0},
		{"slurmdbd is back", []startSample{idle, idle, with(func(s *startSample) { s.awaitsSlurmdbd = true }), idle}, 8},
		{"another one has started", []startSample{idle, idle, idle, with(func(s *startSample) { s.process = second })}, 9},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var watch startWatch
			found := 0
			for i := range 10 {
				s := tc.samples[min(i, len(tc.samples)-1)]
				s.at = time.Unix(0, 0).Add(time.Duration(i) * step)
				if watch.hangs(s) && found == 0 {
					found = i + 1
				}
			}
			if found != tc.hangs {
				t.Errorf("it is found to hang with sample %d, not %d", found, tc.hangs)
			}
		})
	}
}

// TestASlurmctldThatComputesOnNeverHangs, for however long it takes.
func TestASlurmctldThatComputesOnNeverHangs(t *testing.T) {
	var watch startWatch
	s := startSample{process: processID{1, "1"}, at: time.Unix(0, 0)}
	for range 10_000 {
		if watch.hangs(s) {
			t.Fatal("it is found to hang")
		}
		s.at, s.used.cpu = s.at.Add(startInterval), s.used.cpu+startInterval/20 // a twentieth of a processor
	}
}

func TestSlurmdbdAddresses(t *testing.T) {
	for conf, want := range map[string][]string{
		"AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=db\nAccountingStoragePort=7000\n": {"db:7000"},
		"accountingstoragetype=accounting_storage/slurmdbd\nAccountingStorageBackupHost=b\n":                        {"localhost:6819", "b:6819"},
		"AccountingStorageHost=db\n": nil,
	} {
		if got := slurmdbdAddresses(slurmconf.ParseSettings(conf)); !slices.Equal(got, want) {
			t.Errorf("of %q they are %q, not %q", conf, got, want)
		}
	}
}

// TestReachesSlurmdbd: slurmdbd or its backup is enough, and neither is needed if slurm.conf names none.
func TestReachesSlurmdbd(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	settings := slurmconf.ParseSettings("AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.2\n" +
		"AccountingStorageBackupHost=127.0.0.1\nAccountingStoragePort=" + port + "\n")
	if !ReachesSlurmdbd(t.Context(), settings) {
		t.Error("the backup is not reached")
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if ReachesSlurmdbd(t.Context(), settings) {
		t.Error("nothing listens, and slurmdbd is reached")
	}
	if !ReachesSlurmdbd(t.Context(), nil) {
		t.Error("a slurmdbd is missed that nobody needs")
	}
}

// TestReadProcess reads the process of the test, which has used a processor and read files.
func TestReadProcess(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(pidFile, fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; { //nolint:revive // it computes
	}
	id, used, err := readProcess(pidFile, "/proc")
	if err != nil || id.pid != os.Getpid() || id.started == "" || used.cpu <= 0 || used.io <= 0 {
		t.Errorf("it is %+v %+v, %v", id, used, err)
	}
	if again, _, err := readProcess(pidFile, "/proc"); err != nil || again != id {
		t.Errorf("then it is %+v, %v", again, err)
	}
}
