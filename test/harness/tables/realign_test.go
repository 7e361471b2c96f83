package tables_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/test/harness/tables"
)

func TestRealign(t *testing.T) {
	ages := func(s string) string { return regexp.MustCompile(`\b\d+[smh]\b`).ReplaceAllString(s, "AGE") }
	for _, tc := range []struct {
		name       string
		give, want []string
	}{
		{"text stays as it is", []string{"since 5m", "", "  - one", "  - two 5s"},
			[]string{"since AGE", "", "  - one", "  - two AGE"}},
		{"columns are as wide as their new contents",
			[]string{"NAME     AGE     WHERE", "a        1s      here", "longer   1000m   there, it is"},
			[]string{"NAME     AGE   WHERE", "a        AGE   here", "longer   AGE   there, it is"}},
		{"the columns are the same in another run",
			[]string{"NAME     AGE   WHERE", "a        1s    here", "longer   2s    there, it is"},
			[]string{"NAME     AGE   WHERE", "a        AGE   here", "longer   AGE   there, it is"}},
		{"a missing cell leaves a gap",
			[]string{"  NAME   UNTIL   WHY", "  a              none", "  b      5m      some"},
			[]string{"  NAME   UNTIL   WHY", "  a              none", "  b      AGE     some"}},
		{"a heading of two words", []string{"SLURM NODE   AGE", "n1           5s"},
			[]string{"SLURM NODE   AGE", "n1           AGE"}},
		{"a shifted column stays shifted",
			[]string{"NAME       AGE   WHERE", "a          1s    here", "longer      2s   there"},
			[]string{"NAME     AGE    WHERE", "a        AGE    here", "longer    AGE   there"}},
		{"a collapsed column stays collapsed",
			[]string{"NAME   AGE   WHERE", "longername   2s   there"},
			[]string{"NAME   AGE   WHERE", "longername   AGE   there"}},
		{"two tables", []string{"A   B", "1   2", "heading", "LONG   C", "1      3s"},
			[]string{"A   B", "1   2", "heading", "LONG   C", "1      AGE"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.Split(strings.TrimSuffix(tables.Realign(strings.Join(tc.give, "\n"), ages), "\n"), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
