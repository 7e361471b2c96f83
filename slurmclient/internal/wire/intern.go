package wire

import (
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// maxInterned limits how many different texts are kept, and maxInternedText how long one is: a longer one is hardly repeated.
// The table is cleared when it is full, so that an endless stream of new texts cannot exhaust the memory.
const (
	maxInterned     = 1 << 17
	maxInternedText = 1 << 10
)

// Interner keeps one copy of every text that occurs repeatedly, such as the names of users, accounts,
// partitions and features. It also keeps the decoders from one answer to the next. Several goroutines
// may use it concurrently.
type Interner struct {
	mu    sync.Mutex
	texts map[string]string
	lists map[string][]string

	jobs  decoderCache[slurm.Job]
	nodes decoderCache[slurm.Node]
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	return &Interner{texts: map[string]string{}, lists: map[string][]string{}}
}

func (in *Interner) text(b []byte) string {
	if len(b) == 0 || len(b) > maxInternedText {
		return string(b)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s, ok := in.texts[string(b)]; ok {
		return s
	}
	if len(in.texts) >= maxInterned {
		clear(in.texts)
	}
	s := string(b)
	in.texts[s] = s
	return s
}

// list interns an array of strings by its raw JSON.
func (in *Interner) list(raw []byte) []string {
	in.mu.Lock()
	l, ok := in.lists[string(raw)]
	in.mu.Unlock()
	if ok {
		return l
	}
	eachWord(raw, func(w []byte) { l = append(l, in.text(w)) })
	if len(raw) > maxInternedText {
		return l
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.lists) >= maxInterned {
		clear(in.lists)
	}
	in.lists[string(raw)] = l
	return l
}
