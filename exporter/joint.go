package exporter

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Joint serves several Exporters as one exposition: each family is there once, with
// the samples of all of them. Their Labels have to tell those apart, and their
// collectors have to be the same.
type Joint struct {
	members func() Members
	process prometheus.Gatherer
	slots   slots
}

// Members are the clusters of a Joint.
type Members struct {
	Exporters []*Exporter
	// Absent are the Labels of clusters that have no Exporter since there is no connection
	// to them: their slurm_up is 0.
	Absent []map[string]string
}

// NewJoint returns a Joint of the Members that the function returns at a scrape, in
// that order. process is about this program, instead of what each Exporter tells of it.
// maxScrapes is how many scrapes are served at a time, 0 for any number.
func NewJoint(members func() Members, process prometheus.Gatherer, maxScrapes int) *Joint {
	return &Joint{members, process, newSlots(maxScrapes)}
}

// Metrics serves the exposition as that of an Exporter does.
func (j *Joint) Metrics(set Set) http.Handler {
	return j.slots.guard(func(w http.ResponseWriter, r *http.Request) {
		want, f := choiceOf(set, r), negotiate(r.Header)
		var all families
		members := j.members()
		for _, e := range members.Exporters {
			if err := want.check(e.collectors); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			shown, err := e.families(want, f)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all.add(shown)
		}
		down, err := absent(members.Absent).families(f)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all.add(down)
		if want.whole() {
			own, err := gather(j.process, constLabels{}, f)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all.add(own)
		}
		serve(w, r, f, all.list)
	})
}

// families are those of several exporters, each once. The zero value has none.
type families struct {
	list []shownFamily
	at   map[string]int // in list, by name
}

// add puts samples behind those of the same family, and families that are new behind
// the others.
func (a *families) add(shown []shownFamily) {
	if a.at == nil {
		a.at = map[string]int{}
	}
	for _, f := range shown {
		i, known := a.at[f.name]
		if !known {
			a.at[f.name] = len(a.list)
			f.samples = append([]piece(nil), f.samples...) // the page's own is not changed
			a.list = append(a.list, f)
			continue
		}
		a.list[i].samples = append(a.list[i].samples, f.samples...)
	}
}
