package restd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/cmd/internal/restd"
)

// checkError fails unless err contains want; empty means no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if (want == "") != (err == nil) || !strings.Contains(fmt.Sprint(err), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

func TestTokens(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    restd.Server
		env  string
		want string // of the error, empty for none
	}{
		{"none over TCP", restd.Server{URL: "http://localhost:1", TokenEnv: "TEST_JWT"}, "", "give --slurm.token-file"},
		{"none is needed on a socket", restd.Server{URL: "unix:///run/restd", TokenEnv: "TEST_JWT"}, "", ""},
		{"from the environment", restd.Server{URL: "http://localhost:1", TokenEnv: "TEST_JWT"}, "a.b.c", ""},
		{"a missing file", restd.Server{URL: "http://localhost:1", TokenFile: "/nonexistent"}, "",
			"check --slurm.token-file"},
		{"a missing key", restd.Server{URL: "http://localhost:1", KeyFile: "/nonexistent"}, "",
			"check --slurm.jwt-key-file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TEST_JWT", tc.env)
			_, err := tc.s.Token("slurm", time.Hour)
			checkError(t, err, tc.want)
		})
	}
}

func TestCertificatesAreReadAtOnce(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		s    restd.Server
		want string
	}{
		{"none", restd.Server{}, ""},
		{"no CA file", restd.Server{CAFile: "/nonexistent"}, "reading --slurm.ca-file: open /nonexistent"},
		{"a CA file without certificates", restd.Server{CAFile: empty}, "contains no PEM certificate"},
		{"no certificate", restd.Server{CertFile: "/nonexistent", CertKeyFile: empty},
			"reading --slurm.cert-file and --slurm.key-file"},
		{"an empty key", restd.Server{CertFile: empty, CertKeyFile: empty},
			"reading --slurm.cert-file and --slurm.key-file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.s.URL = "https://localhost:1"
			_, err := tc.s.NewClient(restd.Polling{Timeout: time.Second}, nil, nil)
			checkError(t, err, tc.want)
		})
	}
	checkError(t, (&restd.Server{CertFile: "a"}).Check(), "needs both --slurm.cert-file and --slurm.key-file")
	checkError(t, (&restd.Server{CertFile: "a", CertKeyFile: "b"}).Check(), "")
}

func TestPolling(t *testing.T) {
	ok := restd.Polling{Period: time.Second, Slow: time.Minute, Timeout: time.Second, Lifetime: time.Minute}
	for _, tc := range []struct {
		name   string
		change func(*restd.Polling)
		want   string
	}{
		{"as short as possible", func(*restd.Polling) {}, ""},
		{"without slow polls", func(p *restd.Polling) { p.Slow = 0 }, ""},
		{"a short period", func(p *restd.Polling) { p.Period = 999 * time.Millisecond }, "must be at least 1s"},
		{"short slow polls", func(p *restd.Polling) { p.Slow = time.Millisecond }, "must be at least 1s"},
		{"no timeout", func(p *restd.Polling) { p.Timeout = 0 }, "must be at least 1s"},
		{"a short lifetime", func(p *restd.Polling) { p.Lifetime = time.Second }, "--slurm.jwt-lifetime must be at least 1m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := ok
			tc.change(&p)
			checkError(t, p.Check(time.Second), tc.want)
		})
	}
}
