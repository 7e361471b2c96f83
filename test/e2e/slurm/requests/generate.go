//go:build e2e

package requests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// nodeFeatures are the features of the cluster's nodes, by name.
func nodeFeatures() map[string][]string {
	return map[string][]string{
		"n1": {"a"}, "n2": {"a", "b"}, "n3": {"b", "c.d"}, "n4": {"c.d", "x-1"}, "r08": {"a", "b", "c.d", "x-1"}, "r09": {"y_2"},
		"r10": nil,
	}
}

// request is a random request: the arguments of sbatch, and the parts that Slurm's commands are asked about.
type request struct {
	args                             []string
	array, required, excluded        string
	constraint                       string
	constrainsSingleNodes, typesGPUs bool
}

// generator makes random requests.
type generator struct{ *rand.Rand }

func (g generator) pickOne(from ...string) string { return from[g.IntN(len(from))] }

// newRequest returns a request for the cluster's partition.
func (g generator) newRequest() request {
	r := request{}
	g.addSize(&r)
	if g.IntN(4) > 0 {
		g.addGRES(&r)
	}
	if g.IntN(2) == 0 {
		g.addArray(&r)
	}
	if g.IntN(2) == 0 {
		g.addNodes(&r)
	}
	if g.IntN(2) == 0 {
		g.addConstraint(&r)
	}
	return r
}

func (r *request) addOption(flag, value string) { r.args = append(r.args, flag+"="+value) }

func (g generator) addSize(r *request) {
	switch g.IntN(5) {
	case 0:
		r.addOption("--nodes", g.pickOne("1", "2", "1-2", "2-3", "1-3"))
	case 1:
		r.addOption("--ntasks", g.pickOne("1", "2", "3", "5"))
	case 2:
		r.addOption("--nodes", g.pickOne("1", "2"))
		r.addOption("--ntasks-per-node", g.pickOne("1", "2", "3"))
	case 3:
		r.addOption("--ntasks", g.pickOne("1", "2", "4"))
		r.addOption("--cpus-per-task", g.pickOne("1", "2", "3"))
	}
	if g.IntN(2) == 0 {
		r.addOption(g.pickOne("--mem", "--mem-per-cpu"), g.pickOne("0", "1", "7M", "1G", "1500K", "100", "2g"))
	}
	if g.IntN(2) == 0 {
		r.addOption("--time", g.pickOne("1", "90", "1:30", "2:00:00", "1-0", "1-2:03", "0-0:10:30", "UNLIMITED"))
	}
}

// gresItem returns a generic resource with or without type and count, such as "gpu:h100:2".
func (g generator) gresItem(r *request) string {
	name := g.pickOne("gpu", "gpu", "gpu", "nic")
	if name == "gpu" && g.IntN(2) == 0 {
		name += ":" + g.pickOne("h100", "2080ti", "3g.20gb", "a-100_x")
		r.typesGPUs = true
	}
	if name == "nic" && g.IntN(2) == 0 {
		name += ":mlx"
	}
	return name + g.pickOne("", ":1", ":2", ":3", "=2")
}

func (g generator) addGRES(r *request) {
	var items []string
	for range 1 + g.IntN(2) {
		items = append(items, g.gresItem(r))
	}
	list := strings.Join(items, ",")
	gpus := func() string { // without the name "gpu"
		return g.pickOne("1", "2", "h100:1", "2080ti:2", "3g.20gb:1", "h100", "3g.20gb", "2080ti:1,h100:1", "a-100_x:2")
	}
	switch g.IntN(7) {
	case 0, 1, 2:
		r.addOption("--gres", list)
	case 3:
		r.addOption("--gpus", gpus())
	case 4:
		r.addOption("--gpus-per-node", gpus())
	case 5:
		r.addOption("--gpus-per-task", gpus())
		r.addOption("--ntasks", g.pickOne("1", "2", "3"))
	case 6:
		r.addOption("--tres-per-task", g.pickOne("gres/gpu:1", "gres/gpu=2", "gres/gpu:h100:1", "cpu:2,gres/gpu:2080ti:1", "gres/gpu:3g.20gb=1"))
		r.addOption("--ntasks", g.pickOne("1", "2", "3"))
	}
}

// maxIndex bounds the indexes of array tasks.
const maxIndex = 49

func (g generator) addArray(r *request) {
	var parts []string
	for range 1 + g.IntN(4) {
		first := g.IntN(25)
		part := fmt.Sprint(first)
		if g.IntN(2) == 0 {
			part += fmt.Sprintf("-%d", first+g.IntN(maxIndex-first+1))
			if g.IntN(2) == 0 {
				part += fmt.Sprintf(":%d", 1+g.IntN(5))
			}
		}
		parts = append(parts, part)
	}
	r.array = strings.Join(parts, ",")
	if g.IntN(2) == 0 {
		r.array += fmt.Sprintf("%%%d", 1+g.IntN(6))
	}
	r.addOption("--array", r.array)
}

func (g generator) addNodes(r *request) {
	lists := []string{"n1", "n[1-2]", "n[1,3]", "r08", "r[08-09]", "r[08,10]", "n[1-2],r09", "n4,n3", "n[1-4]", "r[08-10],n1", "n2,n2"}
	if g.IntN(2) == 0 {
		r.required = g.pickOne(lists...)
		r.addOption("--nodelist", r.required)
	}
	if g.IntN(2) == 0 {
		r.excluded = g.pickOne(append(slices.Clone(lists), "n[1-3,4]", "r[08-10]")...)
		r.addOption("--exclude", r.excluded)
	}
}

// addConstraint adds a constraint by the grammar of sbatch(1).
func (g generator) addConstraint(r *request) {
	feature := func() string { return g.pickOne("a", "b", "c.d", "x-1", "y_2") }
	r.constrainsSingleNodes = true
	switch g.IntN(6) {
	case 0:
		r.constraint = feature()
	case 1, 2:
		r.constraint = feature()
		for range 1 + g.IntN(3) {
			r.constraint += g.pickOne("&", "|", ",") + feature()
		}
	case 3:
		r.constraint = "(" + feature() + g.pickOne("&", "|") + feature() + ")" + g.pickOne("&", "|") + feature()
	case 4:
		r.constraint = g.pickOne("[a|b]", "[b|c.d]", "[y_2|a]", "[x-1|c.d]") + g.pickOne("", "&b")
	case 5:
		r.constrainsSingleNodes = false
		r.constraint = "[" + feature() + "*1&" + feature() + "*" + g.pickOne("1", "2") + "]"
	}
	r.addOption("--constraint", r.constraint)
}
