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

	"github.com/slurmtide/slurmtide/test/realslurm"
)

// habitat is a cluster that variants share which do not conflict.
type habitat struct {
	Name string `json:"name"`
	// Conf are lines of slurm.conf for all of them, Files those of /etc/slurm.
	Conf  []string          `json:"conf"`
	Files map[string]string `json:"files"`
	// Lonely has no slurmdbd. Munge has its daemons know each other by MUNGE.
	Lonely   bool      `json:"lonely"`
	Munge    bool      `json:"munge"`
	Variants []variant `json:"variants"`
	// Sibling is a second cluster with the same slurmdbd, which is watched too.
	Sibling *habitat `json:"sibling"`
}

// habitats reads the whole menagerie.
func habitats(t *testing.T) []habitat {
	t.Helper()
	text, err := os.ReadFile("testdata/habitats.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []habitat
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// variant is one kind of cluster. It has nodes named after it, with its name as their
// first feature, and a partition of its name.
type variant struct {
	Name string `json:"name"`
	// Nodes are their lines of slurm.conf, with N* in front for N alike, and Gres their
	// lines of gres.conf.
	Nodes []string `json:"nodes"`
	Gres  []string `json:"gres"`
	// Partition are the options of its partition, Conf further lines of slurm.conf.
	Partition string   `json:"partition"`
	Conf      []string `json:"conf"`
	// Setup are shell lines that root runs first; then Jobs are submitted, root runs
	// Then, and the jobs After are submitted.
	Setup []string `json:"setup"`
	Jobs  []job    `json:"jobs"`
	Then  []string `json:"then"`
	After []job    `json:"after"`
}

// job is one that is submitted to the variant's partition, unless Args say otherwise.
type job struct {
	User string `json:"user"`
	Args string `json:"args"`
	// Want is the state to be seen, with the reason while it is pending; a | separates
	// alternatives and a ; states that are all to be seen.
	Want string `json:"want"`
	// Name is the variant's with a number unless told otherwise.
	Name string `json:"name"`
	// Pad makes its script so many bytes longer.
	Pad int `json:"pad"`
}

// lines are the nodes' lines of slurm.conf, one a node.
func (v *variant) lines() []string {
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

// nodeNames lists the variant's nodes.
func (v *variant) nodeNames() []string {
	var out []string
	for i := range v.lines() {
		out = append(out, fmt.Sprintf("%s-%d", v.Name, i))
	}
	return out
}

// config describes the cluster to start.
func (h *habitat) config(release string) realslurm.Config {
	c := realslurm.Config{Version: release, Name: h.Name, WithoutAccounting: h.Lonely, Munge: h.Munge, Conf: slices.Clone(h.Conf), Files: h.Files}
	for i := range h.Variants {
		v := &h.Variants[i]
		names := v.nodeNames()
		for at, line := range v.lines() {
			c.Node = append(c.Node, names[at]+" Features="+v.Name+" "+line)
		}
		for _, line := range v.Gres {
			c.Gres = append(c.Gres, "NodeName="+strings.Join(names, ",")+" "+line)
		}
		c.Conf = append(c.Conf, v.Conf...)
		if len(names) > 0 {
			c.Conf = append(c.Conf, strings.TrimSpace("PartitionName="+v.Name+" Nodes="+strings.Join(names, ",")+" "+v.Partition))
		}
	}
	return c
}

// submitted are the jobs as they are given to Slurm.
func (v *variant) submitted(jobs []job, first int) []realslurm.Job {
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
		out = append(out, realslurm.Job{Name: name, User: j.User, Args: append(args, "--wrap", script), Want: strings.Split(j.Want, ";")})
	}
	return out
}
