package exporter

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slurmtide/slurmtide/exporter/exposition"
)

// Metrics returns a handler for the exposition: as text, OpenMetrics or, with Config.NativeHistograms, delimited
// protobuf, according to the Accept header. It compresses with gzip if the client accepts it. Only protobuf contains
// native histograms. The parameters collect[] and exclude[] select collectors by name.
//
// A scrape makes no request. It blocks only while it renders a snapshot that was not rendered ahead, such as at the
// first scrape.
//
// The set Native shows all enabled collectors. Another set shows only its own names, including those that are also
// names of native metrics.
func (e *Exporter) Metrics(set exposition.Set) http.Handler {
	return e.limiter.Guard(func(w http.ResponseWriter, r *http.Request) {
		want := exposition.ParseCollectorFilter(set, r)
		if err := want.Check(e.collectors); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f := exposition.NegotiateFormat(r.Header, e.cfg.NativeHistograms)
		families, err := e.families(want, f, e.processRegistry)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		exposition.ServeFamilies(w, r, f, families)
	})
}

// families returns the families that the request selects and the current metrics of the
// exporter itself. If the request selects everything, the families of process are included.
func (e *Exporter) families(want exposition.CollectorFilter, f exposition.Format, process ...prometheus.Gatherer) (
	[]exposition.RenderedFamily, error) {
	var out []exposition.RenderedFamily
	if page := e.pages.Current(); page != nil {
		out = page.SelectFamilies(want.Selects)
		e.pages.RecordScrape()
	}
	moment := prometheus.Gatherers{e.exporterRegistry}
	if want.SelectsEverything() {
		moment = append(append(moment, e.clientRegistry), process...)
	}
	last, err := exposition.GatherFamilies(moment, e.labels, f)
	return append(out, last...), err
}

// Healthy returns a handler that answers 200 as long as the process serves requests.
func Healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "healthy")
	})
}

// ReadyHandler returns a handler that answers 200 once values can be scraped, and before that 503 with the reason.
func (e *Exporter) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
}
