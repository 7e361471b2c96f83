package main

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/exporter"
)

// metrics serves what the exporters of all clusters show, each sample with the
// label of its cluster, a family in one piece.
func (e *exposition) metrics(set exporter.Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.slots != nil {
			select {
			case e.slots <- struct{}{}:
				defer func() { <-e.slots }()
			default:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many scrapes at a time (see --metrics.max-requests)", http.StatusServiceUnavailable)
				return
			}
		}
		open := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeTextPlain), expfmt.NewFormat(expfmt.TypeOpenMetrics)).FormatType() == expfmt.TypeOpenMetrics
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		if open {
			format = expfmt.NewFormat(expfmt.TypeOpenMetrics)
		}
		page := joint{index: map[string]int{}}
		for _, c := range e.clusters() {
			got := e.ask(c.exporter, set, r, format)
			if got.status != http.StatusOK {
				http.Error(w, strings.TrimSpace(got.body.String()), got.status)
				return
			}
			page.add(c.label, got.body.Bytes())
		}
		// Without filters the program's own metrics are shown as well.
		if set == exporter.Native && r.URL.RawQuery == "" {
			own, err := e.own(format)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			page.tail = own
		}
		if open {
			page.tail = append(page.tail, "# EOF\n"...)
		}
		page.serve(w, r, format)
	})
}

// ask has one exporter serve the request in the format, uncompressed.
func (e *exposition) ask(exp *exporter.Exporter, set exporter.Set, r *http.Request, format expfmt.Format) *recorder {
	inner := r.Clone(r.Context())
	inner.Method = http.MethodGet
	inner.Header = http.Header{"Accept": {string(format)}}
	got := &recorder{header: http.Header{}, status: http.StatusOK}
	exp.Metrics(set).ServeHTTP(got, inner)
	return got
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

// own renders the metrics of this program.
func (e *exposition) own(format expfmt.Format) ([]byte, error) {
	families, err := e.process.Gather()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := expfmt.NewEncoder(&out, format.WithEscapingScheme(model.UnderscoreEscaping))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// joint is an exposition made of several.
type joint struct {
	families []joinedFamily
	index    map[string]int
	tail     []byte
}

type joinedFamily struct{ head, samples []byte }

// ofProcess are the beginnings of the names of families that are the same for
// every cluster: they are about this program.
func ofProcess(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || name == "slurm_exporter_build_info"
}

// add takes over the exposition of one cluster: every sample gets the label.
func (j *joint) add(cluster string, text []byte) {
	label := `cluster="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(cluster) + `"`
	at, skip, first := -1, true, false
	for line := range bytes.Lines(text) {
		if name, ok := described(line); ok {
			if skip = ofProcess(name); skip {
				continue
			}
			known, seen := j.index[name]
			if !seen {
				known = len(j.families)
				j.index[name] = known
				j.families = append(j.families, joinedFamily{})
			}
			if known != at {
				at, first = known, !seen
			}
			if first {
				j.families[at].head = append(j.families[at].head, line...)
			}
			continue
		}
		if !skip && line[0] != '#' && at >= 0 {
			j.families[at].samples = appendLabelled(j.families[at].samples, line, label)
		}
	}
}

// described returns the family that a line of comment is about.
func described(line []byte) (string, bool) {
	if !bytes.HasPrefix(line, []byte("# ")) {
		return "", false
	}
	kind, rest, _ := strings.Cut(string(line[2:]), " ")
	name, _, _ := strings.Cut(rest, " ")
	return name, kind == "HELP" || kind == "TYPE" || kind == "UNIT"
}

// appendLabelled adds the label to a sample. A label of that name which it has
// already is Slurm's own name of the cluster.
func appendLabelled(buf, line []byte, label string) []byte {
	end := bytes.IndexAny(line, "{ ")
	if end < 0 {
		return buf
	}
	buf = append(buf, line[:end]...)
	buf = append(append(buf, '{'), label...)
	if line[end] == ' ' {
		return append(append(buf, '}'), line[end:]...)
	}
	rest := line[end+1:]
	if rest[0] != '}' {
		buf = append(buf, ',')
	}
	const mine = `cluster="`
	if i := bytes.Index(rest, []byte(mine)); i == 0 || i > 0 && rest[i-1] == ',' {
		buf = append(append(buf, rest[:i]...), "slurm_"...)
		rest = rest[i:]
	}
	return append(buf, rest...)
}

func (j *joint) serve(w http.ResponseWriter, r *http.Request, format expfmt.Format) {
	w.Header().Set("Content-Type", string(format))
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	var to interface{ Write([]byte) (int, error) } = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		// BestSpeed is a level that gzip knows.
		zip, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
		defer zip.Close()
		to = zip
	}
	// A client that has gone is told nothing.
	for _, f := range j.families {
		_, _ = to.Write(f.head)
		_, _ = to.Write(f.samples)
	}
	_, _ = to.Write(j.tail)
}
