//go:build e2e

package live

import (
	"errors"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/token"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// tokenIssuer is a Token reconciler that signs with the key of a real cluster.
type tokenIssuer struct {
	*token.Reconciler
	kube client.Client
	now  time.Time
}

func newTokenIssuer(t *testing.T, cluster *realslurm.Cluster) *tokenIssuer {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, errors.Join(v1beta1.AddToScheme(scheme), corev1.AddToScheme(scheme)))
	i := &tokenIssuer{now: time.Now()}
	i.kube = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1beta1.Token{}).Build()
	i.Reconciler = token.New(i.kube, i.kube, keyFile(cluster.KeyFile), events.NewFakeRecorder(100),
		func() time.Time { return i.now })
	return i
}

// clientFor issues a token for a user and returns a client that uses it.
func (i *tokenIssuer) clientFor(t *testing.T, cluster *realslurm.Cluster, user string) *slurmclient.Client {
	t.Helper()
	key := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "key"}, Key: "jwt"}
	object := &v1beta1.Token{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "t", UID: types.UID("uid-" + user)},
		Spec:       v1beta1.TokenSpec{Username: user, JWTKeyRef: key},
	}
	must(t, i.kube.Create(t.Context(), object))
	_, err := i.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	must(t, err)
	must(t, i.kube.Delete(t.Context(), object))
	var secret corev1.Secret
	must(t, i.kube.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "t-jwt-" + user}, &secret))
	must(t, i.kube.Delete(t.Context(), &secret))
	file := t.TempDir() + "/token"
	must(t, os.WriteFile(file, secret.Data["SLURM_JWT"], 0o600))
	c, err := slurmclient.New(slurmclient.Config{URL: cluster.URL, Token: slurmclient.TokenFromFile(file)})
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestRealSlurmAcceptsIssuedTokens(t *testing.T) {
	forEachRelease(t, func(t *testing.T, cluster *realslurm.Cluster) {
		i, ctx := newTokenIssuer(t, cluster), t.Context()
		must(t, i.clientFor(t, cluster, "slurm").Drain(ctx, "n1", "a token of slurm"))
		alice := i.clientFor(t, cluster, "alice")
		if err := alice.Undrain(ctx, "n1"); slurmclient.CodeOf(err) != slurmclient.CodeUnauthorized {
			t.Errorf("undraining as alice: %v", err)
		}
		id, err := alice.SubmitJob(ctx,
			slurm.JobRequest{Script: "#!/bin/sh\ntrue\n", Environment: []string{"PATH=/bin"}, WorkingDirectory: "/tmp"})
		must(t, err)
		jobs, err := alice.Job(ctx, id)
		if err != nil || jobs[0].UserName() != "alice" {
			t.Errorf("the job is %+v, %v", jobs, err)
		}
		i.now = i.now.Add(-time.Hour)
		if _, err := i.clientFor(t, cluster, "alice").Nodes(ctx, 0); slurmclient.CodeOf(
			err) != slurmclient.CodeUnauthorized {
			t.Errorf("using an expired token: %v", err)
		}
	})
}
