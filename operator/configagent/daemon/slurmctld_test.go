package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/configagent/gate"
	"github.com/slurmtide/slurmtide/operator/configagent/partition"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// fakeScontrol answers a ping unless a slurmctld hangs: the one whose process id is in the file pid.
const fakeScontrol = `#!/bin/sh
echo "$*" >>%[1]s/log
case $1 in
--all) echo "PartitionName=p AllowGroups=ALL TotalNodes=1 State=$(cat %[1]s/partition)" ;;
update) echo "${3#State=}" >%[1]s/partition ;;
reconfigure) touch %[1]s/reconfigured ;;
ping)
  if [ -e %[1]s/reconfigured ] && kill -0 "$(cat %[1]s/pid)" 2>/dev/null; then exit 1; fi
  echo "Slurmctld(primary) at ctl is UP" ;;
esac
`

// startSlurmctld starts a shell script as the slurmctld of a fakeScontrol.
func startSlurmctld(t *testing.T, script string) (Slurmctld, <-chan struct{}) {
	t.Helper()
	dir := t.TempDir()
	s := Slurmctld{Scontrol: filepath.Join(dir, "scontrol"), PidFile: filepath.Join(dir, "pid"), Live: dir,
		Timeout: 500 * time.Millisecond, Log: slog.New(slog.DiscardHandler)}
	cmd := exec.Command("sh", "-c", script)
	ready, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	if _, err := ready.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(ended) }()
	for name, text := range map[string]string{s.Scontrol: fmt.Sprintf(fakeScontrol, dir),
		s.PidFile: fmt.Sprint(cmd.Process.Pid), filepath.Join(dir, "slurm.conf"): "ClusterName=c\n"} {
		if err := process.WriteProgram(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return s, ended
}

const obedient, stubborn = "echo; exec sleep 600", "trap '' TERM; echo; while :; do sleep 0.1; done"

// TestASlurmctldThatHangsIsEnded: Kubernetes starts it again.
func TestASlurmctldThatHangsIsEnded(t *testing.T) {
	for name, run := range map[string]func(Slurmctld) error{
		"Apply":   func(s Slurmctld) error { return s.Apply(t.Context(), slurmconf.NeedsReconfigure) },
		"HandOut": func(s Slurmctld) error { return s.HandOut(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, ended := startSlurmctld(t, obedient)
			if err := run(s); !errors.Is(err, configagent.ErrNotHandedOut) {
				t.Fatal(err)
			}
			select {
			case <-ended:
			default:
				t.Error("it still runs")
			}
		})
	}
}

// TestASlurmctldThatCrashesInAReconfigure: scontrol exits with 0, and the slurmctld that answers has been started after it.
func TestASlurmctldThatCrashesInAReconfigure(t *testing.T) {
	s, _ := startSlurmctld(t, obedient)
	script := fmt.Sprintf("#!/bin/sh\n[ $1 = reconfigure ] && echo %d >%s\necho 'Slurmctld(primary) at ctl is UP'\n", os.Getpid(), s.PidFile)
	if err := process.WriteProgram(s.Scontrol, []byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.Is(err, configagent.ErrNotHandedOut) {
		t.Errorf("Apply ends with %v", err)
	}
	if err := s.HandOut(t.Context()); err != nil {
		t.Errorf("the next hand-out ends with %v", err)
	}
}

func TestASlurmctldThatHangsInSIGTERMIsKilled(t *testing.T) {
	s, ended := startSlurmctld(t, stubborn)
	if err := s.end(t.Context(), 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestAnAgentThatEndsEndsNoSlurmctld: the agent ends before its wait is over.
func TestAnAgentThatEndsEndsNoSlurmctld(t *testing.T) {
	s, ended := startSlurmctld(t, obedient)
	s.Timeout = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.Apply(ctx, slurmconf.NeedsReconfigure); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("the error is %v", err)
	}
	select {
	case <-ended:
		t.Error("it was ended")
	default:
	}
}

func TestJobsDoNotStartInAReconfigure(t *testing.T) {
	s, _ := startSlurmctld(t, obedient)
	for name, text := range map[string]string{"partition": "UP", "sdiag": "#!/bin/sh\n", "squeue": "#!/bin/sh\n"} {
		if err := process.WriteProgram(filepath.Join(s.Live, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	programs := partition.Programs{Scontrol: s.Scontrol}
	s.Gate = gate.Gate{Programs: programs, File: filepath.Join(s.Live, "closed"), Log: s.Log,
		Conf: partition.ConfStates{Programs: programs, Live: s.Live, File: filepath.Join(s.Live, "states")}}
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); !errors.Is(err, configagent.ErrNotHandedOut) { // it hangs
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(s.Live, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var changes []string
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, "update") || strings.HasPrefix(line, "reconfigure") {
			changes = append(changes, strings.TrimSpace(line))
		}
	}
	want := "update PartitionName=p State=DOWN, reconfigure, update PartitionName=p State=UP"
	if got := strings.Join(changes, ", "); got != want {
		t.Errorf("it changes %s, want %s", got, want)
	}
}

// TestAReconfigureWaitsForSlurmdbd: slurmctld registers with slurmdbd in it.
func TestAReconfigureWaitsForSlurmdbd(t *testing.T) {
	s, _ := startSlurmctld(t, obedient)
	s.Timeout = time.Minute
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil { // slurmdbd is away
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(address)
	conf := "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=" + port
	if err := os.WriteFile(filepath.Join(s.Live, "slurm.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	applied := make(chan error, 1)
	go func() { applied <- s.Apply(ctx, slurmconf.NeedsReconfigure) }()
	reconfigured := filepath.Join(s.Live, "reconfigured")
	time.Sleep(500 * time.Millisecond)
	if _, err := os.Stat(reconfigured); err == nil {
		t.Error("slurmctld is reconfigured while slurmdbd is away")
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // it is not used any more
	for range 1200 {
		if _, err := os.Stat(reconfigured); err == nil {
			cancel()
			<-applied
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	t.Fatalf("slurmctld is not reconfigured although slurmdbd is back: %v", <-applied)
}

// TestTheFirstStateIsSaved: a slurmctld 26.05 that is killed before it has saved the usage of its associations does not start
// again.
func TestTheFirstStateIsSaved(t *testing.T) {
	const withSlurmdbd = "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort="
	for name, tc := range map[string]struct {
		conf  string
		saved bool
		want  bool
	}{
		"a new cluster":                  {withSlurmdbd, false, true},
		"a cluster that has saved it":    {withSlurmdbd, true, false},
		"a cluster without a slurmdbd":   {"ClusterName=c\n#", false, false},
		"one without, that has saved it": {"ClusterName=c\n#", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := startSlurmctld(t, obedient)
			s.State, s.FirstSaved = t.TempDir(), new(atomic.Int64)
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close() //nolint:errcheck // it is not used any more
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			files := map[string]string{filepath.Join(s.Live, "slurm.conf"): tc.conf + port + "\n"}
			if tc.saved {
				files[filepath.Join(s.State, "assoc_usage")] = ""
			}
			for file, text := range files {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Confirm(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			reconfigured := filepath.Join(s.Live, "reconfigured")
			if _, err := os.Stat(reconfigured); (err == nil) != tc.want {
				t.Errorf("reconfigured: %t, want %t", err == nil, tc.want)
			}
			_ = os.Remove(reconfigured)
			if err := s.Confirm(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(reconfigured); err == nil {
				t.Error("it is reconfigured once more, although it has not saved its state")
			}
		})
	}
}
