package wire

import (
	"fmt"
	"net/http"
)

// requestDoer sends the requests of the generated clients.
type requestDoer interface {
	Do(*http.Request) (*http.Response, error)
}

// versions lists the API versions, newest first.
var versions = []struct {
	name string
	bind func(server string, http requestDoer) (Binding, error)
	// jobs is another version whose job records contain more, or empty.
	jobs string
}{
	// The document of v0.0.45 says that "exclusive" replaces "shared". slurmrestd 26.05.5 sends
	// neither, so its job records do not show which jobs are exclusive.
	{"v0.0.45", newV0045, "v0.0.44"},
	{"v0.0.44", newV0044, ""},
	{"v0.0.43", newV0043, ""},
	{"v0.0.42", newV0042, ""},
	{"v0.0.41", newV0041, ""},
	{"v0.0.40", newV0040, ""},
}

// Versions lists the API versions that have bindings, newest first.
func Versions() []string {
	var out []string
	for _, v := range versions {
		out = append(out, v.name)
	}
	return out
}

// JobsVersion returns another version whose job records contain more than the given version's, or "".
func JobsVersion(version string) string {
	for _, v := range versions {
		if v.name == version {
			return v.jobs
		}
	}
	return ""
}

// NewBinding returns the binding of an API version for the server at the base URL.
func NewBinding(version, server string, http requestDoer) (Binding, error) {
	for _, v := range versions {
		if v.name == version {
			return v.bind(server, http)
		}
	}
	return nil, fmt.Errorf("no bindings for API version %q", version)
}
