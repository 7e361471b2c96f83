package exposition

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// CollectorFilter selects the collectors that a request wants.
type CollectorFilter struct {
	set              Set
	collect, exclude []string
}

// ParseCollectorFilter parses the request's parameters collect[] and exclude[].
func ParseCollectorFilter(set Set, r *http.Request) CollectorFilter {
	query := r.URL.Query()
	return CollectorFilter{set, query["collect[]"], query["exclude[]"]}
}

// Check returns an error if the request names a collector that is not enabled, or uses both
// parameters.
func (c CollectorFilter) Check(enabled []Collector) error {
	for _, name := range slices.Concat(c.collect, c.exclude) {
		if !slices.ContainsFunc(enabled, func(c Collector) bool { return c.Name == name }) {
			return fmt.Errorf("collector %q is not enabled; enabled are %s", name,
				strings.Join(collectorNames(enabled), ", "))
		}
	}
	if len(c.collect) > 0 && len(c.exclude) > 0 {
		return errors.New("collect[] and exclude[] cannot be used together")
	}
	return nil
}

func collectorNames(collectors []Collector) []string {
	var out []string
	for _, c := range collectors {
		out = append(out, c.Name)
	}
	return out
}

// Selects reports whether the request wants the section.
func (c CollectorFilter) Selects(s Section) bool {
	if c.set != Native && s.set != c.set {
		return false
	}
	if len(c.collect) > 0 {
		return slices.Contains(c.collect, s.name)
	}
	return !slices.Contains(c.exclude, s.name)
}

// SelectsEverything reports whether the request selects everything, which includes the metrics of the
// program itself.
func (c CollectorFilter) SelectsEverything() bool {
	return c.set == Native && len(c.collect)+len(c.exclude) == 0
}
