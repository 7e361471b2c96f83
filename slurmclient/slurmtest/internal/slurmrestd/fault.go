package slurmrestd

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Fault describes how requests fail. The zero Fault does nothing.
type Fault struct {
	// Method and PathPrefix select the requests that fail. Empty means any.
	Method, PathPrefix string
	// Count is how many requests fail; 0 means all until the fault is cleared.
	Count int
	// Latency is a delay before the failure, or before the request is served.
	Latency time.Duration
	// Kind is how the requests fail.
	Kind FaultKind
	// Status is the HTTP status that FaultStatus answers.
	Status int
	// AfterBytes is how many bytes of the answer FaultTruncate sends.
	AfterBytes int
}

// FaultKind is a way in which a request fails.
type FaultKind uint8

// The kinds of faults.
const (
	// FaultNone only delays by Latency.
	FaultNone FaultKind = iota
	// FaultStatus answers with Status and its standard text.
	FaultStatus
	// FaultTruncate serves the request and closes the connection in the middle of the answer.
	FaultTruncate
	// FaultGarbage answers 200 with a body that is not JSON.
	FaultGarbage
	// FaultReset closes the connection before any answer. net/http repeats a GET by itself if the
	// connection was used before.
	FaultReset
	// FaultLost serves the request and closes the connection before any answer.
	FaultLost
	// FaultHang does not answer until the client gives up.
	FaultHang
	// FaultToken rejects the token.
	FaultToken
	// FaultControllerDown and FaultControllerHung treat slurmctld as down or hung; see
	// SetControllerState.
	FaultControllerDown
	FaultControllerHung
)

type faults struct {
	mu   sync.Mutex
	list []*Fault
}

// InjectFault makes requests fail from now on. The returned function ends the fault.
func (s *Server) InjectFault(f Fault) (clear func()) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	p := &f
	s.faults.list = append(s.faults.list, p)
	return func() { s.faults.remove(p) }
}

// ClearFaults ends all faults.
func (s *Server) ClearFaults() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.list = nil
}

func (f *faults) remove(p *Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.DeleteFunc(f.list, func(x *Fault) bool { return x == p })
}

// take returns the fault that applies to the request and counts it.
func (f *faults) take(r *http.Request) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, p := range f.list {
		if p.Method != "" && p.Method != r.Method || !strings.HasPrefix(r.URL.Path, p.PathPrefix) {
			continue
		}
		fault := *p
		if p.Count == 1 {
			f.list = slices.Delete(f.list, i, i+1)
		} else if p.Count > 1 {
			p.Count--
		}
		return fault, true
	}
	return Fault{}, false
}

// apply carries out the fault of the request. It returns where to write the answer, or nil if the
// request is finished, and the kind of fault that serving must respect.
func (f *faults) apply(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, FaultKind) {
	fault, ok := f.take(r)
	if !ok {
		return w, FaultNone
	}
	if fault.Latency > 0 && !sleepUnlessDone(r, fault.Latency) {
		return nil, fault.Kind
	}
	switch fault.Kind {
	case FaultStatus:
		writePlainText(w, fault.Status, http.StatusText(fault.Status))
	case FaultTruncate:
		return &truncatingWriter{ResponseWriter: w, remaining: fault.AfterBytes}, fault.Kind
	case FaultGarbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{\"nodes\": [ {\"name\": \"\x00\xff"))
	case FaultReset:
		closeConnection(w)
	case FaultLost:
		return &truncatingWriter{ResponseWriter: w, remaining: -1}, fault.Kind
	case FaultHang:
		<-r.Context().Done()
	default:
		return w, fault.Kind
	}
	return nil, fault.Kind
}

// closeConnection closes the connection of the request.
func closeConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

// truncatingWriter sends the first bytes of an answer and then closes the connection. If remaining
// is negative, it does not even send the status.
type truncatingWriter struct {
	http.ResponseWriter
	remaining int
	closed    bool
}

// WriteHeader writes the status unless remaining is negative.
func (c *truncatingWriter) WriteHeader(status int) {
	if c.remaining >= 0 {
		c.ResponseWriter.WriteHeader(status)
	}
}

// Write writes at most the remaining bytes.
func (c *truncatingWriter) Write(p []byte) (int, error) {
	if c.closed {
		return 0, http.ErrAbortHandler
	}
	if c.remaining >= len(p) {
		c.remaining -= len(p)
		return c.ResponseWriter.Write(p)
	}
	c.closed = true
	if c.remaining > 0 {
		_, _ = c.ResponseWriter.Write(p[:c.remaining])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
	closeConnection(c.ResponseWriter)
	return 0, http.ErrAbortHandler
}
