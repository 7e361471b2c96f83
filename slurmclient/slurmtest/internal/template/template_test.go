package template

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const recordedRecord = `{
  "name": "a\/b",
  "empty": {},
  "none": [],
  "share": 2.3283064376228985e-10,
  "time": {
    "set": true,
    "infinite": false,
    "number": 12
  },
  "flags": [
    "A",
    "B"
  ],
  "deep": [
    {
      "x": null,
      "y": true
    }
  ]
}`

type record struct {
	name  string
	time  slurm.Number
	share slurm.Float
	flags string
	words []string
	flag  bool
}

func mustCompile(t *testing.T, style Style, depth int, fields Fields[record]) *Template[record] {
	t.Helper()
	p, err := Compile([]byte(recordedRecord), style, depth, fields)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRecordWithoutFieldsIsWrittenUnchanged(t *testing.T) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(recordedRecord)); err != nil {
		t.Fatal(err)
	}
	for style, want := range map[Style]string{Pretty: recordedRecord, Compact: compact.String()} {
		w := NewWriter(style)
		mustCompile(t, style, 0, nil).Append(w, record{})
		if diff := cmp.Diff(want, string(w.Bytes())); diff != "" {
			t.Errorf("style %d (-want +got):\n%s", style, diff)
		}
	}
}

func TestFieldsReplaceRecordedValues(t *testing.T) {
	fields := Fields[record]{
		"name":     Text(func(r record) string { return r.name }),
		"time":     Number(func(r record) slurm.Number { return r.time }),
		"share":    Float(func(r record) slurm.Float { return r.share }),
		"flags":    Text(func(r record) string { return r.flags }),
		"none":     Texts(func(r record) []string { return r.words }),
		"deep.*.y": Flag(func(r record) bool { return r.flag }),
		"absent":   Flag(func(r record) bool { return r.flag }),
	}
	w := NewWriter(Pretty)
	w.Object()
	w.Key("records")
	w.Array()
	p := mustCompile(t, Pretty, 2, fields)
	for _, r := range []record{
		{name: "\"\\/\n\r\t\b\f\x01é", time: slurm.Infinite(), share: slurm.Flt(1), flags: "X,Y"},
		{time: slurm.Num(7), share: slurm.InfiniteFloat(), words: []string{"p", "q"}, flag: true},
	} {
		w.Item()
		p.Append(w, r)
	}
	w.EndArray()
	w.Key("after")
	w.Null()
	w.EndObject()
	const want = `{
  "records": [
    {
      "name": "\"\\\/\n\r\t\b\f\u0001é",
      "empty": {},
      "none": [],
      "share": 1.0,
      "time": {
        "set": false,
        "infinite": true,
        "number": 0
      },
      "flags": [
        "X",
        "Y"
      ],
      "deep": [
        {
          "x": null,
          "y": false
        }
      ]
    },
    {
      "name": "",
      "empty": {},
      "none": [
        "p",
        "q"
      ],
      "share": Infinity,
      "time": {
        "set": true,
        "infinite": false,
        "number": 7
      },
      "flags": [],
      "deep": [
        {
          "x": null,
          "y": true
        }
      ]
    }
  ],
  "after": null
}`
	if diff := cmp.Diff(want, string(w.Bytes())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFieldOfAnotherTypeIsRefused(t *testing.T) {
	get := func(record) bool { return true }
	_, err := Compile([]byte(recordedRecord), Pretty, 0, Fields[record]{"name": Flag(get)})
	if err == nil {
		t.Error("Compile accepted a boolean for a string")
	}
}

func TestFloatsAreWrittenAsJSONCDoes(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0.0", 1: "1.0", 0.5: "0.5", 2.3283064376228985e-10: "2.3283064376228985e-10",
		1.8446744073709552e19: "1.8446744073709552e+19", math.Inf(1): "Infinity", 0.25: "0.25",
	} {
		w := NewWriter(Pretty)
		w.Float(f)
		if got := string(w.Bytes()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
