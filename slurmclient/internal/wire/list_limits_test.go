package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// endlessList is an answer whose list never ends.
type endlessList struct {
	rest   string
	record func(n int) string
	n      int
	// read is the number of bytes that were read.
	read int
}

func (l *endlessList) Read(p []byte) (int, error) {
	if l.rest == "" {
		l.n++
		l.rest = l.record(l.n) + ","
	}
	n := copy(p, l.rest)
	l.rest, l.read = l.rest[n:], l.read+n
	if l.read > 4<<30 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

// decodeWithin decodes the nodes of a list that may need some MiB.
func decodeWithin(r io.Reader, megabytes int) ([]slurm.Node, error) {
	rec := newRecords(nodeFields(), NewInterner(), func(n *slurm.Node) bool { return n.Name != "" })
	rec.mostKept = megabytes << 20
	var out []slurm.Node
	_, err := decodeList(r, "nodes", rec, func(n *slurm.Node) error { out = append(out, *n); return nil })
	return out, err
}

// TestAnEndlessListIsRefused: the servers of different clusters belong to different people, and one process reads all.
func TestAnEndlessListIsRefused(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for name, record := range map[string]func(n int) string{
		"of short records": func(n int) string { return fmt.Sprintf(`{"name":"n%d"}`, n) },
		"of long texts":    func(n int) string { return fmt.Sprintf(`{"name":"n%d","comment":"%d%s"}`, n, n, long) },
		"of other shapes":  func(n int) string { return fmt.Sprintf(`{"name":"n%d","comment":"%s","x%d":1}`, n, long, n) },
		"of many words": func(n int) string {
			return fmt.Sprintf(`{"name":"n%d","features":["%d"%s]}`, n, n, strings.Repeat(`,""`, 30<<10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			list := &endlessList{rest: `{"nodes":[`, record: record}
			nodes, err := decodeWithin(list, 4)
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(syntax.Reason, "more than 4 MiB") || len(nodes) == 0 {
				t.Errorf("%d records were kept of %d MiB: %v", len(nodes), list.read>>20, err)
			}
		})
	}
}

// TestALongListOfEqualTextsIsRead: what records share needs memory once.
func TestALongListOfEqualTextsIsRead(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	var b strings.Builder
	for n := range 100 {
		_, _ = fmt.Fprintf(&b, `,{"name":"n%d","comment":"%s"}`, n, long)
	}
	nodes, err := decodeWithin(strings.NewReader(`{"nodes":[`+b.String()[1:]+`]}`), 1)
	if err != nil || len(nodes) != 100 || nodes[99].Comment != long {
		t.Errorf("%d nodes: %v", len(nodes), err)
	}
}

func TestMaxListBytes(t *testing.T) {
	for limit, want := range map[int64]int{1 << 30: 1 << 30 / 3, math.MaxInt64: 4 << 30} {
		if got := maxListBytes(limit); got != want {
			t.Errorf("a list may need %d of %d bytes", got, limit)
		}
	}
}

// TestAnInternerKeepsNoLongTexts: they would stay after the answer.
func TestAnInternerKeepsNoLongTexts(t *testing.T) {
	in := NewInterner()
	long := strings.Repeat("x", 1<<20)
	for range 2 {
		if in.text([]byte(long)) != long || in.list([]byte(`["` + long + `"]`))[0] != long {
			t.Error("the text differs")
		}
	}
	if n, m := bytesOf(&in.texts), bytesOf(&in.lists); n+m > 0 {
		t.Errorf("%d and %d bytes are kept", n, m)
	}
}
