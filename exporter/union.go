package exporter

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
)

// Union serves several Exporters as one exposition, which contains each family once with the
// samples of all Exporters. Exporters must differ in their Labels and have the same collectors.
type Union struct {
	members func() Members
	process prometheus.Gatherer
	limiter scrapeLimiter
}

// Members are the clusters of a Union.
type Members struct {
	Exporters []*Exporter
	// Unreachable are the Labels of clusters that have no Exporter because there is no
	// connection to them. Their slurm_up is 0.
	Unreachable []map[string]string
}

// NewUnion returns a Union. members is called at each scrape and determines the order of the
// samples. process has the metrics of this program, which replace those of the Exporters.
// maxScrapes is the maximum number of concurrent scrapes; 0 means no limit.
func NewUnion(members func() Members, process prometheus.Gatherer, maxScrapes int) *Union {
	return &Union{members, process, newScrapeLimiter(maxScrapes)}
}

// Metrics returns a handler for the exposition, as Exporter.Metrics does.
func (j *Union) Metrics(set Set) http.Handler {
	return j.limiter.guard(func(w http.ResponseWriter, r *http.Request) {
		want, f := parseCollectorFilter(set, r), negotiateFormat(r.Header)
		var all mergedFamilies
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
		down, err := unreachableClusters(members.Unreachable).families(f)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all.add(down)
		if want.selectsEverything() {
			own, err := gatherFamilies(j.process, constLabels{}, f)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all.add(own)
		}
		serveFamilies(w, r, f, all.list)
	})
}

// mergedFamilies contains each family of several exporters once. The zero value is empty.
type mergedFamilies struct {
	list        []renderedFamily
	indexByName map[string]int // in list, by name
}

// add appends samples to the families of the same name, and appends new families.
func (a *mergedFamilies) add(shown []renderedFamily) {
	if a.indexByName == nil {
		a.indexByName = map[string]int{}
	}
	for _, f := range shown {
		i, known := a.indexByName[f.name]
		if !known {
			a.indexByName[f.name] = len(a.list)
			f.samples = append([]fragment(nil), f.samples...) // the page is immutable
			a.list = append(a.list, f)
			continue
		}
		a.list[i].samples = append(a.list[i].samples, f.samples...)
	}
}
