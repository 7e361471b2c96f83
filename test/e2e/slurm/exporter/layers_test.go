//go:build e2e

package exporter

import (
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// layersFile is a resources.yaml(5): flat has a layer within another one, nat two side by side.
const layersFile = `- resource: flat
  mode: MODE_2
  layers:
    - nodes: ["n1"]
      count: 12
    - nodes: ["n[1-2]"]
      count: 16
- resource: nat
  mode: MODE_1
  layers:
    - nodes: ["n1"]
      count: 24
    - nodes: ["n2"]
      count: 20
`

// TestHierarchicalResources: each layer has its series, or no layer has them if slurmrestd does not distinguish the layers. Slurm has
// hierarchical resources since 25.05.
func TestHierarchicalResources(t *testing.T) {
	t.Parallel()
	cluster, err := realslurm.Start(t.Context(), realslurm.Config{Version: "26.05", WithoutAccounting: true,
		NodeConfs: []string{"n1 CPUs=4 RealMemory=4000", "n2 CPUs=4 RealMemory=4000"},
		Files:     map[string]string{"resources.yaml": layersFile}, Conf: []string{"Licenses=matlab:5"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := cluster.Submit(t.Context(), realslurm.Job{Name: "flat", User: "alice", Want: []string{"RUNNING"},
		Args: []string{"-w", "n1", "-L", "flat:3,matlab:2", "--mem=100", "--wrap", "sleep 86400"}}); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v0.0.43", "v0.0.44", "v0.0.45"} {
		t.Run(version, func(t *testing.T) {
			p := startExporter(t, "--slurm.url="+cluster.URL, "--slurm.token-file="+cluster.TokenFile,
				"--slurm.api-version="+version)
			got := p.ScrapeFresh("nodes", "jobs", "licenses")
			want := map[string]float64{`slurm_license_used{license="matlab",nodes=""}`: 2}
			if version > "v0.0.43" {
				want[`slurm_license_used{license="flat",nodes="n1"}`], want[`slurm_license_free{license="flat",nodes="n1"}`] = 3, 9
				want[`slurm_license_used{license="flat",nodes="n[1-2]"}`], want[`slurm_license_free{license="flat",nodes="n[1-2]"}`] = 3, 13
				want[`slurm_license_capacity{license="nat",nodes="n1"}`], want[`slurm_license_capacity{license="nat",nodes="n2"}`] = 24, 20
			}
			for series, value := range want {
				if have, has := got[series]; !has || have != value {
					t.Errorf("%s is %v, want %v", series, have, value)
				}
			}
			series := 0
			for name := range got {
				if strings.HasPrefix(name, "slurm_license_capacity{") {
					series++
				}
			}
			if expected := map[bool]int{false: 1, true: 5}[version > "v0.0.43"]; series != expected {
				t.Errorf("%d licences have a capacity, want %d", series, expected)
			}
		})
	}
}
