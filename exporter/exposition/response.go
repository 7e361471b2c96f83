package exposition

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
)

// ServeFamilies writes the families as one exposition in the format. It copies text that was rendered ahead, and
// encodes protobuf now.
func ServeFamilies(w http.ResponseWriter, r *http.Request, f Format, families []RenderedFamily) {
	w.Header().Set("Vary", "Accept, Accept-Encoding")
	if f == protobufFormat {
		serveProtobuf(w, r, families)
		return
	}
	serveText(w, r, f, families)
}

// serveText writes text or OpenMetrics, with the end marker that OpenMetrics requires.
func serveText(w http.ResponseWriter, r *http.Request, f Format, families []RenderedFamily) {
	pieces := make([]fragment, 0, 2*len(families)+1)
	for _, family := range families {
		pieces = append(append(pieces, family.head), family.samples...)
	}
	if f == openMetricsFormat {
		pieces = append(pieces, fragment{text: [textFormatCount][]byte{openMetricsFormat: []byte("# EOF\n")}})
	}
	header := w.Header()
	header.Set("Content-Type", string(f.expfmt()))
	write, size := writePlain, plainSize(f, pieces)
	if acceptsGzip(r.Header) {
		header.Set("Content-Encoding", "gzip")
		write, size = writeGzip, gzipSize(f, pieces)
	}
	header.Set("Content-Length", strconv.Itoa(size))
	if r.Method == http.MethodHead {
		return
	}
	_ = write(w, f, pieces) // it fails if the client has disconnected
}

// NegotiateFormat selects the format that the client prefers according to the Accept header: text, OpenMetrics or, if
// offered, delimited protobuf. It selects text if the header names none of them.
func NegotiateFormat(h http.Header, offersProtobuf bool) Format {
	offers := []expfmt.Format{textFormat.expfmt(), openMetricsFormat.expfmt()}
	if offersProtobuf {
		offers = append(offers, protobufFormat.expfmt())
	}
	as := expfmt.NegotiateAccept(h, offers...)
	switch as.FormatType() {
	case expfmt.TypeOpenMetrics:
		return openMetricsFormat
	case expfmt.TypeProtoDelim:
		return protobufFormat
	default:
		return textFormat
	}
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
