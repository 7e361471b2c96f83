package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestChartsVersion(t *testing.T) {
	for _, test := range []struct {
		name, first, second, want, wantErr string
	}{
		{"all charts have it", "0.1.0", "0.1.0", "0.1.0", ""},
		{"charts differ", "0.1.0", "0.2.0", "", "has version 0.2.0, other charts have 0.1.0"},
		{"it is no version", "new", "new", "", "not a version"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for name, version := range map[string]string{"a": test.first, "b": test.second} {
				folder := filepath.Join(root, "charts", name)
				if err := os.MkdirAll(folder, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), []byte("version: "+version), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := chartsVersion(root)
			if got != test.want || (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("chartsVersion = %q, %v, want %q, %q", got, err, test.want, test.wantErr)
			}
		})
	}
}

func TestCommitTime(t *testing.T) {
	for _, test := range []struct {
		name, epoch string
		want        time.Time
	}{
		{"the commit's", "", time.Unix(20, 0).UTC()},
		{"the environment wins", "10", time.Unix(10, 0).UTC()},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := commitTime(test.epoch, "20"); err != nil || got != test.want {
				t.Errorf("commitTime = %v, %v, want %v", got, err, test.want)
			}
		})
	}
	if _, err := commitTime("soon", "20"); err == nil {
		t.Error("commitTime accepts an epoch that is not a number")
	}
}

func TestCheckTags(t *testing.T) {
	if err := checkTags("v0.1.0", []string{"v0.1.0", "video"}); err != nil {
		t.Errorf("the right tag is refused: %v", err)
	}
	if err := checkTags("v0.1.0", []string{"v0.2.0"}); err == nil || !strings.Contains(err.Error(), "v0.2.0") {
		t.Errorf("checkTags = %v, want an error that names the tag", err)
	}
}
