package slurmtest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault is what goes wrong with requests. The zero Fault does nothing.
type Fault struct {
	// Method and Prefix say which requests: those of the method whose path begins
	// with Prefix. Empty means any.
	Method, Prefix string
	// Times is how many requests it hits; 0 is all until it is cleared.
	Times int
	// Latency passes before the rest happens, or before the request is served.
	Latency time.Duration
	// Kind is what happens then.
	Kind FaultKind
	// Status is that of FaultStatus.
	Status int
	// After is how many bytes of the answer FaultTruncate lets through.
	After int
}

// FaultKind is a way in which a request fails.
type FaultKind uint8

// The kinds of faults.
const (
	// FaultNone only takes Latency.
	FaultNone FaultKind = iota
	// FaultStatus answers with Status and text.
	FaultStatus
	// FaultTruncate serves the request and drops the connection within the answer.
	FaultTruncate
	// FaultGarbage answers 200 with what is not JSON.
	FaultGarbage
	// FaultReset drops the connection before any answer. net/http repeats a GET
	// by itself when the connection had been used before.
	FaultReset
	// FaultLost serves the request and drops the connection before any answer.
	FaultLost
	// FaultHang answers nothing until the client gives up.
	FaultHang
	// FaultToken takes the token for a bad one.
	FaultToken
	// FaultControllerDown and FaultControllerHung take slurmctld for one that is
	// down or hung; see SetController.
	FaultControllerDown
	FaultControllerHung
)

type faults struct {
	mu   sync.Mutex
	list []*Fault
}

// Fail makes requests fail from now on. The returned function ends it.
func (c *Cluster) Fail(f Fault) (clear func()) {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	p := &f
	c.faults.list = append(c.faults.list, p)
	return func() { c.faults.drop(p) }
}

// ClearFaults ends all faults.
func (c *Cluster) ClearFaults() {
	c.faults.mu.Lock()
	defer c.faults.mu.Unlock()
	c.faults.list = nil
}

func (f *faults) drop(p *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(x *Fault) bool { return x == p })
}

// next returns the fault that the request meets and counts it.
func (f *faults) next(r *http.Request) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.list {
		if p.Method != "" && p.Method != r.Method || !strings.HasPrefix(r.URL.Path, p.Prefix) {
			continue
		}
		hit := *p
		if p.Times == 1 {
			f.list = slices.Delete(f.list, i, i+1)
		} else if p.Times > 1 {
			p.Times--
		}
		return hit, true
	}
	return Fault{}, false
}

// strike does what the fault says. It returns where to write the answer, nil
// when there is nothing left to do, and the kind that serving has to mind.
func (f *faults) strike(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, FaultKind) {
	hit, ok := f.next(r)
	if !ok {
		return w, FaultNone
	}
	if hit.Latency > 0 && !wait(r, hit.Latency) {
		return nil, hit.Kind
	}
	switch hit.Kind {
	case FaultStatus:
		plain(w, hit.Status, http.StatusText(hit.Status))
	case FaultTruncate:
		return &cutWriter{ResponseWriter: w, left: hit.After}, hit.Kind
	case FaultGarbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{\"nodes\": [ {\"name\": \"\x00\xff"))
	case FaultReset:
		drop(w)
	case FaultLost:
		return &cutWriter{ResponseWriter: w, left: -1}, hit.Kind
	case FaultHang:
		<-r.Context().Done()
	default:
		return w, hit.Kind
	}
	return nil, hit.Kind
}

// drop closes the connection under the request.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// cutWriter lets some bytes of an answer through and then drops the connection.
// A negative number lets not even the status through.
type cutWriter struct {
	http.ResponseWriter
	left int
	cut  bool
}

// WriteHeader writes the status unless nothing is let through.
func (c *cutWriter) WriteHeader(status int) {
	if c.left >= 0 {
		c.ResponseWriter.WriteHeader(status)
	}
}

// Write writes what is still let through.
func (c *cutWriter) Write(p []byte) (int, error) {
	if c.cut {
		return 0, http.ErrAbortHandler
	}
	if c.left >= len(p) {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.cut = true
	if c.left > 0 {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
	drop(c.ResponseWriter)
	return 0, http.ErrAbortHandler
}
