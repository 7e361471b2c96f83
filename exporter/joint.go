package exporter

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Joint serves several Exporters as one exposition: each family is there once, with
// the samples of all of them. Their Labels have to tell those apart, and their
// collectors have to be the same.
type Joint struct {
	exporters func() []*Exporter
	process   prometheus.Gatherer
	slots     slots
}

// NewJoint returns a Joint of the Exporters that the function returns at a scrape, in
// that order. process is about this program, instead of what each Exporter tells of it.
// maxScrapes is how many scrapes are served at a time, 0 for any number.
func NewJoint(exporters func() []*Exporter, process prometheus.Gatherer, maxScrapes int) *Joint {
	return &Joint{exporters, process, newSlots(maxScrapes)}
}

// Metrics serves the exposition as that of an Exporter does.
func (j *Joint) Metrics(set Set) http.Handler {
	return j.slots.guard(func(w http.ResponseWriter, r *http.Request) {
		want, f := choiceOf(set, r), negotiate(r.Header)
		var all families
		for _, e := range j.exporters() {
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
