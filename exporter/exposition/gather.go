package exposition

import (
	"bytes"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// GatherFamilies renders metrics of client_golang and adds the labels to each sample. Without
// formats it renders all text formats. Protobuf needs no rendering: every family can be served in it.
func GatherFamilies(from prometheus.Gatherer, labels ConstLabels, in ...Format) ([]RenderedFamily, error) {
	families, err := from.Gather()
	if err != nil {
		return nil, fmt.Errorf("gathering the exporter's own metrics: %w", err)
	}
	if len(in) == 0 {
		in = []Format{textFormat, openMetricsFormat}
	}
	var out []RenderedFamily
	for _, f := range families {
		labels.addTo(f)
		shown := RenderedFamily{name: f.GetName(), samples: []fragment{{gathered: f}}}
		for _, as := range in {
			if as == protobufFormat {
				continue
			}
			// Samples differ between the formats in the names of counters and the notation of numbers.
			shown.head.text[as], shown.samples[0].text[as] = splitHead(encodeFamily(f, as))
		}
		out = append(out, shown)
	}
	return out, nil
}

// encodeFamily renders a family.
func encodeFamily(f *dto.MetricFamily, as Format) []byte {
	var buf bytes.Buffer
	_ = newEncoder(&buf, as).Encode(f) // writing to a bytes.Buffer does not fail
	return buf.Bytes()
}

// newEncoder returns an encoder in whose output characters that legacy names do not allow become
// underscores.
func newEncoder(w io.Writer, as Format) expfmt.Encoder {
	return expfmt.NewEncoder(w, as.expfmt().WithEscapingScheme(model.UnderscoreEscaping))
}

// splitHead separates the HELP and TYPE lines of a family from its samples.
func splitHead(text []byte) (head, samples []byte) {
	end := 0
	for line := range bytes.Lines(text) {
		if line[0] != '#' {
			break
		}
		end += len(line)
	}
	return text[:end], text[end:]
}

func (f Format) expfmt() expfmt.Format {
	switch f {
	case openMetricsFormat:
		return expfmt.NewFormat(expfmt.TypeOpenMetrics)
	case protobufFormat:
		return expfmt.NewFormat(expfmt.TypeProtoDelim)
	default:
		return expfmt.NewFormat(expfmt.TypeTextPlain)
	}
}
