package configagent

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/operator/configagent/trial"
)

// awaitService waits until the slurmctld of a trial serves or has ended. After "Running as primary controller" slurmctld loads
// more plugins, and may still end because of one. It answers no request before they are loaded (docs/development/slurm.md). A
// slurmctld that listens elsewhere does not answer; it gets a quarter of the timeout to end.
func (c Checker) awaitService(ctx context.Context, settings trial.Settings, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout/4)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	// A slurmctld that ends also closes its connection, but then accepts no other.
	for answers := 0; answers < 2; {
		if awaitAnswer(ctx, "localhost", settings.Port) || awaitAnswer(ctx, settings.Host, settings.Port) {
			answers++
			continue
		}
		answers = 0
		select {
		case <-ctx.Done():
			return
		case <-time.After(knockInterval):
		}
	}
}

// knockInterval is the pause between two connections to a slurmctld that does not accept them.
const knockInterval = 10 * time.Millisecond

// awaitAnswer connects to a daemon, sends nothing, and reports whether the daemon has closed the connection.
func awaitAnswer(ctx context.Context, host string, port int) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	tcp, ok := conn.(*net.TCPConn)
	if !ok || tcp.CloseWrite() != nil {
		return false
	}
	_, err = io.Copy(io.Discard, conn)
	return err == nil
}
