package cluster

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/slurmclients"
	"github.com/slurmtide/slurmtide/slurmclient"
)

const (
	// contactWriteInterval is the least time between two writes of the time of the last contact.
	contactWriteInterval = time.Minute
	// staleAfter is the age from which a reading no longer describes the cluster.
	staleAfter = 2 * time.Minute
	// outageTolerance is how long slurmrestd may fail to answer before the status reports it.
	outageTolerance = 30 * time.Second
)

// observation is the state of a Slurm cluster as far as it is known.
type observation struct {
	// reading is nil while no process reads the cluster.
	reading *slurmclients.Reading
	// err is the reason why it cannot be read now.
	err error
}

// lastContact returns when slurmrestd last answered polls of both nodes and jobs, zero for never.
func (s observation) lastContact() time.Time {
	if s.reading == nil {
		return time.Time{}
	}
	nodes, jobs := s.reading.Snapshot.Nodes.Poll, s.reading.Snapshot.Jobs.Poll
	if !nodes.Known || !jobs.Known {
		return time.Time{}
	}
	if nodes.ReadAt.Before(jobs.ReadAt) {
		return nodes.ReadAt
	}
	return jobs.ReadAt
}

// readyCondition is the content of the condition Ready.
type readyCondition struct {
	status          metav1.ConditionStatus
	reason, message string
}

// statusOf returns the status of a Cluster, from the last status and the observation. It is pure.
func statusOf(now time.Time, c *v1beta1.Cluster, s observation) v1beta1.ClusterStatus {
	out := *c.Status.DeepCopy()
	v1beta1.SetFieldsIgnored(&out.Conditions, c.Spec.IgnoredFields(), c.Generation, now)
	v := readyConditionOf(now, s)
	if v.status == metav1.ConditionTrue && strings.HasPrefix(c.Spec.Server, "http:") {
		v.message += clearTextWarning
	}
	was := meta.FindStatusCondition(out.Conditions, v1beta1.ConditionReady)
	if s.err == nil && v.reason == v1beta1.ReasonNotObserved && was != nil && was.ObservedGeneration == c.Generation &&
		out.LastContact != nil && now.Sub(out.LastContact.Time) < staleAfter {
		return out // the operator has just started; the last status may still be true
	}
	changed := v1beta1.SetCondition(&out.Conditions, v1beta1.ConditionReady, metav1.Condition{Status: v.status,
		Reason: v.reason, Message: v.message}, c.Generation, now)
	if s.reading != nil {
		setNonEmpty(&out.SlurmVersion, s.reading.Snapshot.Server.Release)
		setNonEmpty(&out.APIVersion, s.reading.Snapshot.Version)
	}
	at := s.lastContact().Truncate(time.Second)
	if !at.IsZero() && (out.LastContact == nil || at.Sub(out.LastContact.Time) >= contactWriteInterval ||
		changed && at.After(out.LastContact.Time)) {
		out.LastContact = &metav1.Time{Time: at}
	}
	return out
}

// maxVersion is the maximum length of a version's text. A server may answer anything, and the API server must
// accept the status.
const maxVersion = 64

func setNonEmpty(field *string, value string) {
	if value != "" {
		*field = v1beta1.CutText(value, maxVersion)
	}
}

// readyConditionOf returns the condition Ready of an observation.
func readyConditionOf(now time.Time, s observation) readyCondition {
	contact := s.lastContact()
	fresh := !contact.IsZero() && now.Sub(contact) < outageTolerance
	switch {
	case s.err != nil && !(fresh && slurmclient.CodeOf(s.err) == slurmclient.CodeUnavailable):
		return conditionOfError(s.err)
	case contact.IsZero():
		return readyCondition{metav1.ConditionUnknown, v1beta1.ReasonNotObserved,
			"nodes and jobs have not been read yet"}
	case s.reading.Problem != "":
		return readyCondition{metav1.ConditionUnknown, v1beta1.ReasonNotObserved, s.reading.Problem}
	case now.Sub(contact) >= staleAfter:
		return readyCondition{metav1.ConditionUnknown, v1beta1.ReasonNotObserved,
			fmt.Sprintf("nodes and jobs were last read at %s", contact.UTC().Format(time.RFC3339))}
	}
	return readyCondition{metav1.ConditionTrue, v1beta1.ReasonAvailable, "slurmrestd answers"}
}

// clearTextWarning is appended to the message of a Cluster whose server is a plain HTTP URL.
const clearTextWarning = "; the token is sent as clear text, since spec.server is not https"

// conditionOfError returns the condition of an error. Its message contains no secret and nothing
// that differs between attempts.
func conditionOfError(err error) readyCondition {
	reason := v1beta1.ReasonUnreachable
	var target *slurmclients.EndpointError
	var refused *access.NotSendableError
	switch code := slurmclient.CodeOf(err); {
	case apierrors.IsForbidden(err):
		reason = v1beta1.ReasonForbidden
	case errors.As(err, &refused):
		reason = v1beta1.ReasonTokenNotSendable
	case access.IsMissing(err):
		reason = v1beta1.ReasonReferenceNotFound
	case errors.As(err, &target), code == "", code == slurmclient.CodeInvalid:
		reason = v1beta1.ReasonInvalidSpec
	case code == slurmclient.CodeUnauthorized:
		reason = v1beta1.ReasonUnauthorized
	case code == slurmclient.CodeUnsupported:
		reason = v1beta1.ReasonIncompatible
	}
	message := regexp.MustCompile(localAddressPattern).ReplaceAllString(err.Error(), "")
	return readyCondition{metav1.ConditionFalse, reason, message}
}

// localAddressPattern matches the local address in the error of a socket. Its port differs between
// attempts.
const localAddressPattern = `[0-9a-fA-F:.\[\]%]+->`
