// Package release compares what the repository names (images, charts and versions in charts, examples and pages) with what a
// release contains.
package release

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Reference is a place that names a part of a release.
type Reference struct {
	// File and Line are the position of the reference.
	File string
	Line int
	// Image or Chart is the name of an image or a chart; both are empty for a version of the whole release.
	Image, Chart string
	// Version is a tag, a version or a range such as 0.1.x; empty if the place names no version.
	Version string
}

func (r Reference) String() string {
	switch {
	case r.Image != "":
		return fmt.Sprintf("%s:%d: image %s", r.File, r.Line, strings.TrimSuffix(r.Image+":"+r.Version, ":"))
	case r.Chart != "":
		return fmt.Sprintf("%s:%d: chart %s", r.File, r.Line, strings.TrimSuffix(r.Chart+" "+r.Version, " "))
	}
	return fmt.Sprintf("%s:%d: version %s", r.File, r.Line, r.Version)
}

// Places of references. Pages use registry.example.com where readers push images to a registry of their own.
var (
	published = regexp.MustCompile(`\b(?:ghcr\.io/slurmtide|registry\.example\.com)/((?:[a-z0-9-]+/)*[a-z0-9-]+)(?::([a-zA-Z0-9._-]*[a-zA-Z0-9]))?`)
	revision  = regexp.MustCompile(`\btargetRevision: v([0-9][^\s]*)`)
	semver    = regexp.MustCompile(`\bsemver: ['"]?([0-9][0-9A-Za-z.*+-]*)`)
	flag      = regexp.MustCompile(`\bhelm\b.*oci://.*--version[ =]([0-9][^\s]*)`)
	download  = regexp.MustCompile(`slurmtide/slurmtide/releases/download/v([0-9][^/\s]*)/`)
)

// FindReferences returns the references in the text of a file.
func FindReferences(file, text string) []Reference {
	var out []Reference
	line := 0
	for one := range strings.Lines(text) {
		line++
		for _, match := range published.FindAllStringSubmatch(one, -1) {
			out = append(out, named(Reference{File: file, Line: line, Version: match[2]}, match[1])...)
		}
		for _, pattern := range []*regexp.Regexp{revision, semver, flag, download} {
			for _, match := range pattern.FindAllStringSubmatch(one, -1) {
				out = append(out, Reference{File: file, Line: line, Version: match[1]})
			}
		}
	}
	return out
}

// named returns the reference with the name of a repository in the registry. The folder of all charts is no reference.
func named(r Reference, repository string) []Reference {
	switch chart, ok := strings.CutPrefix(repository, "charts/"); {
	case repository == "charts":
		return nil
	case ok:
		r.Chart = chart
	default:
		r.Image = repository
	}
	return []Reference{r}
}

// Contents are what a release contains.
type Contents struct {
	Version string
	// Images has the tags of each image.
	Images map[string][]string
	Charts []string
}

// Missing returns the references to what the release does not contain.
func (c Contents) Missing(references []Reference) []Reference {
	return slices.DeleteFunc(slices.Clone(references), c.has)
}

func (c Contents) has(r Reference) bool {
	switch {
	case r.Image != "":
		tags := c.Images[r.Image]
		return len(tags) > 0 && (r.Version == "" || slices.Contains(tags, r.Version))
	case r.Chart != "":
		return slices.Contains(c.Charts, r.Chart) && (r.Version == "" || matches(r.Version, c.Version))
	}
	return matches(r.Version, c.Version)
}

// matches reports whether a version is in a range such as 0.1.x, or equal.
func matches(pattern, version string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "x", "*"), version)
	return err == nil && ok
}
