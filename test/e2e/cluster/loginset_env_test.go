//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"text/template"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slurmtide/slurmtide/operator/loginset"
	"github.com/slurmtide/slurmtide/test/harness/realkube"
)

// loginImages returns the images that login.yaml needs.
func loginImages(versions []string) []string {
	out := []string{"services:dev"}
	for _, version := range versions {
		out = append(out, "login:"+version)
	}
	return out
}

// addLoginSets adds the reconciler of LoginSets to the operator.
func addLoginSets(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	must(t, loginset.New(mgr.GetClient(), mgr.GetAPIReader(), time.Now, loginset.Config{}).SetupWithManager(mgr))
}

// startLogin applies login.yaml and returns when the LoginSet is Ready.
func (e *env) startLogin(kube *realkube.Cluster, version string) {
	e.Helper()
	values := struct{ Namespace, Version, Password string }{e.namespace, version, "secret-of-the-test"}
	text := &bytes.Buffer{}
	must(e.T, template.Must(template.ParseFiles(filepath.Join("testdata", "login.yaml"))).Execute(text, values))
	begin := time.Now()
	must(e.T, kube.Apply(e.Context(), text.String()))
	e.kubectl("wait", "pod/ldap", "pod/client", "--for=condition=Ready", "--timeout=120s")
	e.kubectl("wait", "loginset/login", "--for=condition=Ready", "--timeout=180s")
	e.Logf("%s: from kubectl apply to a Ready LoginSet: %.1f s", version, time.Since(begin).Seconds())
}

// sshArgs returns the arguments of kubectl that run a command in a login pod, as alice. Options of ssh may
// come first.
func (e *env) sshArgs(args ...string) []string {
	return append([]string{"--namespace", e.namespace, "exec", "client", "--", "ssh",
		"-o", "StrictHostKeyChecking=accept-new", "-o", "PubkeyAuthentication=no", "-l", "alice", "login"}, args...)
}

// ssh runs a command in a login pod as alice and returns what it prints.
func (e *env) ssh(ctx context.Context, args ...string) (string, error) {
	out, err := e.kube.Kubectl(ctx, e.sshArgs(args...)...)
	return strings.TrimSpace(out), err
}
