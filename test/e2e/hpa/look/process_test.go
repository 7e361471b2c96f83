//go:build e2e

package look

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs beside the test.
type process struct {
	cmd  *exec.Cmd
	logs *lockedBuffer
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startProgram starts a program that ends with the test. If the test has failed, its output is
// logged.
func startProgram(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), logs: &lockedBuffer{}}
	p.cmd.Stdout, p.cmd.Stderr = p.logs, p.logs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(program), p.logs)
		}
	})
	return p
}

// buildProgram builds one of our programs.
func buildProgram(t *testing.T, dir, name string) string {
	t.Helper()
	program := filepath.Join(dir, name)
	if out, err := exec.Command("go", "build", "-o", program, "../../../../cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return program
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// awaitSuccess calls check every quarter of a second until it returns nil, and fails the test with
// the last error otherwise.
func awaitSuccess(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no success after %s: %v", patience, err)
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// checkOK returns an error unless the URL is answered with 200.
func checkOK(url string) error {
	r, err := http.Get(url)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: HTTP %d", url, r.StatusCode)
	}
	return nil
}
