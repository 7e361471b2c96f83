package doctor

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProbesThatListSteps(t *testing.T) {
	const remove = "kubectl -n hpc patch nodesets.slinky.slurm.net gpu --type=json -p "
	for _, tc := range []struct {
		name, spec string
		want       []string
	}{
		{"none", `{}`, nil},
		{"the port", `{"slurmd": {"readinessProbe": {"tcpSocket": {"port": 6818}}}}`, nil},
		{"scontrol ping", `{"slurmd": {"livenessProbe": {"exec": {"command": ["scontrol", "ping"]}}}}`, nil},
		{"a command that only looks similar",
			`{"slurmd": {"livenessProbe": {"exec": {"command": ["sh", "-c", "scontrol ping; echo show slurmd"]}}}}`,
			nil},
		{"scontrol show slurmd",
			`{"slurmd": {"readinessProbe": {"exec": {"command": ["scontrol", "show", "slurmd"]}}}}`,
			[]string{`'[{"op":"remove","path":"/spec/slurmd/readinessProbe"}]'`}},
		{"in a shell, with flags",
			`{"slurmd": {"startupProbe": {"exec": {"command": ["sh", "-c", "/usr/bin/scontrol -o show  slurmd | grep -q UP"]}}}}`, []string{`'[{"op":"remove","path":"/spec/slurmd/startupProbe"}]'`}},
		{"sstat in a hook", `{"slurmd": {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "sstat -a -j 7"]}}}}}`, []string{`'[{"op":"remove","path":"/spec/slurmd/lifecycle/preStop"}]'`}},
		{"listpids in containers of the template", `{"template": {"spec": {
			"initContainers": [{"name": "a", "livenessProbe": {"exec": {"command": ["scontrol", "listpids"]}}}],
			"containers": [{"name": "b"}, {"name": "c", "lifecycle": {"postStart": {"exec": {"command": ["scontrol", "listpids"]}}}}]}}}`,
			[]string{`'[{"op":"remove","path":"/spec/template/spec/containers/1/lifecycle/postStart"}]'`,
				`'[{"op":"remove","path":"/spec/template/spec/initContainers/0/livenessProbe"}]'`}},
		{"what cannot be read", `{"slurmd": {"readinessProbe": 7}}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			observed := newHealthy()
			keep := observed.NodeSets[0].Spec
			if err := json.Unmarshal([]byte(tc.spec), &observed.NodeSets[0].Spec); err != nil {
				t.Fatal(err)
			}
			observed.NodeSets[0].Spec.ClusterRef, observed.NodeSets[0].Spec.Replicas = keep.ClusterRef, keep.Replicas
			var got []string
			for _, f := range Examine(*observed, nil).Findings {
				if f.Code != ProbeListsSteps || f.Object != nodeSetObject(&observed.NodeSets[0]) {
					t.Errorf("found %+v", f)
				}
				got = append(got, f.Command)
			}
			var want []string
			for _, w := range tc.want {
				want = append(want, remove+w)
			}
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
