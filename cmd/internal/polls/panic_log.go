package polls

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// repeatAfter is the pause before the same panic is logged again.
const repeatAfter = time.Hour

// PanicLog logs recovered panics with their stacks. It is safe for concurrent use.
type PanicLog struct {
	log lines.Logger

	mu     sync.Mutex
	logged map[string]time.Time // by error text and key-value pairs
}

// NewPanicLog returns a PanicLog that writes to log.
func NewPanicLog(log lines.Logger) *PanicLog {
	return &PanicLog{log: log, logged: map[string]time.Time{}}
}

// Log logs the error and the stack of its panic unless it logged the same error within the last
// hour.
func (s *PanicLog) Log(err error, keyvals ...any) {
	text := err.Error()
	again := fmt.Sprint(text, keyvals)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.logged[again]; ok && time.Since(at) < repeatAfter {
		return
	}
	s.logged[again] = time.Now()
	pairs := slices.Concat(keyvals, []any{"err", text})
	if p := slurmclient.PanicOf(err); p != nil {
		pairs = append(pairs, "stack", string(p.Stack))
	}
	s.log.Error("a computation panicked; this is a bug, please report it with the stack", pairs...)
}
