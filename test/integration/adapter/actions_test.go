//go:build e2e

package adapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [
	{"level": "Request", "verbs": ["create"], "resources": [{"group": "view.slinky.slurm.net"}]}, {"level": "None"}]}`

// auditEvent is an event of the API server's audit log.
type auditEvent struct {
	Verb             string
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ Resource, Namespace, Name, Subresource string }
	ResponseStatus   struct{ Code int }
	Stage            string
}

// actionCase is an action on an object. state is a JSONPath of the object, with its value before and after the action.
type actionCase struct {
	resource, name, verb, body string
	state, before, after       string
}

// TestActions carries out every action: first as users without the right, then as a user with it.
func TestActions(t *testing.T) {
	dir := t.TempDir()
	policy, audit := filepath.Join(dir, "policy.json"), filepath.Join(dir, "audit.log")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newEnv(t, "--audit-policy-file="+policy, "--audit-log-path="+audit, "--audit-log-mode=blocking-strict")
	for i := range 3 { // 1 and 2 have the nodes, 3 waits
		submitJob(t, s.alpha, slurmtest.JobSpec{User: "alice", JobRequest: slurm.JobRequest{Name: fmt.Sprint(i), Partition: "gpu",
			Nodes: 1, Exclusive: true}, Forever: true})
	}
	s.alpha.Step(time.Minute)
	p := s.startAdapter(t, "--view.actions", "--view.private-data=none")
	s.registerAdapter(t, p)
	s.applyFile(t, "actions.yaml", "PORT", fmt.Sprint(p.securePort))
	cases := []actionCase{
		{"slurmnodes", "alpha.cpu-0", "drain", `{"spec": {"reason": "bad disk"}}`, "{.status.reason}", "", "bad disk [admin]"},
		{"slurmnodes", "alpha.cpu-0", "resume", `{}`, "{.status.state}", "drained", "idle"},
		{"slurmjobs", "alpha.3", "hold", `{}`, "{.spec.hold}", "", "true"},
		{"slurmjobs", "alpha.3", "release", `{}`, "{.spec.hold}", "true", ""},
		{"slurmjobs", "alpha.1", "cancel", `{}`, "{.status.state}", "RUNNING", "CANCELLED"},
	}
	for _, tc := range cases {
		t.Run(tc.verb, func(t *testing.T) {
			process.Await(t, func() error { return s.checkState(t, tc, tc.before) })
			denied := map[string]string{"eve": "cannot create resource \"" + tc.resource + "/" + tc.verb + "\""}
			if denied["bob"] = denied["eve"]; tc.resource == "slurmjobs" {
				denied["bob"] = `only users with the verb "actall" may act`
			}
			for user, want := range denied {
				if _, err := s.act(t, dir, user, tc); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\`, ""), want) {
					t.Errorf("%s gets %v, want %q", user, err, want)
				}
			}
			if err := s.checkState(t, tc, tc.before); err != nil {
				t.Errorf("after users who may not: %v", err)
			}
			if out, err := s.act(t, dir, "admin", tc); err != nil || !strings.Contains(out, `"message":"`+tc.verb) {
				t.Fatalf("admin gets %s, %v", out, err)
			}
			process.Await(t, func() error { return s.checkState(t, tc, tc.after) })
			if line := fmt.Sprintf("user=admin action=%s cluster=team-a/alpha", tc.verb); !strings.Contains(p.Log(), line) {
				t.Errorf("the log of the adapter has no line with %s", line)
			}
			for user, code := range map[string]int{"admin": 201, "bob": 403, "eve": 403} {
				if !hasEvent(t, audit, user, code, tc) {
					t.Errorf("the audit log has no event of %s with %d", user, code)
				}
			}
		})
	}
	t.Run("the other jobs go on", func(t *testing.T) {
		s.alpha.Step(time.Minute)
		for _, job := range []string{"alpha.2", "alpha.3"} {
			running := actionCase{resource: "slurmjobs", name: job, state: "{.status.state}"}
			process.Await(t, func() error { return s.checkState(t, running, "RUNNING") })
		}
	})
	t.Run("actions are off by default", func(t *testing.T) {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		second := s.startAdapter(t)
		s.registerAdapter(t, second)
		s.applyFile(t, "actions.yaml", "PORT", fmt.Sprint(second.securePort))
		process.Await(t, func() error { return s.checkState(t, cases[4], "CANCELLED") })
		if _, err := s.act(t, dir, "admin", cases[0]); err == nil || !strings.Contains(err.Error(), "could not find the requested resource") {
			t.Errorf("admin gets %v", err)
		}
	})
}

// act requests an action as a user.
func (s *env) act(t *testing.T, dir, user string, tc actionCase) (string, error) {
	t.Helper()
	file := filepath.Join(dir, "action.json")
	text := strings.Replace(tc.body, "{", `{"apiVersion": "view.slinky.slurm.net/v1alpha1", "kind": "SlurmAction", `, 1)
	if err := os.WriteFile(file, []byte(strings.Replace(text, ", }", "}", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.kube.Kubectl(t.Context(), "create", "--as="+user, "-f", file, "--raw",
		fmt.Sprintf("/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-a/%s/%s/%s", tc.resource, tc.name, tc.verb))
}

// checkState compares the state of the object.
func (s *env) checkState(t *testing.T, tc actionCase, want string) error {
	out, err := s.kube.Kubectl(t.Context(), "get", "-n", "team-a", tc.resource+".view.slinky.slurm.net", tc.name, "-o", "jsonpath="+tc.state)
	if err == nil && strings.TrimSpace(out) != want {
		err = fmt.Errorf("%s of %s is %q, want %q", tc.state, tc.name, out, want)
	}
	return err
}

// hasEvent reports whether the audit log has an event of a user.
func hasEvent(t *testing.T, file, user string, code int, tc actionCase) bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e auditEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Verb == "create" && e.ImpersonatedUser.Username == user && e.ResponseStatus.Code == code &&
			e.ObjectRef.Resource == tc.resource && e.ObjectRef.Subresource == tc.verb && e.ObjectRef.Name == tc.name {
			return true
		}
	}
	return false
}
