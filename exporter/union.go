package exporter

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
)

// Union serves several Exporters as one exposition, which contains each family once with the
// samples of all Exporters. Exporters must differ in their Labels and have the same collectors.
type Union struct {
	members func() Members
	process prometheus.Gatherer
	limiter exposition.ScrapeLimiter
	// nativeHistograms is as in Config.
	nativeHistograms bool
}

// Members are the clusters of a Union.
type Members struct {
	Exporters []*Exporter
	// Unreachable are the Labels of clusters that have no Exporter because there is no
	// connection to them. Their slurm_up is 0.
	Unreachable []map[string]string
}

// NewUnion returns a Union. members is called at each scrape and determines the order of the samples. process has the
// metrics of this program, which replace the process metrics of the Exporters. MaxScrapes and NativeHistograms of cfg
// apply to all of them together.
func NewUnion(members func() Members, process prometheus.Gatherer, cfg Config) *Union {
	return &Union{members, process, exposition.NewScrapeLimiter(cfg.MaxScrapes), cfg.NativeHistograms}
}

// Metrics returns a handler for the exposition, as Exporter.Metrics does.
func (j *Union) Metrics(set exposition.Set) http.Handler {
	return j.limiter.Guard(func(w http.ResponseWriter, r *http.Request) {
		want, f := exposition.ParseCollectorFilter(set, r), exposition.NegotiateFormat(r.Header, j.nativeHistograms)
		var all exposition.MergedFamilies
		members := j.members()
		for _, e := range members.Exporters {
			if err := want.Check(e.collectors); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			shown, err := e.families(want, f)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all.Add(shown)
		}
		down, err := unreachableClusters(members.Unreachable).families(f)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all.Add(down)
		if want.SelectsEverything() {
			own, err := exposition.GatherFamilies(j.process, exposition.ConstLabels{}, f)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			all.Add(own)
		}
		exposition.ServeFamilies(w, r, f, all.List)
	})
}
