package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/cmd/internal/lines"
	"github.com/slurmtide/slurmtide/operator/wakeup"
)

func TestInvalidFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"an argument", []string{"now"}, "unexpected now"},
		{"a look interval that is too short", []string{"--wakeup.look-interval=1ms"}, "at least 1s"},
		{"stale before the next look", []string{"--wakeup.stale-after=1s"}, "must not be below"},
		{"no time to read demand", []string{"--wakeup.timeout=0s"}, "above 0"},
		{"no requests", []string{"--kube.qps=0"}, "above 0"},
		{"a certificate without TLS", []string{"--no-metrics.secure", "--metrics.cert-dir=/tls"},
			"needs --metrics.secure"},
		{"no image of the agent", nil, "needs --controller.agent-image"},
		{"an unknown reconciler", []string{"--reconcilers=nodeset,login"}, `there is no "login"`},
		{"no time to register", []string{"--nodeset.register-within=0s"}, "above 0"},
		{"surplus records of less than no time", []string{"--nodeset.keep-surplus-records=-1s"}, "not be negative"},
		{"a share of more than all", []string{"--nodeset.brake-share=2"}, "from 0 to 1"},
		{"no pause between polls", []string{"--slurm.poll-interval=0s"}, "at least 100ms"},
		{"an unknown family", []string{"--controller.ip-family=dual"}, "must be one of"},
		{"an unknown format", []string{"--log.format=xml"}, "must be one of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := parseFlags(tc.args)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// agentImage is a flag that the operator needs to run slurmctld and slurmdbd.
const agentImage = "--controller.agent-image=agent:1"

func TestTheFamilyOfServicesIsThatOfThePod(t *testing.T) {
	for _, c := range []struct {
		family, podIP string
		want          bool
	}{
		{"auto", "", false}, {"auto", "10.0.0.1", false}, {"auto", "fd00::1", true}, {"auto", "::ffff:10.0.0.1", false}, {"auto", "x", false},
		{"ipv6", "10.0.0.1", true}, {"ipv4", "fd00::1", false},
	} {
		o, err := parseFlags([]string{agentImage, "--controller.ip-family=" + c.family})
		if err != nil {
			t.Fatal(err)
		}
		if got := o.usesIPv6(c.podIP); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestDefaults(t *testing.T) {
	o, err := parseFlags([]string{agentImage})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wakeup.DefaultConfig(), o.wakeup); diff != "" {
		t.Error(diff)
	}
	if m := o.metrics(); !m.SecureServing || m.FilterProvider == nil {
		t.Error("metrics are served to everyone")
	}
	if !o.leaderElection || o.cache().DefaultNamespaces != nil {
		t.Error("leader election is off, or namespaces are restricted")
	}
}

func TestFlagsReachTheConfiguration(t *testing.T) {
	o, err := parseFlags([]string{agentImage, "--namespaces=a, b", "--namespaces=c,a", "--no-metrics.secure",
		"--no-leader-election",
		"--wakeup.look-interval=1s", "--wakeup.stale-after=1m", "--wakeup.timeout=3s"})
	if err != nil {
		t.Fatal(err)
	}
	var namespaces []string
	for name := range o.cache().DefaultNamespaces {
		namespaces = append(namespaces, name)
	}
	if len(namespaces) != 3 {
		t.Errorf("it watches %v", namespaces)
	}
	if m := o.metrics(); m.SecureServing || m.FilterProvider != nil {
		t.Error("metrics are secure")
	}
	want := wakeup.Config{PollInterval: time.Second, ScaleUpInterval: time.Second, StaleAfter: time.Minute, ReadTimeout: 3 * time.Second}
	if diff := cmp.Diff(want, o.wakeup); diff != "" {
		t.Error(diff)
	}
}

func TestLog(t *testing.T) {
	t.Run("logfmt", func(t *testing.T) {
		var out bytes.Buffer
		log := (&options{log: lines.Flags{Level: "info"}}).logger(&out)
		log.V(1).Info("not shown")
		log.WithValues("controller", "wakeup").Info("scaled", "replicas", 3)
		line := out.String()
		if !strings.HasPrefix(line, "ts=2") || !strings.HasSuffix(line,
			" level=info msg=scaled controller=wakeup replicas=3\n") || strings.Count(line, "\n") != 1 {
			t.Errorf("the line is %q", line)
		}
	})
	t.Run("json", func(t *testing.T) {
		var out bytes.Buffer
		log := (&options{log: lines.Flags{Level: "debug", Format: "json"}}).logger(&out)
		var line map[string]any
		log.V(1).Info("shown")
		if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "shown" || line["level"] != "debug" {
			t.Errorf("the line is %q, %v", out.String(), err)
		}
	})
}

func TestWithoutKubernetes(t *testing.T) {
	if code := run(t.Context(), []string{"--kube.config=/nonexistent", agentImage}); code != 1 {
		t.Errorf("it ends with %d", code)
	}
	if code := run(t.Context(), []string{"--kube.qps=0"}); code != 2 {
		t.Errorf("it ends with %d for invalid flags", code)
	}
}
