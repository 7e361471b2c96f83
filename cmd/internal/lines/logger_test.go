package lines

import (
	"bytes"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	var out bytes.Buffer
	log := New(&out, "warn", "json")
	log.Info("not shown")
	log.Slog().With("a", 1).WithGroup("g").Warn("shown", "b", "two")
	got := out.String()
	for _, want := range []string{`"msg":"shown"`, `"a":"1"`, `"g.b":"two"`, `"level":"warn"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in %s", want, got)
		}
	}
	if strings.Contains(got, "not shown") {
		t.Error("a line below the level is shown")
	}
}
