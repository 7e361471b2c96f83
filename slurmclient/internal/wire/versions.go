package wire

import (
	"fmt"
	"net/http"
)

// doer is what the generated clients send requests with.
type doer interface {
	Do(*http.Request) (*http.Response, error)
}

// versions is the table of API versions, newest first.
var versions = []struct {
	name string
	bind func(server string, http doer) (Binding, error)
	// jobs is a version whose job records tell more, where the server has it too.
	jobs string
}{
	// Its document calls "shared" ignored and replaced by "exclusive"; slurmrestd
	// 26.05.5 sends neither, so nothing tells an exclusive job from another one.
	{"v0.0.45", newV0045, "v0.0.44"},
	{"v0.0.44", newV0044, ""},
	{"v0.0.43", newV0043, ""},
	{"v0.0.42", newV0042, ""},
	{"v0.0.41", newV0041, ""},
	{"v0.0.40", newV0040, ""},
}

// Versions lists the API versions that there are bindings for, newest first.
func Versions() []string {
	var out []string
	for _, v := range versions {
		out = append(out, v.name)
	}
	return out
}

// JobsVersion is the version to read job records with beside the given one, or empty
// when its own tell all.
func JobsVersion(version string) string {
	for _, v := range versions {
		if v.name == version {
			return v.jobs
		}
	}
	return ""
}

// New returns the binding of an API version for the server at the base URL.
func New(version, server string, http doer) (Binding, error) {
	for _, v := range versions {
		if v.name == version {
			return v.bind(server, http)
		}
	}
	return nil, fmt.Errorf("there are no bindings for API version %q", version)
}
