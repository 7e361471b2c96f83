//go:build e2e

// Package render tests on a real API server the objects that the operator renders for NodeSets.
package render

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// A real API server accepts every object of the goldens and knows every field of them.
func TestAPIServerAcceptsTheGoldens(t *testing.T) {
	if missing := realkube.MissingRequirement(); missing != "" {
		t.Fatal(missing)
	}
	c, err := realkube.Start(t.Context(), realkube.Config{Name: "render"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	const given = `{apiVersion: v1, kind: Namespace, metadata: {name: slurm}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: slurm}, value: 1}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: slurm}}
`
	if err := c.Apply(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../../operator/nodeset/render/testdata/*.golden.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no goldens", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".golden.yaml"), func(t *testing.T) {
			out, err := c.Kubectl(t.Context(), "create", "--dry-run=server", "--validate=strict", "--filename", file)
			if err != nil {
				t.Error(err)
			}
			t.Log(out)
		})
	}
}
