package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Slurmdbd is the running slurmdbd.
type Slurmdbd struct {
	// PidFile is the file with its process id, and Live the folder of slurmdbd.conf.
	PidFile, Live string
	// Timeout is how long slurmdbd may take to end.
	Timeout time.Duration
}

// Apply makes slurmdbd read its configuration again: by SIGHUP or, where that is not enough, by SIGTERM, after
// which its container restarts it. A slurmdbd that does not run reads the files at its start. A slurmdbd that
// waits for its database ignores SIGHUP.
func (s Slurmdbd) Apply(ctx context.Context, effect slurmconf.Effect) error {
	if effect == slurmconf.NoEffect {
		return nil
	}
	pid, err := readPid("slurmdbd", s.PidFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isAlive(pid) {
		return nil
	}
	if err != nil {
		return err
	}
	if effect == slurmconf.NeedsReconfigure && s.isListening(ctx) {
		return signalProcess("slurmdbd", s.PidFile, syscall.SIGHUP)
	}
	if err := signalProcess("slurmdbd", s.PidFile, syscall.SIGTERM); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	for isAlive(pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("slurmdbd (process %d) does not end within %s", pid, s.Timeout)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// isListening reports whether slurmdbd accepts connections, which it does once it has its database.
func (s Slurmdbd) isListening(ctx context.Context) bool {
	port, err := s.Port()
	if err != nil {
		return false
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// Port returns the port of slurmdbd's configuration.
func (s Slurmdbd) Port() (int32, error) {
	text, err := os.ReadFile(filepath.Join(s.Live, "slurmdbd.conf"))
	if err != nil {
		return 0, fmt.Errorf("slurmdbd has no configuration: %w", err)
	}
	for _, setting := range slurmconf.ParseSettings(string(text)) {
		if !strings.EqualFold(setting.Name, "DbdPort") {
			continue
		}
		port, err := strconv.ParseInt(setting.Value, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("reading DbdPort: %w", err)
		}
		return int32(port), nil
	}
	return 0, fmt.Errorf("slurmdbd.conf has no DbdPort")
}

// isAlive reports whether a process exists.
func isAlive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
