package polls

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/slurmclient"
)

// stackAgain is how long a panic that comes again and again is not logged anew.
const stackAgain = time.Hour

// Stacks logs panics that were made errors, each with its stack. It may be used by several
// goroutines.
type Stacks struct {
	log lines.Logger

	mu     sync.Mutex
	logged map[string]time.Time // by what it says
}

// NewStacks returns a Stacks that writes to the log.
func NewStacks(log lines.Logger) *Stacks {
	return &Stacks{log: log, logged: map[string]time.Time{}}
}

// Log logs the error and the stack of its panic, unless it was logged within the hour.
func (s *Stacks) Log(err error, keyvals ...any) {
	text := err.Error()
	again := fmt.Sprint(text, keyvals)
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.logged[again]; ok && time.Since(at) < stackAgain {
		return
	}
	s.logged[again] = time.Now()
	pairs := slices.Concat(keyvals, []any{"err", text})
	if p := slurmclient.PanicOf(err); p != nil {
		pairs = append(pairs, "stack", string(p.Stack))
	}
	s.log.Error("a computation panicked, which is a defect: please report it with the stack", pairs...)
}
