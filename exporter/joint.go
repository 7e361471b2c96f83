package exporter

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Union serves several Exporters as one exposition, which contains each family once with the
// samples of all Exporters. Exporters must differ in their Labels and have the same collectors.
type Joint struct {
	members func() Members
	process prometheus.Gatherer
	slots   slots
}

// Members are the clusters of a Union.
type Members struct {
	Exporters []*Exporter
	// Unreachable are the Labels of clusters that have no Exporter because there is no
	// connection to them. Their slurm_up is 0.
	Absent []map[string]string
}

// NewUnion returns a Union. members is called at each scrape and determines the order of the
// samples. process has the metrics of this program, which replace those of the Exporters.
// maxScrapes is the maximum number of concurrent scrapes; 0 means no limit.
func NewJoint(members func() Members, process prometheus.Gatherer, maxScrapes int) *Joint {
	return &Joint{members, process, newSlots(maxScrapes)}
}

// Metrics returns a handler for the exposition, as Exporter.Metrics does.
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

// mergedFamilies contains each family of several exporters once. The zero value is empty.
type families struct {
	list []shownFamily
	at   map[string]int // in list, by name
}

// add appends samples to the families of the same name, and appends new families.
func (a *families) add(shown []shownFamily) {
	if a.at == nil {
		a.at = map[string]int{}
	}
	for _, f := range shown {
		i, known := a.at[f.name]
		if !known {
			a.at[f.name] = len(a.list)
			f.samples = append([]piece(nil), f.samples...) // the page is immutable
			a.list = append(a.list, f)
			continue
		}
		a.list[i].samples = append(a.list[i].samples, f.samples...)
	}
}
