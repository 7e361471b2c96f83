package pending

import (
	"slices"
	"strings"
	"testing"
)

// FuzzReasons passes any text to the parsers of reasons and dependencies.
func FuzzReasons(f *testing.F) {
	for _, text := range []string{"Resources", "ReqNodeNotAvail, UnavailableNodes:n1", "afterok:7(fulfilled)",
		"afterok:7(unfulfilled),singleton"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if class, known := ClassOf(text); !slices.Contains(Classes(), class) || !known && class != ClassOther {
			t.Errorf("the reason %q has the class %q", text, class)
		}
		if waitsForJobs(text) != waitsForJobs(text+",") || strings.Trim(text, ",?") == "" && waitsForJobs(text) {
			t.Errorf("the dependency %q is unfulfilled: %v", text, waitsForJobs(text))
		}
	})
}
