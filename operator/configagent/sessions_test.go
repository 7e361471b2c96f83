package configagent

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// TestCountConnections compares with connections that the test opens itself.
func TestCountConnections(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // no IPv6 here
			continue
		}
		defer listener.Close()
		port := listener.Addr().(*net.TCPAddr).Port
		for want := range 3 {
			if got, err := CountConnections("/proc", port); got != want || err != nil {
				t.Errorf("%s: %d connections, %v, want %d", address, got, err, want)
			}
			client, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			server, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
		}
	}
}

// TestCountConnectionsOfATable has lines of a login pod: sshd listens, two users are logged in, one has left, and
// sackd talks to a port 22 of another host.
func TestCountConnectionsOfATable(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "net"), 0o755); err != nil {
		t.Fatal(err)
	}
	table := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1
   1: 0500F40A:0016 0700F40A:D2F0 01 00000000:00000000 02:000A7FD5 00000000     0        0 4712 2
   2: 0500F40A:0016 0700F40A:D2F2 01 00000000:00000000 02:000A7FD5 00000000     0        0 4713 2
   3: 0500F40A:0016 0700F40A:D2F4 06 00000000:00000000 03:000000D5 00000000     0        0 0 3
   4: 0500F40A:A016 0700F40A:0016 01 00000000:00000000 02:000A7FD5 00000000     0        0 4714 2
`
	if _, err := CountConnections(dir, 22); err == nil {
		t.Error("without a table nothing is known, but there is no error")
	}
	if err := os.WriteFile(filepath.Join(dir, "net", "tcp"), []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := CountConnections(dir, 22); got != 2 || err != nil {
		t.Errorf("%d connections, %v", got, err)
	}
}
