package slurmclient_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// damageBody damages an answer at a random place.
func damageBody(rnd *rand.Rand, body []byte) (damaged []byte, truncated bool) {
	b := bytes.Clone(body)
	at := rnd.IntN(len(b))
	switch rnd.IntN(7) {
	case 0:
		return b[:at], true
	case 1:
		b[at] = byte(rnd.Uint32())
	case 2:
		b = append(b[:at:at], b[min(len(b), at+1+rnd.IntN(40)):]...)
	case 3:
		b = append(b[:at:at], append([]byte("\x00{\"jobs\":[}\xff"), b[at:]...)...)
	case 4:
		b = append(b[:at:at], append(bytes.Repeat([]byte("9"), 400), b[at:]...)...)
	case 5:
		for _, from := range []string{"true", "null", ": 1", "[", "\"set\""} {
			b = bytes.Replace(b, []byte(from), []byte(`"x"`), 1+rnd.IntN(3))
		}
	case 6:
		b = bytes.ReplaceAll(b, []byte("RUNNING"), []byte("QUANTUM"))
		b = bytes.ReplaceAll(b, []byte("IDLE"), []byte("NEWSTATE"))
	}
	return b, false
}

// TestTenThousandDamagedAnswers reads damaged recordings. The result is an error of this package or a
// list, but never a panic. It is never a list if the answer ends too early or is malformed.
func TestTenThousandDamagedAnswers(t *testing.T) {
	const seed, mutations = 42, 10_000
	rnd := rand.New(rand.NewPCG(seed, 1))
	releases := recordedVersions(t)
	type source struct {
		file string
		read func(c *slurmclient.Client) (n int, err error)
	}
	ctx := t.Context()
	sources := []source{
		{"job_het_8.json", func(c *slurmclient.Client) (int, error) {
			l, err := c.Jobs(ctx, 0)
			return len(l.Items),
				err
		}},
		{"node_n1.json", func(c *slurmclient.Client) (int, error) {
			l, err := c.Nodes(ctx, 0)
			return len(l.Items),
				err
		}},
		{"partitions.json", func(c *slurmclient.Client) (
			int, error) {
			l, err := c.Partitions(ctx, 0)
			return len(l.Items), err
		}},
		{"licenses.json", func(c *slurmclient.Client) (int, error) {
			l, err := c.Licenses(ctx)
			return len(l.Items),
				err
		}},
		{"diag.json", func(c *slurmclient.Client) (int, error) { _, err := c.Stats(ctx); return 1, err }},
		{"jobs_state.json", func(c *slurmclient.Client) (int, error) {
			l, err := c.JobStates(ctx, 1)
			return len(l),
				err
		}},
		{"ping.json", func(c *slurmclient.Client) (int, error) { l, err := c.Ping(ctx); return len(l), err }},
		{"shares.json", func(c *slurmclient.Client) (int, error) { l, err := c.Shares(ctx); return len(l.Items), err }},
		{"reservations.json", func(c *slurmclient.Client) (
			int, error) {
			l, err := c.Reservations(ctx, 0)
			return len(l.Items), err
		}},
		{"conf.json", func(c *slurmclient.Client) (int, error) { _, err := c.Conf(ctx); return 1, err }},
		{"slurmdb_qos_limits.json",
			func(c *slurmclient.Client) (int, error) { l, err := c.QOS(ctx); return len(l.Items), err }},
		{"slurmdb_associations_limits.json",
			func(c *slurmclient.Client) (int, error) { l, err := c.Associations(ctx); return len(l.Items), err }},
		{"slurmdb_accounts.json",
			func(c *slurmclient.Client) (int, error) { l, err := c.Accounts(ctx); return len(l.Items), err }},
		{"slurmdb_users.json", func(c *slurmclient.Client) (int, error) {
			l, err := c.Users(ctx)
			return len(l.Items),
				err
		}},
	}
	failed, fine := 0, 0
	for i := range mutations {
		s := sources[i%len(sources)]
		release := releases[rnd.IntN(len(releases))]
		whole := recordedAnywhere(t, release, s.file)
		body, truncated := damageBody(rnd, whole.body)
		n, err := s.read(newTestClient(t, versionOf(release), alwaysReply(reply{200, "application/json", body})))
		var typed *slurmclient.Error
		switch {
		case err == nil:
			fine++
			if truncated && len(bytes.TrimSpace(body)) < len(bytes.TrimSpace(whole.body)) {
				t.Errorf("mutation %d: %s of %s, truncated after %d bytes, was read as a list of %d", i, s.file,
					release, len(body), n)
			}
			if n == 0 && json.Valid(whole.body) && !json.Valid(body) {
				t.Errorf("mutation %d: %s of %s is not JSON and was read as an empty list", i, s.file, release)
			}
		case !errors.As(err, &typed) || typed.Code == "":
			t.Errorf("mutation %d: %s: the error %v has no code", i, s.file, err)
		default:
			failed++
		}
	}
	t.Logf("%d answers were refused, %d read", failed, fine)
	if failed < mutations/10 || fine < mutations/20 {
		t.Errorf("%d refused, %d read: the mutations test nothing", failed, fine)
	}
}

// TestDamagedJobStatesAreAnError damages job states. They must not pass for a shorter list, since the
// delta reader treats a missing job as gone.
func TestDamagedJobStatesAreAnError(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	refused := 0
	for _, release := range recordedVersions(t) {
		whole := recordedAnywhere(t, release, "jobs_state.json").body
		for range 500 {
			body := bytes.Clone(whole)
			body[rnd.IntN(len(body))] = "{}[],:\"@"[rnd.IntN(8)]
			rows, err := newTestClient(t, versionOf(release),
				alwaysReply(reply{200, "application/json", body})).JobStates(t.Context())
			if err != nil {
				refused++
				continue
			}
			if !json.Valid(body) {
				t.Fatalf("%s: malformed JSON was read as %d states", release, len(rows))
			}
		}
	}
	if refused < 1000 {
		t.Errorf("only %d answers were refused", refused)
	}
	_, err := newTestClient(t, "v0.0.45",
		alwaysReply(reply{200, "application/json", []byte(`{"jobs": {"job_id": 1}}`)})).JobStates(t.Context())
	wantCode(t, "an object where the list should be", err, slurmclient.CodeUnavailable)
}

// Users who may set the URL can send requests to a server that is not a slurmrestd. Errors must not show them its
// answers.
func TestErrorsDoNotQuoteAForeignServer(t *testing.T) {
	const secret = "role-credentials-7"
	for _, tc := range []struct {
		name, kind, body string
		status           int
	}{
		{"text", "text/plain", secret, http.StatusForbidden},
		{"text that is fine", "text/plain", secret, http.StatusOK},
		{"a page", "text/html", "<html>" + secret, http.StatusInternalServerError},
		{"JSON", "application/json", `{"error":"` + secret + `"}`, http.StatusBadGateway},
		{"JSON with a list of errors", "application/json", `{"errors":[{"error":"` + secret + `","description":"` +
			secret + `"}]}`, http.StatusInternalServerError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tc.kind)
				w.WriteHeader(tc.status)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			client, err := slurmclient.New(slurmclient.Config{URL: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Ping(t.Context()); err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
