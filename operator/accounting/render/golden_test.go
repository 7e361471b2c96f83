package render

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

var updateGoldens = flag.Bool("update", false, "rewrite the files in testdata")

// loadInput returns the input of an Accounting in testdata.
func loadInput(t *testing.T, name string) Input {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Accounting: new(v1beta1.Accounting), Image: "registry.example.com/default:1",
		AgentImage: "registry.example.com/agent:1"}
	if err := yaml.UnmarshalStrict(text, in.Accounting); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestObjectsOfAnAccounting(t *testing.T) {
	for _, name := range []string{"minimal", "everything"} {
		t.Run(name, func(t *testing.T) {
			objects, err := Objects(loadInput(t, name))
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for _, o := range objects {
				text, err := yaml.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				got = append(append(got, "---\n"...), text...)
			}
			path := filepath.Join("testdata", name+".golden.yaml")
			if *updateGoldens {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, got) {
				t.Errorf("%s differs (-want +got), -update rewrites it:\n%s", path, cmp.Diff(string(want), string(got)))
			}
		})
	}
}

func TestObjectsRefuse(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.AccountingSpec)
		want   string
	}{
		{"a malformed pod", func(s *v1beta1.AccountingSpec) { s.Template.Spec.Raw = []byte("[]") }, "spec.template.spec"},
		{"a malformed container", func(s *v1beta1.AccountingSpec) { s.Slurmdbd.Raw = []byte(`{"args":1}`) }, "spec.slurmdbd"},
		{"a malformed Service", func(s *v1beta1.AccountingSpec) { s.Service.Spec.Raw = []byte(`{"ports":1}`) },
			"spec.service.spec"},
		{"another host", func(s *v1beta1.AccountingSpec) { s.ExtraConf = "DbdHost=other" }, "DbdHost"},
		{"a password", func(s *v1beta1.AccountingSpec) { s.ExtraConf = "StoragePass=x" }, "StoragePass"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := loadInput(t, "minimal")
			tc.change(&in.Accounting.Spec)
			if objects, err := Objects(in); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, not %q; %d objects", err, tc.want, len(objects))
			}
		})
	}
}
