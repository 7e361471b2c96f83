package command

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestATableFitsIntoTheTerminal(t *testing.T) {
	text := []string{"NAME", "one", "two", "three"}
	for _, tc := range []struct {
		name           string
		columns, lines int
		want           string
	}{
		{"there is room", 80, 4, "NAME one two three"},
		{"a line is missing", 80, 3, "NAME one … and 2 more lines"},
		{"hardly any room", 80, -5, "… and 4 more lines"},
		{"long lines", 4, 9, "NAME one two thr…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := strings.Join(fitLines(text, tc.columns, tc.lines), " "); got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheTerminalIsRedrawn(t *testing.T) {
	var out strings.Builder
	s := &session{streams: Streams{Out: &out, Size: func() (int, int) { return 20, 8 }}}
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	s.drawScreen([]byte("NAME\n1\n2\n3\n4\n5\n6\n"), []string{"a note of two\x1b[2J lines"}, noon)
	want := "\x1b[H12:00:00\x1b[K\nNAME\x1b[K\n1\x1b[K\n2\x1b[K\n… and 4 more lines\x1b[K\nnote: a note of two [2J " +
		"lines\x1b[K\n\x1b[J"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
