package exporter

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Metrics serves the exposition: text or OpenMetrics as the request prefers, with
// gzip where it is accepted. Parameters collect[] and exclude[] choose collectors
// by name. A scrape touches no network and waits for nothing.
//
// set Native shows all that is switched on; another set shows that one alone,
// with the names that clash with native ones too.
func (e *Exporter) Metrics(set Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.slots != nil {
			select {
			case e.slots <- struct{}{}:
				defer func() { <-e.slots }()
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many scrapes at a time (see --web.max-requests)", http.StatusServiceUnavailable)
				return
			}
		}
		want, whole, err := e.filter(set, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		e.serve(w, r, want, whole)
	})
}

// filter reads the parameters. whole is true when there are none, so that the
// program's own metrics are shown as well.
func (e *Exporter) filter(set Set, r *http.Request) (want func(section) bool, whole bool, err error) {
	query := r.URL.Query()
	collect, exclude := query["collect[]"], query["exclude[]"]
	for _, name := range slices.Concat(collect, exclude) {
		if !slices.ContainsFunc(e.collectors, func(c collector) bool { return c.name == name }) {
			return nil, false, fmt.Errorf("there is no collector %q switched on, only %s", name, strings.Join(e.names(), ", "))
		}
	}
	if len(collect) > 0 && len(exclude) > 0 {
		return nil, false, fmt.Errorf("collect[] and exclude[] can not be used together")
	}
	want = func(s section) bool {
		if set != Native && s.set != set {
			return false
		}
		if len(collect) > 0 {
			return slices.Contains(collect, s.name)
		}
		return !slices.Contains(exclude, s.name)
	}
	return want, set == Native && len(collect)+len(exclude) == 0, nil
}

func (e *Exporter) names() []string {
	var out []string
	for _, c := range e.collectors {
		out = append(out, c.name)
	}
	return out
}

func (e *Exporter) serve(w http.ResponseWriter, r *http.Request, want func(section) bool, whole bool) {
	f, contentType := negotiate(r.Header)
	var pieces []piece
	if page := e.page.Load(); page != nil {
		pieces = page.choose(want)
	}
	registries := prometheus.Gatherers{e.own}
	if whole {
		registries = append(registries, e.process)
	}
	last, err := gather(registries, f)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	pieces = append(pieces, last)
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Vary", "Accept, Accept-Encoding")
	write, size := writePlain, sizePlain(f, pieces)
	if acceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
		write, size = writeGzip, sizeGzip(f, pieces)
	}
	header.Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	_ = write(w, f, pieces) // a client that has gone is told nothing
}

// negotiate picks the format; others than text and OpenMetrics are not offered.
func negotiate(h http.Header) (format, string) {
	as := expfmt.NegotiateAccept(h, expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeOpenMetrics))
	if as.FormatType() == expfmt.TypeOpenMetrics {
		return openFormat, string(expfmt.NewFormat(expfmt.TypeOpenMetrics))
	}
	return textFormat, string(expfmt.NewFormat(expfmt.TypeTextPlain))
}

// gather renders metrics of the moment, and ends the exposition where the format
// has an end.
func gather(from prometheus.Gatherer, f format) (piece, error) {
	families, err := from.Gather()
	if err != nil {
		return piece{}, fmt.Errorf("gathering the exporter's own metrics: %w", err)
	}
	as := expfmt.NewFormat(expfmt.TypeTextPlain)
	if f == openFormat {
		as = expfmt.NewFormat(expfmt.TypeOpenMetrics)
	}
	var buf bytes.Buffer
	for _, family := range families {
		buf.Write(encode(family, as))
	}
	if f == openFormat {
		buf.WriteString("# EOF\n")
	}
	var out piece
	out.head[f] = buf.Bytes()
	return out, nil
}

// acceptsGzip reads Accept-Encoding (RFC 9110, 12.5.3).
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

// Healthy answers that the process serves requests.
func Healthy() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "healthy")
	})
}

// ReadyHandler answers 200 once there is something to scrape, before that 503
// with what is missing.
func (e *Exporter) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := e.Ready(); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ready")
	})
}
