package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answerDecoder decodes one kind of answer. decode returns how many records the answer has under the
// key, or -1 if the answer is not a list.
type answerDecoder struct {
	key    string
	file   string
	decode func(b Binding, body []byte) (records int, value any, err error)
}

// listDecoder returns the decoder of a list.
func listDecoder[T any](key, file string, decode func(Binding, []byte) ([]T, error)) answerDecoder {
	return answerDecoder{key, file, func(b Binding, body []byte) (int, any, error) {
		out, err := decode(b, body)
		return len(out), out, err
	}}
}

func answerDecoders() []answerDecoder {
	return []answerDecoder{
		listDecoder("pings", "ping.json", Binding.DecodePings),
		listDecoder("partitions", "partitions.json", Binding.DecodePartitions),
		listDecoder("reservations", "reservations.json", Binding.DecodeReservations),
		listDecoder("licenses", "licenses.json", Binding.DecodeLicenses),
		listDecoder("shares", "shares.json", Binding.DecodeShares),
		listDecoder("associations", "slurmdb_associations*.json", Binding.DecodeAssociations),
		listDecoder("accounts", "slurmdb_accounts.json", Binding.DecodeAccounts),
		listDecoder("users", "slurmdb_users.json", Binding.DecodeUsers),
		listDecoder("qos", "slurmdb_qos*.json", Binding.DecodeQOS),
		{"", "diag.json", func(b Binding, body []byte) (int, any, error) {
			v, err := b.DecodeStats(body)
			return -1, v,
				err
		}},
		{"", "conf.json", func(b Binding, body []byte) (int, any, error) {
			v, err := b.DecodeConf(body)
			return -1, v,
				err
		}},
		{"", "job_submit.json", func(b Binding, body []byte) (
			int, any, error) {
			v, err := b.DecodeSubmitted(body)
			return -1, v, err
		}},
	}
}

// FuzzSmallAnswers passes any bytes to the decoders of small answers, in every version. An error comes
// without a value, a list has as many records as the answer, and decoding is deterministic.
func FuzzSmallAnswers(f *testing.F) {
	for kind, d := range answerDecoders() {
		for name, raw := range readRecordings(f, "*/*/"+d.file) {
			f.Add(uint8(kind), uint8(versionIndex(filepath.Base(filepath.Dir(name)))), raw)
		}
		f.Add(uint8(kind), uint8(0), []byte(`{"`+d.key+`": [null, {}]}`))
	}
	f.Add(uint8(8), uint8(0),
		[]byte(`{"qos": [{"limits": {"max": {"tres": {"total": [{"type": "cpu", "count": -1}, {"type": "cpu", "count": 9223372036854775807}]}}}}]}`))
	f.Fuzz(func(t *testing.T, kind, version uint8, body []byte) {
		d := answerDecoders()[int(kind)%len(answerDecoders())]
		b, err := NewBinding(Versions()[int(version)%len(versions)], "http://localhost", nil)
		if err != nil {
			t.Fatal(err)
		}
		records, value, err := d.decode(b, body)
		if err != nil {
			if records > 0 || !reflect.ValueOf(value).IsZero() {
				t.Errorf("%s: %v besides the error %v", d.file, value, err)
			}
			return
		}
		if !json.Valid(withoutInfinity(body)) {
			t.Fatalf("%s: malformed JSON was read as %v", d.file, value)
		}
		if _, again, err := d.decode(b, body); err != nil || cmp.Diff(value, again) != "" {
			t.Errorf("%s: decoding again returns another value: %v %s", d.file, err, cmp.Diff(value, again))
		}
		checkRecords(t, d, b, body, records)
	})
}

// checkRecords compares the number of records with what encoding/json finds under the key. It ignores
// answers in which the key occurs twice or in another spelling.
func checkRecords(t *testing.T, d answerDecoder, b Binding, body []byte, records int) {
	var keys map[string]json.RawMessage
	var list []json.RawMessage
	if d.key == "" || json.Unmarshal(withoutInfinity(body), &keys) != nil || len(keys) != 1 ||
		bytes.Contains(body, []byte(`\u`)) ||
		strings.Count(strings.ToLower(string(body)), `"`+d.key+`"`) != 1 {
		return
	}
	raw := keys[d.key]
	if d.key == "shares" {
		var inner struct{ Shares json.RawMessage }
		if json.Unmarshal(raw, &inner) != nil {
			return
		}
		raw = inner.Shares
	}
	if json.Unmarshal(raw, &list) == nil && len(list) != records {
		t.Errorf("%s of %s has %d records, encoding/json has %d", d.file, b.Version(), records, len(list))
	}
}

// versionIndex returns the index of a version in Versions.
func versionIndex(name string) int {
	for i, v := range Versions() {
		if v == name {
			return i
		}
	}
	return 0
}

// FuzzOutlines reads the metadata of answers. It must find every error of an answer.
func FuzzOutlines(f *testing.F) {
	for _, raw := range readRecordings(f, "*/*/job_delete_unknown.json") {
		f.Add(raw)
	}
	for _, raw := range readRecordings(f, "*/*/slurmdb_ping.json") {
		f.Add(raw)
	}
	for _, text := range []string{`{"errors": {"error_number": 1007}}`, `{"errors": [{"error_number": 1e30}]}`,
		`{"status": [{"error": {"code": -1}}]}`, "{}", "[]", `{"meta": {"slurm": 5}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, ok := ReadOutline(body)
		var doc struct{ Errors []json.RawMessage }
		if !ok || json.Unmarshal(body, &doc) != nil || bytes.Contains(body, []byte(`\u`)) ||
			!bytes.Contains(body, []byte(`"errors"`)) {
			return
		}
		if strings.Count(strings.ToLower(string(body)), `"errors"`) == 1 && len(out.Errors) < len(doc.Errors) {
			t.Errorf("found %d errors of %d: %s", len(out.Errors), len(doc.Errors), body)
		}
	})
}

// FuzzTruncatedRecords truncates a list of nodes. The result is an error unless only white space is
// missing.
func FuzzTruncatedRecords(f *testing.F) {
	for _, raw := range readRecordings(f, "*/*/nodes.json") {
		f.Add(raw, uint(len(raw)/2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, at uint) {
		whole, _, err := decodeNodes(bytes.NewReader(raw))
		if err != nil || !json.Valid(raw) {
			return
		}
		rest := raw[:at%uint(len(raw)+1)]
		got, _, err := decodeNodes(bytes.NewReader(rest))
		if err == nil && !json.Valid(rest) {
			t.Errorf("read %d nodes of %d, truncated after %d bytes", len(got), len(whole), len(rest))
		}
		var syntax *SyntaxError
		if err != nil && !errors.As(err, &syntax) && !errors.Is(err, errTruncated) {
			t.Errorf("the error %v has an unexpected type", err)
		}
	})
}
