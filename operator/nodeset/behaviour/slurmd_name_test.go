package behaviour

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/nodeset/nodesettest"
	"github.com/slurmtide/slurmtide/operator/nodeset/observed"
)

// TestNoTemplateNamesTheSlurmNode: the workers would all have that name.
func TestNoTemplateNamesTheSlurmNode(t *testing.T) {
	for what, tc := range map[string]struct{ pod, slurmd, names, ready string }{
		"a variable":                           {`{}`, `{"env": [{"name": "POD_HOSTNAME", "value": "foo"}]}`, "gpu-0 gpu-1", ""},
		"a variable with hostNetwork":          {`{"hostNetwork": true}`, `{"env": [{"name": "POD_HOSTNAME", "value": "foo"}]}`, "kube-0 kube-1", ""},
		"no variable":                          {`{}`, `{"env": [{"$patch": "replace"}, {"name": "A", "value": "b"}]}`, "gpu-0 gpu-1", ""},
		"an argument":                          {`{}`, `{"args": ["-N", "foo"]}`, "", `InvalidSpec: spec.slurmd: argument -N "foo" names the Slurm node`},
		"an argument in the template":          {`{"containers": [{"name": "slurmd", "args": ["-Nfoo"]}]}`, `{}`, "", "InvalidSpec"},
		"an argument of the user's own slurmd": {`{}`, `{"command": ["slurmd", "-D"], "args": ["-Nfoo"]}`, "", "InvalidSpec"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newTestEnv(t, nodesettest.NewNodeSet(2, withPodTemplate(tc.pod), func(n *v1beta1.NodeSet) {
				n.Spec.Slurmd.Raw = []byte(tc.slurmd)
			}))
			for range 4 {
				r.pollAndReconcile()
				r.startOnKubeNodes()
			}
			names := ""
			for _, p := range r.pods() {
				if names != "" {
					names += " "
				}
				names += observed.SlurmName(p)
			}
			if names != tc.names {
				t.Errorf("the Slurm nodes of the workers are %q, want %q", names, tc.names)
			}
			r.expectReady(tc.ready)
		})
	}
}
