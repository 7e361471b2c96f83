package wire

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// isSame reports whether two texts are one copy.
func isSame(a, b string) bool { return unsafe.StringData(a) == unsafe.StringData(b) }

// bytesOf returns how many bytes of text a table keeps.
func bytesOf[V any](t *internTable[V]) int {
	sum := 0
	for _, generation := range []map[string]V{t.young, t.old} {
		for text := range generation {
			sum += len(text)
		}
	}
	return sum
}

func TestATextThatRepeatsIsOneCopy(t *testing.T) {
	in := NewInterner()
	in.text([]byte("physics"))
	second := in.text([]byte("physics"))
	if third := in.text([]byte("physics")); third != "physics" || !isSame(second, third) {
		t.Errorf("it is %q, another copy", third)
	}
	raw := []byte(`["gpu","a100"]`)
	in.list(raw)
	list := in.list(raw)
	if again := in.list(raw); len(again) != 2 || &again[0] != &list[0] {
		t.Errorf("the list is %q, another copy", again)
	}
}

// TestTextsThatChangeNeedBoundedMemory: what a health check writes into the records of nodes, at each poll.
func TestTextsThatChangeNeedBoundedMemory(t *testing.T) {
	in := NewInterner()
	in.text([]byte("physics"))
	physics := in.text([]byte("physics"))
	report := strings.Repeat("x", 900)
	for poll := range 20 {
		for node := range 5000 {
			for range 2 { // of a batch that is read twice
				in.text(fmt.Appendf(nil, "%d %d %s", poll, node, report))
				in.list(fmt.Appendf(nil, `["%d %d %s"]`, poll, node, report))
			}
			in.text([]byte("physics"))
		}
		if n, m := bytesOf(&in.texts), bytesOf(&in.lists); max(n, m) > 2*maxInternedBytes {
			t.Fatalf("after poll %d, %d and %d bytes are kept", poll, n, m)
		}
	}
	if !isSame(in.text([]byte("physics")), physics) {
		t.Error("a text that repeats was displaced")
	}
}

func TestATextThatOccursOnceIsNotKept(t *testing.T) {
	in := NewInterner()
	for i := range 100000 {
		in.text(fmt.Append(nil, "job-", i))
	}
	if n := len(in.texts.young); n > 0 {
		t.Errorf("%d texts are kept", n)
	}
}
