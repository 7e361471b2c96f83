package distance

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestALinkDelaysEachPacket: also those that open a connection.
func TestALinkDelaysEachPacket(t *testing.T) {
	if file, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0); err != nil || os.Getuid() != 0 {
		t.Skipf("a network namespace with a TUN device needs root: %v", err)
	} else {
		_ = file.Close()
	}
	socket := filepath.Join(t.TempDir(), "echo.sock")
	server, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	go func() {
		if conn, err := server.Accept(); err == nil {
			_, _ = io.Copy(conn, conn)
		}
	}()
	const delay = 30 * time.Millisecond
	address, err := Connect(t.Context(), socket, delay)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("the connection was open after %v", took)
	}
	for range 3 {
		begin := time.Now()
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != "hello" {
			t.Fatalf("%q: %v", got, err)
		}
		if took := time.Since(begin); took < 2*delay {
			t.Errorf("the answer came after %v", took)
		}
	}
}
