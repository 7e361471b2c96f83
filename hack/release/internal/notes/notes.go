// Package notes cuts the notes of a release from CHANGELOG.md.
package notes

import (
	"fmt"
	"strings"
)

// Unreleased is the heading of the changes that no release has yet.
const Unreleased = "Unreleased"

// Cut returns the changes of a version: the section "## VERSION", which a date may follow, or else the section
// "## Unreleased", which becomes the version's when it is tagged. The text has no heading.
func Cut(changelog, version string) (string, error) {
	sections := sections(changelog)
	for _, heading := range []string{version, Unreleased} {
		text, ok := sections[heading]
		if !ok {
			continue
		}
		if text = strings.TrimSpace(text); text == "" {
			return "", fmt.Errorf("CHANGELOG.md: the section %q is empty", heading)
		}
		return text + "\n", nil
	}
	return "", fmt.Errorf("CHANGELOG.md has neither a section %q nor %q", version, Unreleased)
}

// sections maps the first word of each heading of the second level to the text below it. The word may be in brackets or
// begin with a v.
func sections(changelog string) map[string]string {
	out := map[string]string{}
	heading := ""
	for line := range strings.Lines(changelog) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			word, _, _ := strings.Cut(strings.TrimSpace(title), " ")
			heading = strings.TrimPrefix(strings.Trim(word, "[]"), "v")
			continue
		}
		if heading != "" {
			out[heading] += line
		}
	}
	return out
}
