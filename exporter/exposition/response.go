package exposition

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// ServeFamilies writes the families as one exposition, with the end marker that OpenMetrics
// requires.
func ServeFamilies(w http.ResponseWriter, r *http.Request, f Format, families []RenderedFamily) {
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

// NegotiateFormat selects text or OpenMetrics by the Accept header.
func NegotiateFormat(h http.Header) Format {
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
