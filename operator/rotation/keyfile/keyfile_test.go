package keyfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
)

func TestEncodedKeysAreReadAgain(t *testing.T) {
	set, err := plan.ParseKeySet("first,k2*")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]byte{"first": {0xff, 0xfe, 0, 1}, "k2": []byte("two")}
	text, err := keyfile.Encode(set, keys)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"keys":[{"alg":"HS256","kty":"oct","kid":"first","k":"__4AAQ"},` +
		`{"alg":"HS256","kty":"oct","kid":"k2","k":"dHdv","use":"default"}]}`
	if string(text) != want {
		t.Errorf("slurm.jwks is %s", text)
	}
	got, err := keyfile.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keys, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsContainNoKey(t *testing.T) {
	set, err := plan.ParseKeySet("first,k2*")
	if err != nil {
		t.Fatal(err)
	}
	_, noContent := keyfile.Encode(set, map[string][]byte{"first": []byte("secret")})
	_, plainSet := keyfile.Encode(plan.KeySet{}, nil)
	_, noJSON := keyfile.Decode([]byte("secret"))
	_, noKey := keyfile.Decode([]byte(`{"keys":[{"kid":"a","k":"secret!"}]}`))
	for name, err := range map[string]error{"a key without content": noContent, "a slurm.key": plainSet,
		"no JSON": noJSON, "a key that is not in base64": noKey} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("of %s the error is %v", name, err)
		}
	}
}
