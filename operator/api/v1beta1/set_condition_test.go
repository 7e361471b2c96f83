package v1beta1

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSetConditionCutsMessages(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name, message string
		want          int
	}{
		{"a short one", "short", 5},
		{"as long as possible", strings.Repeat("x", maxMessage), maxMessage},
		{"too long", strings.Repeat("x", maxMessage+1), maxMessage},
		{"too long, of other characters", strings.Repeat("日", 20000), maxMessage},
	} {
		var conditions []metav1.Condition
		set := func() bool {
			return SetCondition(&conditions, ConditionReady, metav1.Condition{Status: metav1.ConditionFalse, Reason: "X",
				Message: tc.message}, 3, now)
		}
		if !set() || set() {
			t.Errorf("%s: it is not the same the second time", tc.name)
		}
		got := conditions[0].Message
		if len(got) != tc.want || !utf8.ValidString(got) || strings.HasSuffix(got, " …") != (got != tc.message) {
			t.Errorf("%s: it has %d bytes, valid: %t, and ends with %q", tc.name, len(got), utf8.ValidString(got),
				got[max(0, len(got)-8):])
		}
	}
}

// TestAllConditionsAreSetWithSetCondition: it alone cuts messages.
func TestAllConditionsAreSetWithSetCondition(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			d.Name() == "set_condition.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "meta.SetStatusCondition(") {
			t.Errorf("%s sets a condition without SetCondition", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
