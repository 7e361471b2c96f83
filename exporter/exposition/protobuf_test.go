package exposition

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAnExpositionThatCannotBeEncodedIsAnError(t *testing.T) {
	head := fragment{text: [textFormatCount][]byte{[]byte("# HELP a A.\n# TYPE a gauge\n")}}
	families := []RenderedFamily{{name: "a", head: head, samples: []fragment{{body: []byte("a 1\n")}, {body: []byte("a{ 2\n")}}}}
	for _, encoding := range []string{"", "gzip"} {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		ServeFamilies(w, r, protobufFormat, families)
		if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("Accept-Encoding %q: HTTP %d, Content-Encoding %q: %s", encoding, w.Code,
				w.Header().Get("Content-Encoding"), w.Body)
		}
	}
}
