package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeServer answers requests in turn and records what they carried.
type fakeServer struct {
	answers []fakeAnswer
	tokens  []string
	bodies  []string
}

type fakeAnswer struct {
	status int
	kind   string
	err    error
}

func (s *fakeServer) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		raw, _ := io.ReadAll(req.Body)
		body = string(raw)
	}
	s.tokens = append(s.tokens, req.Header.Get("X-SLURM-USER-TOKEN"))
	s.bodies = append(s.bodies, body)
	a := s.answers[min(len(s.tokens)-1, len(s.answers)-1)]
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{
		StatusCode: a.status, Header: http.Header{"Content-Type": {a.kind}},
		Body: io.NopCloser(strings.NewReader("answer")), Request: req,
	}, nil
}

// rotatingToken is a token that Reload replaces with the next one.
type rotatingToken []string

func (r *rotatingToken) Token() (string, error) {
	if len(*r) == 0 {
		return "", errors.New("the file is empty")
	}
	return (*r)[0], nil
}

func (r *rotatingToken) Reload() (bool, error) {
	if len(*r) < 2 {
		return false, nil
	}
	*r = (*r)[1:]
	return true, nil
}

// sharedToken is a token that another request has replaced while the server refused the first.
type sharedToken struct{ asked, reloads int }

func (s *sharedToken) Token() (string, error) {
	s.asked++
	return map[bool]string{true: "old", false: "new"}[s.asked == 1], nil
}

func (s *sharedToken) Reload() (bool, error) { s.reloads++; return false, nil }

// TestATokenThatAnotherRequestHasReplaced is sent without one more Reload, which would report no change.
func TestATokenThatAnotherRequestHasReplaced(t *testing.T) {
	const json = "application/json"
	s, token := &fakeServer{answers: []fakeAnswer{{511, json, nil}, {200, json, nil}}}, &sharedToken{}
	resp, err := newChain(s, token).RoundTrip(newRequest(t, "GET", ""))
	if err != nil || resp.StatusCode != 200 || token.reloads != 0 {
		t.Errorf("error %v, answer %+v, %d times reloaded", err, resp, token.reloads)
	}
	if diff := cmp.Diff([]string{"old", "new"}, s.tokens); diff != "" {
		t.Errorf("the tokens sent (-want +got):\n%s", diff)
	}
}

func newRequest(t *testing.T, method, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func newChain(s *fakeServer, token TokenSource) http.RoundTripper {
	return &retryTransport{next: &authTransport{next: s, token: token}}
}

func TestRetries(t *testing.T) {
	const json = "application/json"
	ok, refused := fakeAnswer{200, json, nil}, fakeAnswer{511, json, nil}
	broken := fakeAnswer{0, "", errors.New("connection reset by peer")}
	for _, tc := range []struct {
		name    string
		method  string
		answers []fakeAnswer
		tokens  rotatingToken
		sent    []string // the tokens
		status  int      // 0 for an error
	}{
		{"a request that is answered is sent once", "GET", []fakeAnswer{ok}, rotatingToken{"a", "b"}, []string{"a"},
			200},
		{"a refused token is reloaded once", "GET", []fakeAnswer{refused, ok}, rotatingToken{"a", "b", "c"},
			[]string{"a", "b"}, 200},
		{"a token refused with 401 is reloaded", "GET", []fakeAnswer{{401, "text/plain", nil}, ok},
			rotatingToken{"a", "b"}, []string{"a", "b"}, 200},
		{"a token refused for a write is reloaded", "POST", []fakeAnswer{refused, ok}, rotatingToken{"a", "b"},
			[]string{"a", "b"}, 200},
		{"a second refusal is returned", "GET", []fakeAnswer{refused, refused}, rotatingToken{"a", "b", "c"},
			[]string{"a", "b"}, 511},
		{"an unchanged token is not sent again", "GET", []fakeAnswer{refused}, rotatingToken{"a"}, []string{"a"}, 511},
		{"a read whose connection broke is repeated", "GET", []fakeAnswer{broken, broken, ok}, rotatingToken{"a"},
			[]string{"a", "a", "a"}, 200},
		{"a read is sent three times at most", "GET", []fakeAnswer{broken}, rotatingToken{"a"}, []string{"a", "a", "a"},
			0},
		{"a write whose connection broke is not repeated", "POST", []fakeAnswer{broken, ok}, rotatingToken{"a"},
			[]string{"a"}, 0},
		{"a delete whose connection broke is not repeated", "DELETE", []fakeAnswer{broken, ok}, rotatingToken{"a"},
			[]string{"a"}, 0},
		{"a read that slurmrestd misread is repeated", "GET", []fakeAnswer{{500, "text/plain", nil}, ok},
			rotatingToken{"a"}, []string{"a", "a"}, 200},
		{"a write that slurmrestd misread is not repeated", "POST", []fakeAnswer{{500, "text/plain", nil}, ok},
			rotatingToken{"a"}, []string{"a"}, 500},
		{"an error of slurmctld is not repeated", "GET", []fakeAnswer{{500, json, nil}, ok}, rotatingToken{"a"},
			[]string{"a"}, 500},
		{"without a token nothing is sent", "GET", []fakeAnswer{ok}, nil, nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &fakeServer{answers: tc.answers}
				body := "body"
				if tc.method == "GET" {
					body = ""
				}
				resp, err := newChain(s, &tc.tokens).RoundTrip(newRequest(t, tc.method, body))
				if diff := cmp.Diff(tc.sent, s.tokens); diff != "" {
					t.Errorf("the tokens sent (-want +got):\n%s", diff)
				}
				for _, b := range s.bodies {
					if b != body {
						t.Errorf("a request had the body %q", b)
					}
				}
				if (err != nil) != (tc.status == 0) {
					t.Fatalf("the error is %v", err)
				}
				if err == nil {
					resp.Body.Close()
					if resp.StatusCode != tc.status {
						t.Errorf("HTTP %d, want %d", resp.StatusCode, tc.status)
					}
				}
			})
		})
	}
}

func TestAMissingTokenIsItsOwnError(t *testing.T) {
	_, err := newChain(&fakeServer{answers: []fakeAnswer{{200, "", nil}}}, &rotatingToken{}).RoundTrip(
		newRequest(t, "GET", "")) //nolint:bodyclose // there is none
	var token *TokenError
	if !errors.As(err, &token) {
		t.Errorf("the error is %v", err)
	}
}

func TestACanceledRequestIsNotRepeated(t *testing.T) {
	s := &fakeServer{answers: []fakeAnswer{{0, "", errors.New("connection refused")}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newChain(s, &rotatingToken{"a"}).RoundTrip(
		newRequest(t, "GET", "").WithContext(ctx)) //nolint:bodyclose // there is none
	if !errors.Is(err, context.Canceled) || len(s.tokens) != 1 {
		t.Errorf("%d requests, %v", len(s.tokens), err)
	}
}

func TestARequestIsObservedOnce(t *testing.T) {
	type observation struct {
		op     string
		status int
		bytes  int64
	}
	var got []observation
	rt := &observeTransport{next: &fakeServer{answers: []fakeAnswer{{200, "", nil}, {0, "", errors.New("refused")}}},
		report: func(op string, status int, _ time.Duration, bytes int64) {
			got = append(got, observation{op, status, bytes})
		}}
	req := newRequest(t, "GET", "")
	req = req.WithContext(WithOp(req.Context(), "nodes"))
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	if _, err := io.Copy(&body, resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := rt.RoundTrip(req); err == nil { //nolint:bodyclose // there is none
		t.Error("a refused connection returned no error")
	}
	if diff := cmp.Diff([]observation{{"nodes", 200, 6}, {"nodes", 0, 0}}, got,
		cmp.AllowUnexported(observation{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseURL(t *testing.T) {
	for raw, want := range map[string][2]string{
		"http://localhost:6820":   {"http://localhost:6820", ""},
		"https://slurm/prefix/":   {"https://slurm/prefix", ""},
		"unix:///run/restd.sock":  {"http://slurmrestd", "/run/restd.sock"},
		"ftp://host":              {},
		"localhost:6820":          {},
		"unix://run/restd":        {},
		"http://":                 {},
		"http://user:secret@host": {},
		"http://host/?a=b":        {},
		"http://a b":              {},
		"":                        {},
	} {
		base, socket, err := ParseURL(raw)
		if (err != nil) != (want[0] == "") || base != want[0] || socket != want[1] {
			t.Errorf("%q is %q, %q, %v", raw, base, socket, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestMaxQueryBytes(t *testing.T) {
	for base, local := range map[string]bool{
		"http://localhost:6820": true, "http://127.0.0.1:6820": true, "http://[::1]:6820": true,
		"https://localhost:6820":    false,
		"http://slurm.example:6820": false, "http://10.0.0.5:6820": false,
	} {
		if got := MaxQueryBytes(base, "") > 1500; got != local {
			t.Errorf("%s allows a query of %d bytes", base, MaxQueryBytes(base, ""))
		}
	}
	if MaxQueryBytes("http://slurmrestd", "/run/restd.sock") <= 1500 {
		t.Error("a socket allows only the query of a segment")
	}
}

func TestQueriesFitTheirLimit(t *testing.T) {
	var ids []string
	for id := 99990; id <= 100010; id++ {
		ids = append(ids, strconv.Itoa(id))
	}
	var sizes []int
	for len(ids) > 0 {
		n := CountFittingIDs(ids, 60)
		sizes = append(sizes, n)
		ids = ids[n:]
	}
	if diff := cmp.Diff([]int{4, 4, 4, 4, 4, 1}, sizes); diff != "" {
		t.Error(diff)
	}
	if n := CountFittingIDs([]string{"123456"}, 3); n != 1 {
		t.Errorf("%d ids are sent where one is too long, want 1", n)
	}
}

// TestProxies: a socket has none. net/http reads the environment once, so that a test cannot set it.
func TestProxies(t *testing.T) {
	for socket, want := range map[string]bool{"": true, "/run/slurmrestd.sock": false} {
		if got := newBaseTransport(Config{Socket: socket}).Proxy != nil; got != want {
			t.Errorf("socket %q: asks for a proxy %v, want %v", socket, got, want)
		}
	}
}
