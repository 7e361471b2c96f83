package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Process is a program of ours that runs on this machine.
type Process struct {
	cmd  *exec.Cmd
	log  *buffer
	done chan struct{}
}

// launch starts one of our programs with the rights of its own service account.
func (c *Control) launch(ctx context.Context, name string, args ...string) (*Process, error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(c.dir, name)
	if _, err := os.Stat(program); err != nil {
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/"+name)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	p := &Process{log: &buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(program, args...) //nolint:noctx,gosec // it ends at Close, in order
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	c.atClose(p.Stop)
	return p, nil
}

// Stop ends the program in order and waits for it. One that has ended is no error.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		return nil
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
		return errors.New("it did not end within 30 s: " + p.cmd.Path)
	}
}

// Kill ends the program at once, as when a machine dies.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is what the program has printed.
func (p *Process) Log() string { return p.log.String() }

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

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
