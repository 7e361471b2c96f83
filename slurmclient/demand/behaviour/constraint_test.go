package behaviour

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/demand/demandtest"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestConstraintsAreMetByFeatures(t *testing.T) {
	tests := []struct {
		text, features string
		met            bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "", false},
		{"a&b", "a b", true},
		{"a&b", "a", false},
		{"a,b", "a", false},
		{"a|b", "b", true},
		{"a|b", "c", false},
		{"a & b", "a b", true},
		{"a|b&c", "a", false},
		{"a|b&c", "a c", true},
		{"(a|b)&c", "b c", true},
		{"a&(b|c)", "a c", true},
		{"a&(b|c)", "b c", false},
		{"a|(b&c)", "a", true},
		{"[a|b]", "b", true},
		{"[a|b]&c", "b", false},
		{"[a|b]&c", "b c", true},
		{"[(a&b)|(c&d)]", "c d", true},
		{"[(a&b)|(c&d)]", "a d", false},
		{"a*2", "a", true},
		{"[a*2&b*4]", "b", true},
		{"[a*2&b*4]", "c", false},
		{"x&[a*1&b*2]", "x a", true},
		{"x&[a*1&b*2]", "a", false},
		{"(a&b)*2", "a b", true},
	}
	for _, tt := range tests {
		t.Run(tt.text+" on "+tt.features, func(t *testing.T) {
			p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"),
				demandtest.NewNode("n1", demandtest.WithFeatures(strings.Fields(tt.features)...)),
				demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = tt.text })))
			if met := p.EligiblePendingJobs == 1; met != tt.met {
				t.Errorf("met: %v, want %v: %+v", met, tt.met, p.Unsatisfiable)
			}
		})
	}
}

func TestUnreadableConstraintsAreReported(t *testing.T) {
	for _, text := range []string{
		"a&", "&a", "a||b", "(a", "a)", "[a)", "[a", "a*", "a*x", "()", "a b*",
		strings.Repeat("(", 100) + "a" + strings.Repeat(")", 100),
	} {
		p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"),
			demandtest.NewNode("n1", demandtest.WithFeatures("a", "b")),
			demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = text })))
		if len(p.Unsatisfiable) != 1 || p.Unsatisfiable[0].Reason != "constraint or generic resources cannot be parsed" {
			t.Errorf("%q: %+v", text, p.Unsatisfiable)
		}
	}
}

func TestActiveFeaturesCountAsWell(t *testing.T) {
	n := demandtest.NewNode("n1", demandtest.WithFeatures("avail"))
	n.ActiveFeatures = []string{"active"}
	p := demandtest.DemandOn(t, "cpu", demandtest.NewPartition("cpu"), n,
		demandtest.NewJob(1, demandtest.WithDetails(func(d *slurm.JobDetails) { d.Features = "avail&active" })))
	if p.EligiblePendingJobs != 1 {
		t.Errorf("%+v", p.Unsatisfiable)
	}
}
