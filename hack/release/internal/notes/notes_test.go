package notes

import (
	"strings"
	"testing"
)

const changelog = `# Changelog

## Unreleased

- A new thing.

## [0.2.0] - 2027-01-01

- A change,
  in two lines.

### Fixed

- A bug.

## 0.1.0

- Begin.
`

func TestCut(t *testing.T) {
	for _, test := range []struct{ name, version, want string }{
		{"the section of the version with its subsections", "0.2.0", "- A change,\n  in two lines.\n\n### Fixed\n\n- A bug.\n"},
		{"the last section", "0.1.0", "- Begin.\n"},
		{"a version without a section has the unreleased changes", "0.3.0", "- A new thing.\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Cut(changelog, test.version)
			if err != nil || got != test.want {
				t.Errorf("Cut(%q) = %q, %v, want %q", test.version, got, err, test.want)
			}
		})
	}
}

func TestCutNamesWhatIsMissing(t *testing.T) {
	for _, test := range []struct{ name, changelog, want string }{
		{"no section", "# Changelog\n", `neither a section "0.1.0" nor "Unreleased"`},
		{"an empty section", "## Unreleased\n\n## 0.0.1\n\n- Old.\n", `the section "Unreleased" is empty`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Cut(test.changelog, "0.1.0"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Cut = %v, want an error with %q", err, test.want)
			}
		})
	}
}
