package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
)

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string // empty for none
	}{
		{"no flags", nil, ""},
		{"one cluster", []string{"--slurm.url=http://localhost:1", "--slurm.token-file=x"}, ""},
		{"one cluster that belongs to an object",
			[]string{"--slurm.url=http://localhost:1", "--cluster-namespace=a", "--cluster-name=b"}, ""},
		{"a token without a cluster", []string{"--slurm.token-file=x"}, "need --slurm.url"},
		{"half a name", []string{"--slurm.url=http://localhost:1", "--cluster-name=b"}, "must be set together"},
		{"half a client certificate", []string{"--slurm.url=https://localhost:1", "--slurm.cert-file=x"}, "needs both"},
		{"half a serving certificate", []string{"--tls-cert-file=x"}, "needs both"},
		{"a look interval that is too short", []string{"--slurm.look-interval=1ms"}, "0 or at least 1s"},
		{"a poll interval that is too short", []string{"--slurm.poll-interval=1ms"}, "at least 1s"},
		{"a maximum age of zero", []string{"--metrics-max-age=0s"}, "at least 5 times"},
		{"a maximum age below the poll interval of partitions", []string{"--metrics-max-age=40s"}, "at least 5 times"},
		{"a negative grace", []string{"--idle-grace=-1s"}, "below 0"},
		{"an unknown set", []string{"--compat=vpenso,nope"}, `no set "nope"`},
		{"an unknown reader", []string{"--slurm.jobs-reader=fast"}, "must be one of"},
		{"a flag of the library", []string{"--secure-port=none"}, "none"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseFlags(tc.args)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestLibraryFlagsReachTheLibrary(t *testing.T) {
	o, err := parseFlags([]string{"--secure-port=7443", "--bind-address=127.0.0.1", "--tls-cert-file=a",
		"--tls-private-key-file=b", "--requestheader-allowed-names=x,y", "--authentication-skip-lookup",
		"--authorization-webhook-cache-authorized-ttl=3s"})
	if err != nil {
		t.Fatal(err)
	}
	s := o.library.SecureServing
	if s.BindPort != 7443 || s.BindAddress.String() != "127.0.0.1" || s.ServerCert.CertKey.CertFile != "a" {
		t.Errorf("it serves by %+v", s.SecureServingOptions)
	}
	if a := o.library.Authentication; len(a.RequestHeader.AllowedNames) != 2 || !a.SkipInClusterLookup {
		t.Errorf("it authenticates by %+v", a)
	}
	if ttl := o.library.Authorization.AllowCacheTTL; ttl != 3*time.Second {
		t.Errorf("it caches authorizations for %s", ttl)
	}
	if o, err = parseFlags(nil); err != nil || o.library.SecureServing.BindPort != securePort {
		t.Errorf("by default it listens on %d, %v", o.library.SecureServing.BindPort, err)
	}
}

func TestLibrariesPrintNoBodies(t *testing.T) {
	var out bytes.Buffer
	log := (&lines.Flags{Level: "debug", Format: "logfmt"}).Logger(&out)
	redirectLibraryLogs(log)
	t.Cleanup(klog.ClearLogger)
	klog.Background().V(8).Info("Response Body", "body", "a secret")
	klog.Background().V(1).Info("chatter")
	klog.Background().Info("a note")
	klog.Background().Error(errors.New("broken"), "a fault")
	klog.Background().Error(errors.New("http2: stream closed"), "Unhandled Error")
	got := out.String()
	for text, want := range map[string]int{"a secret": 0, "chatter": 0, `level=debug msg="a note"`: 1,
		`level=error msg="a fault"`: 1, `level=debug msg="Unhandled Error"`: 1} {
		if n := strings.Count(got, text); n != want {
			t.Errorf("%q appears %d times, want %d, in\n%s", text, n, want, got)
		}
	}
}
