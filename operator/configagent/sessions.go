package configagent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tcpEstablished is the state of an open connection in /proc/net/tcp (proc_net(5), include/net/tcp_states.h).
const tcpEstablished = "01"

// CountConnections returns how many open TCP connections a port of this network namespace has. It reads net/tcp
// and net/tcp6 in the folder proc.
func CountConnections(proc string, port int) (int, error) {
	count := 0
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(filepath.Join(proc, "net", name))
		if name == "tcp6" && errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return 0, fmt.Errorf("counting connections: %w", err)
		}
		count += countInTable(string(table), port)
	}
	return count, nil
}

// countInTable returns how many open connections a local port has in the content of /proc/net/tcp or tcp6. A line
// begins with a number, the local address, the remote one and the state, all in hexadecimal.
func countInTable(table string, port int) int {
	count, suffix := 0, fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 3 && strings.HasSuffix(fields[1], suffix) && fields[3] == tcpEstablished {
			count++
		}
	}
	return count
}
