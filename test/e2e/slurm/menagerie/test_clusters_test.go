//go:build e2e

package menagerie

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// testCluster is a cluster with several variants that do not conflict.
type testCluster struct {
	Name string `json:"name"`
	// Conf are lines of slurm.conf for all variants. Files are the files of /etc/slurm, by name.
	Conf  []string          `json:"conf"`
	Files map[string]string `json:"files"`
	// WithoutAccounting starts no slurmdbd. Munge has the daemons authenticate each other with
	// MUNGE.
	WithoutAccounting bool      `json:"lonely"`
	Munge             bool      `json:"munge"`
	Variants          []variant `json:"variants"`
	// Sibling is a second cluster with the same slurmdbd, which is compared too.
	Sibling *testCluster `json:"sibling"`
}

// readTestClusters reads all clusters.
func readTestClusters(t *testing.T) []testCluster {
	t.Helper()
	text, err := os.ReadFile("testdata/habitats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []testCluster
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// variant is one kind of cluster. Its nodes are named after it and have its name as first feature,
// and its partition has its name.
type variant struct {
	Name string `json:"name"`
	// Nodes are node options in slurm.conf, with the prefix N* for N alike nodes. Gres are lines of
	// gres.conf.
	Nodes []string `json:"nodes"`
	Gres  []string `json:"gres"`
	// Partition are the options of its partition, Conf further lines of slurm.conf.
	Partition string   `json:"partition"`
	Conf      []string `json:"conf"`
	// Setup are shell lines that root runs first. Then Jobs are submitted, root runs Then, and
	// After are submitted.
	Setup []string `json:"setup"`
	Jobs  []job    `json:"jobs"`
	Then  []string `json:"then"`
	After []job    `json:"after"`
}

// job is a job to submit to the variant's partition, unless Args name another one.
type job struct {
	User string `json:"user"`
	Args string `json:"args"`
	// Want is the expected state, with the reason while it is pending. A | separates alternatives,
	// and a ; separates states that must all occur.
	Want string `json:"want"`
	// Name defaults to the variant's name with a number.
	Name string `json:"name"`
	// Pad lengthens its script by that many bytes.
	Pad int `json:"pad"`
}

// nodeLines returns the node options, one line per node.
func (v *variant) nodeLines() []string {
	var out []string
	for _, line := range v.Nodes {
		count := 1
		if n, rest, ok := strings.Cut(line, "*"); ok {
			line = rest
			count, _ = strconv.Atoi(n)
		}
		out = append(out, slices.Repeat([]string{line}, count)...)
	}
	return out
}

// nodeNames returns the names of the variant's nodes.
func (v *variant) nodeNames() []string {
	var out []string
	for i := range v.nodeLines() {
		out = append(out, fmt.Sprintf("%s-%d", v.Name, i))
	}
	return out
}

// clusterConfig returns the configuration of the cluster.
func (h *testCluster) clusterConfig(release string) realslurm.Config {
	c := realslurm.Config{Version: release, Name: h.Name, WithoutAccounting: h.WithoutAccounting, Munge: h.Munge,
		Conf: slices.Clone(h.Conf), Files: h.Files}
	for i := range h.Variants {
		v := &h.Variants[i]
		names := v.nodeNames()
		for at, line := range v.nodeLines() {
			c.NodeConfs = append(c.NodeConfs, names[at]+" Features="+v.Name+" "+line)
		}
		for _, line := range v.Gres {
			c.Gres = append(c.Gres, "NodeName="+strings.Join(names, ",")+" "+line)
		}
		c.Conf = append(c.Conf, v.Conf...)
		if len(names) > 0 {
			c.Conf = append(c.Conf, strings.TrimSpace("PartitionName="+v.Name+" Nodes="+strings.Join(names,
				",")+" "+v.Partition))
		}
	}
	return c
}

// jobsToSubmit returns the jobs as arguments of realslurm.Cluster.Submit.
func (v *variant) jobsToSubmit(jobs []job, first int) []realslurm.Job {
	var out []realslurm.Job
	for i, j := range jobs {
		name, args := j.Name, strings.Fields(j.Args)
		if name == "" {
			name = fmt.Sprintf("%s.%d", v.Name, first+i)
		}
		if !slices.Contains(args, "-p") {
			args = append([]string{"-p", v.Name}, args...)
		}
		script := "sleep 86400\n#" + strings.Repeat("x", j.Pad)
		out = append(out, realslurm.Job{Name: name, User: j.User, Args: append(args, "--wrap", script),
			Want: strings.Split(j.Want, ";")})
	}
	return out
}
