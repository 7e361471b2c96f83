package exporter

import (
	"bytes"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// gather renders metrics of client_golang in the formats, in all of them when none
// is named, each sample with the labels.
func gather(from prometheus.Gatherer, labels constLabels, in ...format) ([]shownFamily, error) {
	families, err := from.Gather()
	if err != nil {
		return nil, fmt.Errorf("gathering the exporter's own metrics: %w", err)
	}
	if len(in) == 0 {
		in = []format{textFormat, openFormat}
	}
	var out []shownFamily
	for _, f := range families {
		labels.put(f)
		shown := shownFamily{name: f.GetName(), samples: make([]piece, 1)}
		for _, as := range in {
			// The samples differ between the formats too, in the names of counters and in
			// how numbers are written.
			shown.head.text[as], shown.samples[0].text[as] = splitHead(encode(f, as))
		}
		out = append(out, shown)
	}
	return out, nil
}

// encode renders a family with underscores for what legacy names may not hold.
func encode(f *dto.MetricFamily, as format) []byte {
	var buf bytes.Buffer
	e := expfmt.NewEncoder(&buf, as.expfmt().WithEscapingScheme(model.UnderscoreEscaping))
	_ = e.Encode(f) // a bytes.Buffer takes everything
	return buf.Bytes()
}

// splitHead parts the comments that a family begins with from its samples.
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

func (f format) expfmt() expfmt.Format {
	if f == openFormat {
		return expfmt.NewFormat(expfmt.TypeOpenMetrics)
	}
	return expfmt.NewFormat(expfmt.TypeTextPlain)
}
