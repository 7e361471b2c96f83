// Package process runs programs, ours above all, beside a test or a benchmark.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// endsWithin is how long a program may take to end when it is told to.
const endsWithin = 30 * time.Second

// Process is a program that runs. Its methods may be called by several goroutines.
type Process struct {
	cmd  *exec.Cmd
	log  *buffer
	done chan struct{} // closed when it has ended
	err  error         // how, once done is closed

	killed atomic.Bool
}

// Build makes one of our programs in dir and returns its path.
func Build(ctx context.Context, dir, name string) (string, error) {
	program := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/slurmtide/slurmtide/cmd/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return program, nil
}

// Launch starts a program, which ends with this process at the latest. What it prints is
// kept.
func Launch(program string, args ...string) (*Process, error) {
	p := &Process{log: &buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(program, args...) //nolint:noctx,gosec // it ends by Stop, in order
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(program), err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Stop tells the program to end as Kubernetes does, and waits for it. The error says how
// it ended if not well; one that does not end is killed, which is an error too. It may be
// called again, and one that Kill has ended is none.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil && !p.killed.Load() {
			return fmt.Errorf("%s ended with %w", p.name(), p.err)
		}
		return nil
	case <-time.After(endsWithin):
		_ = p.cmd.Process.Kill()
		<-p.done
		return errors.New(p.name() + " did not end within " + endsWithin.String())
	}
}

// Kill ends the program at once, as when a machine dies, and waits for it.
func (p *Process) Kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.done
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is what the program has printed so far.
func (p *Process) Log() string { return p.log.String() }

func (p *Process) name() string { return filepath.Base(p.cmd.Path) }

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Port is one of loopback that nobody listens on.
func Port() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
