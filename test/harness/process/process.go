// Package process runs programs, mostly our own, beside a test or a benchmark.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// stopTimeout is how long a program may take to exit after SIGTERM.
const stopTimeout = 30 * time.Second

// Process is a started program. Its methods are safe for concurrent use.
type Process struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{} // closed when the program has exited
	err  error         // exit error; read it only once done is closed

	killed atomic.Bool
}

// Build builds one of our programs as images contain it, unless it is up to date, and returns the path of a copy in dir.
func Build(ctx context.Context, dir, name string) (string, error) {
	root, err := FindModuleRoot()
	if err != nil {
		return "", err
	}
	var log strings.Builder
	build := exec.CommandContext(ctx, filepath.Join(root, "hack/images/programs"), name) //nolint:gosec // a script of ours
	build.Stderr = &log
	folder, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, log.String())
	}
	content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), name))
	if err != nil {
		return "", fmt.Errorf("copying %s: %w", name, err)
	}
	program := filepath.Join(dir, name)
	if err := WriteProgram(program, content); err != nil {
		return "", fmt.Errorf("copying %s: %w", name, err)
	}
	return program, nil
}

// WriteProgram writes a program that can be started at once. While the file is open, this process starts no other:
// until it calls exec, a child has the file open for writing too, and the kernel starts no such file
// ("text file busy", https://go.dev/issue/22315).
func WriteProgram(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755) //nolint:gosec // a program
}

// FindModuleRoot returns the root of the module that contains the working directory.
func FindModuleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the module's root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("finding the module's root: no go.mod above the working directory")
		}
		dir = parent
	}
}

// Launch starts a program and keeps its output. The program ends with this process at the latest.
func Launch(program string, args ...string) (*Process, error) {
	p := &Process{log: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(program, args...) //nolint:noctx,gosec // Stop ends it gracefully
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

// Stop sends SIGTERM, as Kubernetes does, and waits for the program to exit. A non-zero exit is
// an error. A program that does not exit in time is killed, which is an error too. Stop may be
// called again; a program that Kill has ended is not an error.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
		if p.err != nil && !p.killed.Load() {
			return fmt.Errorf("%s ended with %w", p.name(), p.err)
		}
		return nil
	case <-time.After(stopTimeout):
		_ = p.cmd.Process.Kill()
		<-p.done
		return errors.New(p.name() + " did not end within " + stopTimeout.String())
	}
}

// Kill kills the program at once, as when a machine dies, and waits for it to exit.
func (p *Process) Kill() {
	p.killed.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.done
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log returns what the program has printed so far.
func (p *Process) Log() string { return p.log.String() }

func (p *Process) name() string { return filepath.Base(p.cmd.Path) }

// lockedBuffer is a bytes.Buffer that is safe for concurrent use.
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

// FindFreePort returns an unused loopback port.
func FindFreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // the listener is closed at once
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
