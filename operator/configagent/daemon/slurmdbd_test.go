package daemon

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// daemonEnv makes this program the daemon of startDaemon instead of running tests.
const daemonEnv = "SLURMTIDE_TEST_DAEMON"

// TestMain is the daemon if it is asked to be.
func TestMain(m *testing.M) {
	if strings.HasPrefix(filepath.Base(os.Args[0]), "fake-daemon") {
		runFakeDaemon()
	}
	if os.Getenv(daemonEnv) == "" {
		os.Exit(m.Run())
	}
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGTERM) // even if the parent process ignores SIGHUP
	fmt.Println("ready")                                    //nolint:forbidigo // startDaemon reads it
	for s := range signals {
		if s == syscall.SIGTERM {
			os.Exit(0)
		}
		fmt.Println("hup") //nolint:forbidigo // see above
	}
}

// startDaemon starts a process that prints each SIGHUP and ends on SIGTERM. It returns the Slurmdbd that finds
// it, its output, and a channel that is closed when it has ended.
func startDaemon(t *testing.T, port int) (s Slurmdbd, lines <-chan string, ended <-chan struct{}) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), daemonEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	printed, done := make(chan string, 10), make(chan struct{})
	go func() {
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			printed <- scanner.Text()
		}
		_ = cmd.Wait() // until then the process is a zombie
		close(done)
	}()
	if got := <-printed; got != "ready" {
		t.Fatalf("it prints %q", got)
	}
	dir := t.TempDir()
	conf := fmt.Sprintf("DbdPort=%d\n", port)
	s = Slurmdbd{PidFile: filepath.Join(dir, "pid"), Live: dir, Timeout: time.Minute}
	for name, text := range map[string]string{"slurmdbd.conf": conf, "pid": strconv.Itoa(cmd.Process.Pid)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s, printed, done
}

func TestSlurmdbdThatListensReadsItsConfigurationAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	address, _ := listener.Addr().(*net.TCPAddr)
	s, lines, ended := startDaemon(t, address.Port)
	if err := s.Apply(t.Context(), slurmconf.NoEffect); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); err != nil {
		t.Fatal(err)
	}
	if got := <-lines; got != "hup" {
		t.Errorf("it prints %q", got)
	}
	select {
	case <-ended:
		t.Error("it has ended")
	default:
	}
	if err := s.Apply(t.Context(), slurmconf.NeedsRestart); err != nil {
		t.Fatal(err)
	}
	<-ended
}

func TestSlurmdbdThatWaitsForItsDatabaseEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not block
	if err != nil {
		t.Fatal(err)
	}
	address, _ := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil { // the port is closed
		t.Fatal(err)
	}
	s, _, ended := startDaemon(t, address.Port)
	if err := s.Apply(t.Context(), slurmconf.NeedsReconfigure); err != nil {
		t.Fatal(err)
	}
	<-ended
	if err := s.Apply(t.Context(), slurmconf.NeedsRestart); err != nil {
		t.Errorf("of a process that has ended the error is %v", err)
	}
}

func TestSlurmdbdThatDoesNotRunIsLeftAlone(t *testing.T) {
	s := Slurmdbd{PidFile: filepath.Join(t.TempDir(), "pid")}
	if err := s.Apply(t.Context(), slurmconf.NeedsRestart); err != nil {
		t.Error(err)
	}
}
