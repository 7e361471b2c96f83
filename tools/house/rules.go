package main

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule is a rule that must stand in one place. Each package with a matching line, outside tests and the simulated
// cluster, has a copy of it.
type rule struct {
	name    string
	pattern *regexp.Regexp
}

// housedRules are the rules of the tree by which code writes them down.
func housedRules() []rule {
	return []rule{
		{"which partitions a NodeSet serves", regexp.MustCompile(`(==|EqualFold\([^)]*,) "ALL"`)},
		{"slurmctld's clock", regexp.MustCompile(`^func (\([^)]*\) )?[sS]erverTime\w*\(.*{$`)},
		{"the replicas of a NodeSet", regexp.MustCompile(`\b(n|[nN]odeSet)\.Spec\.Replicas [!=]= nil`)},
		{"key=value options of Slurm", regexp.MustCompile(`^func (\([^)]*\) )?parse(Conf)?Options\(`)},
		{"which job holds which node", regexp.MustCompile(`^func (\([^)]*\) )?[hH]oldsNodes\(`)},
		{"patching the status", regexp.MustCompile(`Status\(\)\.Patch\(`)},
		{"writing a finalizer", regexp.MustCompile(`controllerutil\.(Contains|Add|Remove)Finalizer\(`)},
		{"names of child objects", regexp.MustCompile(`"-(controller|restapi|accounting)\b|"slurm-workers-`)},
		{"renegotiating the API version", regexp.MustCompile(`^func (\([^)]*\) )?renegotiate\w*[\[(]`)},
		{"view objects to records", regexp.MustCompile(`^func (\([^)]*\) )?(job|node|partition)Record\(|` +
			`^func (Job|Node|Partition)Record\(`)},
	}
}

// measureRules counts, of all packages that have one of the rules, those beyond the first.
func measureRules(files []sourceFile) []measure {
	m := measure{name: "copies of rules"}
	for _, r := range housedRules() {
		var homes []string
		for _, f := range files {
			if f.isTest() || strings.HasPrefix(f.path, "test/") || strings.HasPrefix(f.path, "tools/") ||
				strings.Contains(f.path, "/slurmtest/") || !slices.ContainsFunc(f.lines, r.pattern.MatchString) {
				continue
			}
			if home := path.Dir(f.path); !slices.Contains(homes, home) {
				homes = append(homes, home)
			}
		}
		m.of += len(homes)
		for _, copied := range homes[min(1, len(homes)):] {
			m.places = append(m.places, r.name+": "+homes[0]+" and "+copied)
		}
	}
	return []measure{m}
}
