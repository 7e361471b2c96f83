package look

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectors(t *testing.T) {
	for title, c := range map[string]struct {
		expr string
		want []string
	}{
		"a plain metric": {"slurm_up == 0", []string{"slurm_up"}},
		"matchers belong to the metric": {`sum(slurm_cpus{state="allocated"}) / sum(slurm_cpus)`,
			[]string{`slurm_cpus{state="allocated"}`, "slurm_cpus"}},
		"functions are skipped": {`histogram_quantile(0.5, sum by (le) (rate(a_bucket[5m])))`,
			[]string{"a_bucket"}},
		"grouping labels are skipped": {`max by (poll_period, x) (a_b) * on (some_label) group_left (other_label) c_d`,
			[]string{"a_b", "c_d"}},
		"quoted text is skipped": {`a_b{c=~"d_e|{f_g}"}`, []string{`a_b{c=~"d_e|{f_g}"}`}},
		"recorded metrics contain colons": {"cluster:slurm_cpus_allocated:ratio > 0.5",
			[]string{"cluster:slurm_cpus_allocated:ratio"}},
		"duplicates are removed": {"absent(slurm_up) or slurm_up", []string{"slurm_up"}},
	} {
		t.Run(title, func(t *testing.T) {
			if diff := cmp.Diff(c.want, selectorsIn(c.expr)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
