package exposition

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// serveProtobuf writes the families as delimited protobuf messages, compressed if the client accepts gzip. It answers
// 500 if a family cannot be encoded, so a client never mistakes a part of an exposition for all of it.
//
// Unlike text, protobuf is encoded at each scrape. It takes the memory of the largest family and of the body, which is
// compressed if the client accepts it.
func serveProtobuf(w http.ResponseWriter, r *http.Request, families []RenderedFamily) {
	encode, zipped := encodeProtobuf, acceptsGzip(r.Header)
	if zipped {
		encode = encodeGzipProtobuf
	}
	var body bytes.Buffer
	if err := encode(&body, families); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", string(protobufFormat.expfmt()))
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	if zipped {
		header.Set("Content-Encoding", "gzip")
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body.Bytes()) // it fails if the client has disconnected
}

// encodeGzipProtobuf writes what encodeProtobuf writes as one gzip member.
func encodeGzipProtobuf(w io.Writer, families []RenderedFamily) error {
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := encodeProtobuf(zip, families); err != nil {
		return err
	}
	return zip.Close()
}

// encodeProtobuf writes the families, one message each. It omits families without samples, as
// client_golang does and scrapers of protobuf expect.
func encodeProtobuf(w io.Writer, families []RenderedFamily) error {
	e, parser := newEncoder(w, protobufFormat), expfmt.NewTextParser(model.LegacyValidation)
	for _, f := range families {
		message, err := f.buildMessage(&parser)
		if err != nil {
			return fmt.Errorf("encoding %s as protobuf: %w", f.name, err)
		}
		if len(message.GetMetric()) == 0 {
			continue
		}
		if err := e.Encode(message); err != nil {
			return fmt.Errorf("encoding %s as protobuf: %w", f.name, err)
		}
	}
	return nil
}

// buildMessage returns the family as a protobuf message, which shares the samples with the fragments. It
// is empty if the family has no samples.
func (f RenderedFamily) buildMessage(parser *expfmt.TextParser) (*dto.MetricFamily, error) {
	out := &dto.MetricFamily{}
	for _, samples := range f.samples {
		part := samples.gathered
		if part == nil {
			var err error
			if part, err = f.parseSamples(parser, samples); err != nil {
				return nil, err
			}
		}
		if len(part.GetMetric()) == 0 {
			continue
		}
		out.Name, out.Help, out.Type, out.Unit = part.Name, part.Help, part.Type, part.Unit
		out.Metric = append(out.Metric, part.GetMetric()...)
	}
	return out, nil
}

// parseSamples reads samples of a table from their text, which has the exact values.
func (f RenderedFamily) parseSamples(parser *expfmt.TextParser, samples fragment) (*dto.MetricFamily, error) {
	families, err := parser.TextToMetricFamilies(io.MultiReader(
		bytes.NewReader(f.head.text[textFormat]), bytes.NewReader(f.head.body),
		bytes.NewReader(samples.text[textFormat]), bytes.NewReader(samples.body)))
	if err != nil {
		return nil, err
	}
	return families[f.name], nil // nil without samples
}
