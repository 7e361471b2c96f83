package collector

import (
	"slices"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

func TestBusiestUsers(t *testing.T) {
	all := []slurm.RPC{{Name: "carol", Count: 7}, {Name: "alice", Count: 9}, {Name: "bob", Count: 7}, {Name: "root", Count: 1}}
	names := func(limit int) (out []string) {
		for _, r := range busiestUsers(all, limit) {
			out = append(out, r.Name)
		}
		return out
	}
	if got, want := names(2), []string{"alice", "bob"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := names(0), []string{"alice", "bob", "carol", "root"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
