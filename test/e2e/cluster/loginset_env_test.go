//go:build e2e

package cluster

import (
	"context"
	"slices"
	"strings"
)

// awaitLogin waits until the LoginSet is Ready.
func (e *env) awaitLogin() {
	e.Helper()
	e.kubectl("wait", "pod/ldap", "pod/client", "--for=condition=Ready", "--timeout=120s")
	e.kubectl("wait", "loginset/"+e.login, "--for=condition=Ready", "--timeout=180s")
}

// sshOptions are options of ssh.
var sshOptions = []string{"-o", "StrictHostKeyChecking=accept-new", "-o", "PubkeyAuthentication=no", "-l", "alice"}

// sshArgs returns the arguments of kubectl that run a command in a login pod, as alice. Options of ssh may
// come first.
func (e *env) sshArgs(args ...string) []string {
	return slices.Concat([]string{"--namespace", e.namespace, "exec", "client", "--", "ssh"}, sshOptions,
		[]string{e.login}, args)
}

// ssh runs a command in a login pod as alice and returns its output.
func (e *env) ssh(ctx context.Context, args ...string) (string, error) {
	out, err := e.kube.Kubectl(ctx, e.sshArgs(args...)...)
	return strings.TrimSpace(out), err
}
