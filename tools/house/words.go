package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// unwantedWords are phrases that plain technical English does not need.
var unwantedWords = regexp.MustCompile(`(?i)\b(anew|tells? of|told of|can not|who has|who have|nothing else than|` +
	`is to be had|to be had|for want of|be it\b|whose .{1,20} it is)\b|` +
	`\bthat there (is|are) (no|a|an|one)\b|` +
	`\ba Kubernetes( (of|that|which|without|with|where|and|or|is|has|in|for|to)\b|[.,;:)]|$)`)

// measureWords counts unwanted words in Go comments and strings and in the pages. It leaves out the definitions of
// custom resources, because their words come from Go types, which it scans, and from Kubernetes.
func measureWords(root string, files []sourceFile) measure {
	m := measure{name: "unwanted words"}
	scan := func(name string, lines []string) {
		for i, line := range lines {
			m.of++
			for _, hit := range unwantedWords.FindAllString(line, -1) {
				m.places = append(m.places, fmt.Sprintf("%s:%d: %s", name, i+1, hit))
			}
		}
	}
	for _, f := range files {
		if !strings.HasPrefix(f.path, "tools/house/") {
			scan(f.path, f.lines)
		}
	}
	names, err := trackedFiles(root)
	if err != nil {
		return m
	}
	for _, name := range names {
		if !isProse(name) {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			scan(name, strings.Split(string(data), "\n"))
		}
	}
	return m
}

func isProse(name string) bool {
	if strings.Contains(name, "testdata/") || strings.HasPrefix(name, "slurmclient/api/") ||
		strings.HasPrefix(name, "charts/slurm-operator-crds/templates/") {
		return false
	}
	switch filepath.Ext(name) {
	case ".md", ".sh", ".yaml", ".tpl", ".txt":
		return true
	}
	return strings.HasPrefix(name, "hack/") && filepath.Ext(name) == "" || name == "Makefile" || name == "Dockerfile"
}
