package certificate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/test/harness/testcert"
)

func TestCheck(t *testing.T) {
	const host, day = "slurm-restapi.team.svc", 24 * time.Hour
	noon := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	ca, other := testcert.NewCA(t, "ca", noon.Add(-day)), testcert.NewCA(t, "other", noon.Add(-day))
	issue := func(begin, end time.Duration, names ...string) Files {
		pair := ca.Issue(t, noon.Add(begin), noon.Add(end), names...)
		return Files{Cert: pair.Cert, Key: pair.Key, CA: ca.PEM}
	}
	good := issue(-day, day, host)
	with := func(change func(*Files)) Files {
		out := good
		change(&out)
		return out
	}
	for _, tc := range []struct {
		name  string
		files Files
		// want is in the message, empty if the certificate is valid.
		want string
	}{
		{"a certificate of the CA", good, ""},
		{"one of several names", issue(-day, day, "a.example.com", host), ""},
		{"a pattern", issue(-day, day, "*.team.svc"), ""},
		{"an unknown CA", with(func(f *Files) { f.CA = nil }), ""},
		{"several CAs", with(func(f *Files) { f.CA = append(append([]byte{}, other.PEM...), ca.PEM...) }), ""},
		{"no files", Files{}, "tls.crt and tls.key must be a certificate and its key in PEM"},
		{"no key", with(func(f *Files) { f.Key = nil }), "tls.crt and tls.key must be"},
		{"the key of another", with(func(f *Files) { f.Key = issue(-day, day, host).Key }), "tls.crt and tls.key must be"},
		{"another name", issue(-day, day, "a.example.com", "10.0.0.1"),
			"is for a.example.com, 10.0.0.1 and must be for slurm-restapi.team.svc: issue one with this DNS name"},
		{"no name", issue(-day, day), "is for no DNS name and must be for"},
		{"in its last second", issue(-day, 0, host), ""},
		{"after its end", issue(-day, -time.Second, host), "ended on 2030-01-01T11:59:59Z: renew it"},
		{"before its begin", issue(time.Second, day, host), "begins only on 2030-01-01T12:00:01Z"},
		{"another CA", with(func(f *Files) { f.CA = other.PEM }), "not one of the CA in ConfigMap roots"},
		{"a CA that is no certificate", with(func(f *Files) { f.CA = []byte("x") }), "no certificate in PEM"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			end, err := Check(noon, host, tc.files, "Secret cert", "ConfigMap roots")
			if tc.want == "" {
				if err != nil || end.Before(noon) {
					t.Errorf("it ends at %v, %v", end, err)
				}
				return
			}
			var reported *problem.Error
			if !errors.As(err, &reported) || reported.Reason != v1beta1.ReasonInvalidCertificate {
				t.Fatalf("the error is %v", err)
			}
			if !strings.Contains(reported.Message, tc.want) || !strings.HasPrefix(reported.Message, "Secret cert: ") {
				t.Errorf("the message is %q, not %q", reported.Message, tc.want)
			}
			if strings.Contains(reported.Message, "PRIVATE") {
				t.Errorf("the message has a part of the key: %q", reported.Message)
			}
		})
	}
}
