package exporter

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// choice is what a request wants to see.
type choice struct {
	set              Set
	collect, exclude []string
}

// choiceOf reads the parameters of a request for a set.
func choiceOf(set Set, r *http.Request) choice {
	query := r.URL.Query()
	return choice{set, query["collect[]"], query["exclude[]"]}
}

// check returns what is wrong with the choice among the collectors.
func (c choice) check(among []collector) error {
	for _, name := range slices.Concat(c.collect, c.exclude) {
		if !slices.ContainsFunc(among, func(c collector) bool { return c.name == name }) {
			return fmt.Errorf("there is no collector %q switched on, only %s", name, strings.Join(namesOf(among), ", "))
		}
	}
	if len(c.collect) > 0 && len(c.exclude) > 0 {
		return errors.New("collect[] and exclude[] can not be used together")
	}
	return nil
}

func namesOf(collectors []collector) []string {
	var out []string
	for _, c := range collectors {
		out = append(out, c.name)
	}
	return out
}

func (c choice) wants(s section) bool {
	if c.set != Native && s.set != c.set {
		return false
	}
	if len(c.collect) > 0 {
		return slices.Contains(c.collect, s.name)
	}
	return !slices.Contains(c.exclude, s.name)
}

// whole reports whether all is wanted, so that the program's own metrics are shown
// as well.
func (c choice) whole() bool { return c.set == Native && len(c.collect)+len(c.exclude) == 0 }
