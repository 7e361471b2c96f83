package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// readingAged returns a reading with the given ages of nodes and jobs at noon.
func readingAged(nodes, jobs time.Duration) *slurmclients.Reading {
	s := &slurmclient.Snapshot{Server: slurm.Server{Release: "26.05.5"}, Version: "v0.0.45"}
	s.Nodes.Poll = slurmclient.Poll{Known: true, ReadAt: noon.Add(-nodes)}
	s.Jobs.Poll = slurmclient.Poll{Known: true, ReadAt: noon.Add(-jobs)}
	return &slurmclients.Reading{Snapshot: s}
}

func slurmError(code slurmclient.Code, cause error) error {
	return &slurmclient.Error{Code: code, Op: "listing nodes", Err: cause}
}

func TestAClusterReportsIgnoredFields(t *testing.T) {
	c := &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	c.Spec.SlurmKeyRef = &corev1.SecretKeySelector{Optional: new(true)}
	c.Status = statusOf(noon, c, observation{reading: readingAged(time.Second, time.Second)})
	for _, s := range []observation{{reading: readingAged(time.Second, time.Second)},
		{}} { // the last reading belongs to an operator that has just started
		condition := meta.FindStatusCondition(statusOf(noon, c, s).Conditions, v1beta1.ConditionFieldsIgnored)
		if condition == nil || condition.Status != metav1.ConditionTrue ||
			condition.Message != "spec.slurmKeyRef.optional has no effect: the key is required" {
			t.Errorf("the condition is %+v", condition)
		}
	}
	c.Spec.SlurmKeyRef = nil
	if condition := meta.FindStatusCondition(statusOf(noon, c, observation{}).Conditions,
		v1beta1.ConditionFieldsIgnored); condition != nil {
		t.Errorf("the condition is still %+v", condition)
	}
}

// TestALongVersionIsCut: the API server refuses a status of megabytes, and would store nothing.
func TestALongVersionIsCut(t *testing.T) {
	reading := readingAged(time.Second, time.Second)
	reading.Snapshot.Server.Release = strings.Repeat("26.05", 1<<20)
	got := statusOf(noon, &v1beta1.Cluster{}, observation{reading: reading}).SlurmVersion
	if len(got) > 64 || !strings.HasPrefix(got, "26.05") {
		t.Errorf("the version has %d bytes", len(got))
	}
}

func TestReadyCondition(t *testing.T) {
	missing := &access.MissingError{Ref: refs.KeyRef{Kind: "Secret", Namespace: "team", Name: "token", Key: "jwt"}}
	unread := &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}
	lost := readingAged(time.Second, time.Second)
	lost.Problem = "job 7 cannot be placed"
	for _, tc := range []struct {
		name   string
		seen   observation
		status metav1.ConditionStatus
		reason string
	}{
		{"the cluster is not polled yet", observation{}, "Unknown", v1beta1.ReasonNotObserved},
		{"no poll has succeeded yet", observation{reading: unread}, "Unknown", v1beta1.ReasonNotObserved},
		{"nodes and jobs were read", observation{reading: readingAged(time.Second, 3*time.Second)}, "True",
			v1beta1.ReasonAvailable},
		{"one poll without an answer",
			observation{readingAged(time.Second, time.Second), slurmError(slurmclient.CodeUnavailable, nil)}, "True",
			v1beta1.ReasonAvailable},
		{"no answer for a while",
			observation{readingAged(time.Second, time.Minute), slurmError(slurmclient.CodeUnavailable, nil)}, "False",
			v1beta1.ReasonUnreachable},
		{"no answer at all", observation{unread, slurmError(slurmclient.CodeUnavailable, errors.New("refused"))},
			"False", v1beta1.ReasonUnreachable},
		{"a token that is refused, though it was not before",
			observation{readingAged(time.Second, time.Second), slurmError(slurmclient.CodeUnauthorized, nil)}, "False",
			v1beta1.ReasonUnauthorized},
		{"no token", observation{unread, slurmError(slurmclient.CodeUnauthorized, missing)}, "False",
			v1beta1.ReasonReferenceNotFound},
		{"a Secret that may not be read",
			observation{unread, slurmError(slurmclient.CodeUnauthorized,
				apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "token", nil))}, "False",
			v1beta1.ReasonForbidden},
		{"a Secret that is no token",
			observation{unread, slurmError(slurmclient.CodeUnauthorized, &access.NotSendableError{})}, "False",
			v1beta1.ReasonTokenNotSendable},
		{"no certificate", observation{unread, missing}, "False", v1beta1.ReasonReferenceNotFound},
		{"an invalid certificate", observation{unread, errors.New("no certificate in PEM")}, "False",
			v1beta1.ReasonInvalidSpec},
		{"no version in common", observation{unread, slurmError(slurmclient.CodeUnsupported, nil)}, "False",
			v1beta1.ReasonIncompatible},
		{"job polls that never end", observation{reading: readingAged(time.Second, time.Hour)}, "Unknown",
			v1beta1.ReasonNotObserved},
		{"a job whose nodes are unknown", observation{reading: lost}, "Unknown", v1beta1.ReasonNotObserved},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := statusOf(noon, &v1beta1.Cluster{ObjectMeta: metav1.ObjectMeta{Generation: 3}}, tc.seen)
			c := meta.FindStatusCondition(got.Conditions, "Ready")
			if c == nil || c.Status != tc.status || c.Reason != tc.reason || c.Message == "" ||
				c.ObservedGeneration != 3 {
				t.Errorf("the condition is %+v", c)
			}
		})
	}
}

func TestPlainHTTPIsReported(t *testing.T) {
	for server, warned := range map[string]bool{"http://slurm:6820": true, "https://slurm:6820": false} {
		c := &v1beta1.Cluster{Spec: v1beta1.ClusterSpec{Server: server}}
		got := statusOf(noon, c, observation{reading: readingAged(time.Second, time.Second)}).Conditions[0]
		if strings.Contains(got.Message, "clear text") != warned {
			t.Errorf("for %s the message is %q", server, got.Message)
		}
	}
}

func TestStatusChangesOnlyWhenNeeded(t *testing.T) {
	cluster := &v1beta1.Cluster{}
	cluster.Status = statusOf(noon, cluster, observation{reading: readingAged(time.Second, time.Second)})
	want := cluster.Status
	if want.SlurmVersion != "26.05.5" || want.APIVersion != "v0.0.45" || want.LastContact == nil ||
		!want.LastContact.Time.Equal(noon.Add(-time.Second)) {
		t.Fatalf("the status is %+v", want)
	}
	unread := &slurmclients.Reading{Snapshot: &slurmclient.Snapshot{}}
	socket := func(port string) error {
		return slurmError(slurmclient.CodeUnavailable,
			errors.New("read tcp 10.0.0.1:"+port+"->10.0.0.2:6820: connection reset by peer"))
	}
	for _, tc := range []struct {
		name string
		now  time.Time
		seen observation
	}{
		{"a later contact", noon.Add(30 * time.Second),
			observation{reading: readingAged(-20*time.Second, -20*time.Second)}},
		{"the operator has restarted", noon.Add(time.Minute), observation{}},
		{"the restarted operator connects", noon.Add(time.Minute), observation{reading: unread}},
	} {
		if diff := cmp.Diff(want, statusOf(tc.now, cluster, tc.seen)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
	if got := statusOf(noon.Add(time.Hour), cluster, observation{}); got.Conditions[0].Status != "Unknown" {
		t.Errorf("after an hour without a reading the status is %+v", got)
	}
	if got := statusOf(noon.Add(time.Minute), cluster,
		observation{reading: readingAged(-time.Minute, -time.Minute)}); got.LastContact.Time.Equal(
		want.LastContact.Time) {
		t.Error("a contact after a minute is not reported")
	}
	cluster.Status = statusOf(noon.Add(time.Hour), cluster, observation{unread, socket("40001")})
	if diff := cmp.Diff(cluster.Status,
		statusOf(noon.Add(2*time.Hour), cluster, observation{unread, socket("40002")})); diff != "" {
		t.Errorf("the next attempt has another status: %s", diff)
	}
	if got := cluster.Status; got.SlurmVersion != "26.05.5" || got.Conditions[0].Status != "False" {
		t.Errorf("while Slurm is unreachable the status is %+v", got)
	}
}
