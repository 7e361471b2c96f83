package exporter

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// collectorFilter selects the collectors that a request wants.
type collectorFilter struct {
	set              Set
	collect, exclude []string
}

// parseCollectorFilter parses the request's parameters collect[] and exclude[].
func parseCollectorFilter(set Set, r *http.Request) collectorFilter {
	query := r.URL.Query()
	return collectorFilter{set, query["collect[]"], query["exclude[]"]}
}

// check returns an error if the request names a collector that is not enabled, or uses both
// parameters.
func (c collectorFilter) check(enabled []collector) error {
	for _, name := range slices.Concat(c.collect, c.exclude) {
		if !slices.ContainsFunc(enabled, func(c collector) bool { return c.name == name }) {
			return fmt.Errorf("collector %q is not enabled; enabled are %s", name, strings.Join(collectorNames(enabled), ", "))
		}
	}
	if len(c.collect) > 0 && len(c.exclude) > 0 {
		return errors.New("collect[] and exclude[] cannot be used together")
	}
	return nil
}

func collectorNames(collectors []collector) []string {
	var out []string
	for _, c := range collectors {
		out = append(out, c.name)
	}
	return out
}

func (c collectorFilter) selects(s section) bool {
	if c.set != Native && s.set != c.set {
		return false
	}
	if len(c.collect) > 0 {
		return slices.Contains(c.collect, s.name)
	}
	return !slices.Contains(c.exclude, s.name)
}

// selectsEverything reports whether the request selects everything, which includes the metrics of the
// program itself.
func (c collectorFilter) selectsEverything() bool {
	return c.set == Native && len(c.collect)+len(c.exclude) == 0
}
