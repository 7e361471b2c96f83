package wire

import (
	"hash/maphash"
	"sync"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// maxInternedText is how long an interned text is at most, in bytes: a longer one is hardly repeated.
const maxInternedText = 1 << 10

// Interner keeps one copy of every text that occurs repeatedly, such as the names of users, accounts,
// partitions and features, and of the fields that jobs share. It also keeps the decoders from one answer to the next. Several goroutines
// may use it concurrently.
type Interner struct {
	mu    sync.Mutex
	texts internTable[string]
	lists internTable[[]string]

	seed    maphash.Seed // of owners and details
	owners  shareTable[slurm.SharedOwner]
	details shareTable[slurm.SharedDetails]

	jobs  decoderCache[jobRecord]
	nodes decoderCache[slurm.Node]
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	seed := maphash.MakeSeed()
	return &Interner{texts: internTable[string]{seed: seed}, lists: internTable[[]string]{seed: seed}, seed: seed}
}

func (in *Interner) text(b []byte) string {
	if len(b) == 0 || len(b) > maxInternedText {
		return string(b)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	s, ok := in.texts.findText(b)
	if !ok {
		s = string(b)
		in.texts.addText(b, s)
	}
	return s
}

// list interns an array of strings by its raw JSON.
func (in *Interner) list(raw []byte) []string {
	in.mu.Lock()
	l, ok := in.lists.findText(raw)
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
	in.lists.addText(raw, l)
	return l
}

const (
	// maxInternedBytes limits the memory of a generation of a table, in bytes.
	maxInternedBytes = 8 << 20
	// internOverhead is about what a map needs for an entry beside its text, in bytes.
	internOverhead = 64
	// seenSlots is for how many texts that occurred once a table remembers that they did.
	seenSlots = 1 << 16
)

// internTable keeps values by text within bounded memory, however many texts it receives. It keeps a text from its second occurrence on, so
// texts that never repeat (times, health reports) displace no other. A full generation becomes the old one. A value of the old one moves to
// the new one when it is used.
type internTable[V any] struct {
	seed       maphash.Seed
	young, old map[string]V
	// bytes is about the memory of the young generation.
	bytes int
	// seen contains some bits of the hashes of texts that occurred.
	seen []uint32
}

// findText returns the value that is kept of a text.
func (t *internTable[V]) findText(text []byte) (V, bool) {
	if v, ok := t.young[string(text)]; ok {
		return v, true
	}
	v, ok := t.old[string(text)]
	if ok {
		t.keepText(string(text), v)
	}
	return v, ok
}

// addText keeps the value of a text that findText has not found, if the text occurred before.
func (t *internTable[V]) addText(text []byte, v V) {
	if t.seen == nil {
		t.seen = make([]uint32, seenSlots)
	}
	hash := maphash.Bytes(t.seed, text)
	slot, rest := &t.seen[hash%seenSlots], uint32(hash>>32)|1 // 0 is an empty slot
	if *slot != rest {
		*slot = rest
		return
	}
	t.keepText(string(text), v)
}

// keepText puts a value into the young generation.
func (t *internTable[V]) keepText(text string, v V) {
	size := len(text) + internOverhead
	if t.bytes+size > maxInternedBytes || t.young == nil {
		t.young, t.old, t.bytes = map[string]V{}, t.young, 0
	}
	t.young[text] = v
	t.bytes += size
}
