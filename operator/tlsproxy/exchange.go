package tlsproxy

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"
)

// lingerTime is the time that a client gets to close a connection that the server has closed.
const lingerTime = 5 * time.Second

// exchange passes bytes in both directions until the server ends the connection, or nothing has passed for the time
// idle. It passes on the end of the client's data, so that the client's last response still arrives. The caller
// closes both connections.
func exchange(client *tls.Conn, server *net.UnixConn, idle time.Duration) {
	expired := time.AfterFunc(idle, func() {
		_ = server.Close()
		_ = client.NetConn().Close() // Close of TLS would wait for a client that does not read
	})
	defer expired.Stop()
	var requests sync.WaitGroup
	requests.Go(func() {
		_, _ = io.Copy(server, touchingReader{client, expired, idle})
		_ = server.CloseWrite()
	})
	_, _ = io.Copy(client, touchingReader{server, expired, idle})
	_ = client.CloseWrite()
	_ = client.SetDeadline(time.Now().Add(lingerTime))
	requests.Wait()
}

// touchingReader puts off a timer with every read.
type touchingReader struct {
	io.Reader
	timer *time.Timer
	idle  time.Duration
}

func (r touchingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.timer.Reset(r.idle)
	}
	return n, err
}
