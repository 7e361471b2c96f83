package nodeset

import (
	"errors"
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
)

func TestWhatCannotCreateRecords(t *testing.T) {
	unsupported := func(err error) error { return &slurmclient.Error{Code: slurmclient.CodeUnsupported, Err: err} }
	of := func(kind string) refs.ClusterKey {
		return refs.ClusterKey{Kind: kind, Namespace: "team", Name: "slurm"}
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"an API without the operation":             {unsupported(nil), true},
		"the operator may run no commands":         {unsupported(&slurmclients.NoPodError{Key: of(v1beta1.KindController), Forbidden: true}), true},
		"a Slurm outside Kubernetes":               {unsupported(&slurmclients.NoPodError{Key: of(v1beta1.KindCluster)}), true},
		"slurmctld's pod does not exist yet":       {unsupported(&slurmclients.NoPodError{Key: of(v1beta1.KindController)}), false},
		"slurmctld's pod is not Ready":             {unsupported(&slurmclients.NoPodError{Key: of(v1beta1.KindController), NotReady: 1}), false},
		"slurmrestd does not answer":               {&slurmclient.Error{Code: slurmclient.CodeUnavailable}, false},
		"slurmctld refuses the text of the record": {errors.New("no"), false},
	} {
		if got := cannotCreateRecords(tc.err); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
