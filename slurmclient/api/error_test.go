package api_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient/api/v0040"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0042"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0045"
)

func TestErrorsHaveTheirNumbers(t *testing.T) {
	for _, folder := range []struct {
		name   string
		number func(t *testing.T, body []byte) *int64
	}{
		{"24.11/errors-v0.0.40", number40},
		{"24.11/errors-v0.0.42", number42},
		{"26.05/errors-v0.0.42", number42},
		{"26.05/errors-v0.0.45", number45},
	} {
		got := map[string]int64{}
		want := map[string]int64{"expired": 1007, "badkey": 1007, "no-exp": 1007, "expired-slurmdb": 7000,
			"alice-drain": 2010}
		for file := range want {
			text := readAnswer(t, filepath.Join(recorded, folder.name, file+".txt"))
			_, body, _ := bytes.Cut(text, []byte("\n")) // the first line contains status and type
			if number := folder.number(t, body); number != nil {
				got[file] = *number
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder.name, diff)
		}
	}
}

// firstError returns the first error of an answer.
func firstError[E any](t *testing.T, body []byte) E {
	t.Helper()
	var answer struct{ Errors []E }
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Errors) == 0 {
		t.Fatalf("no errors in %s", body)
	}
	return answer.Errors[0]
}

func number40(t *testing.T, body []byte) *int64 {
	return firstError[v0040.OpenapiError](t, body).ErrorNumber
}
func number42(t *testing.T, body []byte) *int64 {
	return firstError[v0042.OpenapiError](t, body).ErrorNumber
}
func number45(t *testing.T, body []byte) *int64 {
	return firstError[v0045.OpenapiError](t, body).ErrorNumber
}
