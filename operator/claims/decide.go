package claims

import (
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// LeaseName is the name of the Lease in each namespace that an operator manages.
const LeaseName = v1beta1.NamespaceLeaseName

// Annotations of the Lease.
const (
	// annotationScope of the holder is scopeAll or scopeNamed.
	annotationScope = v1beta1.GroupName + "/operator-scope"
	// annotationWantedBy is the identity of an operator whose flags name the namespace, and annotationWantedAt when it last asked.
	annotationWantedBy = v1beta1.GroupName + "/wanted-by"
	annotationWantedAt = v1beta1.GroupName + "/wanted-at"

	scopeAll   = "all"
	scopeNamed = "named"
)

const (
	// renewInterval is the time between two looks at the Lease of a namespace.
	renewInterval = 10 * time.Second
	// holdDuration is how long a holder trusts its last renewal.
	holdDuration = 25 * time.Second
	// leaseDuration is how long others wait for the next renewal.
	leaseDuration = 40 * time.Second
)

// Identity is an installation of the operator.
type Identity struct {
	// Name is the same for all replicas of an installation, and differs from the names of other installations.
	Name string
	// NamesNamespaces: the operator's flags name the namespaces that it manages.
	NamesNamespaces bool
}

// seen is an operator's observation of a Lease, with the time of its own clock, since clocks differ. It is never older than the
// process.
type seen struct {
	holder, renewedAt, wantedBy, wantedAt string
	holderSince, wantedSince              time.Time
	lookedAt                              time.Time
}

// next returns the observation of a Lease after another read. After a time without reads, such as an outage of the API server, the
// holder gets the full time again to renew it.
func (s seen) next(now time.Time, l *coordinationv1.Lease) seen {
	out := s
	if out.lookedAt = now; now.Sub(s.lookedAt) > 2*renewInterval {
		out.holderSince = now
	}
	out.holder, out.renewedAt = holderOf(l), ""
	if l.Spec.RenewTime != nil {
		out.renewedAt = l.Spec.RenewTime.UTC().String()
	}
	out.wantedBy, out.wantedAt = l.Annotations[annotationWantedBy], l.Annotations[annotationWantedAt]
	if out.holder != s.holder || out.renewedAt != s.renewedAt {
		out.holderSince = now
	}
	if out.wantedBy != s.wantedBy || out.wantedAt != s.wantedAt {
		out.wantedSince = now
	}
	return out
}

// isHeld reports whether any operator holds the Lease.
func (s seen) isHeld(now time.Time) bool {
	return s.holder != "" && now.Before(s.holderSince.Add(leaseDuration))
}

// isWantedByAnother reports whether an operator requests the namespace that its flags name.
func (s seen) isWantedByAnother(now time.Time, name string) bool {
	return s.wantedBy != "" && s.wantedBy != name && now.Before(s.wantedSince.Add(leaseDuration))
}

// step is an operator's next change of a Lease.
type step int

const (
	wait   step = iota // another operator holds the Lease
	hold               // take it, or renew it
	ask                // ask the holder, which manages all namespaces
	giveUp             // another operator requests it
)

// decideStep returns the operator's next step for the Lease of a namespace.
func (id Identity) decideStep(now time.Time, s seen, scopeOfHolder string) step {
	isOurs := s.holder == id.Name
	switch {
	case !id.NamesNamespaces && s.isWantedByAnother(now, id.Name):
		if isOurs {
			return giveUp
		}
		return wait
	case isOurs || !s.isHeld(now):
		return hold
	case id.NamesNamespaces && scopeOfHolder == scopeAll:
		return ask
	}
	return wait
}

// changeLease makes the changes of a step to a Lease, which may be new.
func (id Identity) changeLease(now time.Time, l *coordinationv1.Lease, s step) {
	annotations := maps.Clone(l.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	switch s {
	case wait:
	case hold:
		if holderOf(l) != id.Name {
			l.Spec.AcquireTime = &metav1.MicroTime{Time: now}
			l.Spec.LeaseTransitions = new(transitionsOf(l) + 1)
		}
		l.Spec.HolderIdentity, l.Spec.RenewTime = &id.Name, &metav1.MicroTime{Time: now}
		l.Spec.LeaseDurationSeconds = new(int32(leaseDuration / time.Second))
		annotations[annotationScope] = scopeAll
		if id.NamesNamespaces {
			annotations[annotationScope] = scopeNamed
		}
		// A wish that came meanwhile makes the write a conflict.
		delete(annotations, annotationWantedBy)
		delete(annotations, annotationWantedAt)
	case ask:
		annotations[annotationWantedBy], annotations[annotationWantedAt] = id.Name, now.UTC().Format(time.RFC3339Nano)
	case giveUp:
		l.Spec.HolderIdentity = new("")
	}
	l.Annotations = annotations
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func transitionsOf(l *coordinationv1.Lease) int32 {
	if l.Spec.LeaseTransitions == nil {
		return 0
	}
	return *l.Spec.LeaseTransitions
}
