package exporter

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Metrics returns a handler for the exposition, as text or OpenMetrics according to the Accept
// header, and compressed with gzip if the client accepts it. The parameters collect[] and
// exclude[] select collectors by name. A scrape makes no request. It blocks only while a
// snapshot that was not rendered ahead is rendered, such as at the first scrape.
//
// The set Native shows all enabled collectors. Another set shows only its own names, including
// those that are also names of native metrics.
func (e *Exporter) Metrics(set Set) http.Handler {
	return e.limiter.guard(func(w http.ResponseWriter, r *http.Request) {
		want := parseCollectorFilter(set, r)
		if err := want.check(e.collectors); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f := negotiateFormat(r.Header)
		families, err := e.families(want, f, e.processRegistry)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		serveFamilies(w, r, f, families)
	})
}

// families returns the families that the request selects and the current metrics of the
// exporter itself. If the request selects everything, the families of process are included.
func (e *Exporter) families(want collectorFilter, f format, process ...prometheus.Gatherer) ([]renderedFamily, error) {
	var out []renderedFamily
	if page := e.pages.current(); page != nil {
		out = page.selectFamilies(want.selects)
		e.pages.recordScrape()
	}
	moment := prometheus.Gatherers{e.exporterRegistry}
	if want.selectsEverything() {
		moment = append(append(moment, e.clientRegistry), process...)
	}
	last, err := gatherFamilies(moment, e.labels, f)
	return append(out, last...), err
}

// serveFamilies writes the families as one exposition, with the end marker that OpenMetrics
// requires.
func serveFamilies(w http.ResponseWriter, r *http.Request, f format, families []renderedFamily) {
	pieces := make([]fragment, 0, 2*len(families)+1)
	for _, family := range families {
		pieces = append(append(pieces, family.head), family.samples...)
	}
	if f == openMetricsFormat {
		pieces = append(pieces, fragment{text: [formatCount][]byte{openMetricsFormat: []byte("# EOF\n")}})
	}
	header := w.Header()
	header.Set("Content-Type", string(f.expfmt()))
	header.Set("Vary", "Accept, Accept-Encoding")
	write, size := writePlain, plainSize(f, pieces)
	if acceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
		write, size = writeGzip, gzipSize(f, pieces)
	}
	header.Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	_ = write(w, f, pieces) // an error means that the client has disconnected
}

// scrapeLimiter bounds the number of concurrent scrapes; nil means no limit.
type scrapeLimiter chan struct{}

func newScrapeLimiter(most int) scrapeLimiter {
	if most <= 0 {
		return nil
	}
	return make(scrapeLimiter, most)
}

func (s scrapeLimiter) guard(serve http.HandlerFunc) http.Handler {
	if s == nil {
		return serve
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case s <- struct{}{}:
			defer func() { <-s }()
			serve(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d scrapes are already being served, which is the maximum", cap(s)),
				http.StatusServiceUnavailable)
		}
	})
}

// negotiateFormat selects text or OpenMetrics by the Accept header.
func negotiateFormat(h http.Header) format {
	as := expfmt.NegotiateAccept(h, expfmt.NewFormat(expfmt.TypeTextPlain),
		expfmt.NewFormat(expfmt.TypeOpenMetrics))
	if as.FormatType() == expfmt.TypeOpenMetrics {
		return openMetricsFormat
	}
	return textFormat
}

// acceptsGzip reports whether Accept-Encoding allows gzip (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	for item := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		name, params, _ := strings.Cut(item, ";")
		name = strings.TrimSpace(name)
		if name != "gzip" && name != "*" {
			continue
		}
		q, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q=")
		if !ok {
			return true
		}
		weight, err := strconv.ParseFloat(q, 64)
		return err == nil && weight > 0
	}
	return false
}

// Healthy returns a handler that answers 200 as long as the process serves requests.
func Healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "healthy")
	})
}

// ReadyHandler returns a handler that answers 200 once there is something to scrape, and before
// that 503 with the reason.
func (e *Exporter) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
}
