package upgrade

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// newInventory returns two clusters, red and blue, which report to one slurmdbd, with a slurmrestd, login pods and
// workers each, and a third one, whose slurmctld runs elsewhere. There are workers of no Controller, too.
func newInventory() *inventory {
	out := &inventory{}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	status := v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11"}
	a := v1beta1.Accounting{ObjectMeta: meta("acct")}
	a.Status.ReleaseStatus = status
	out.accountings.Items = append(out.accountings.Items, a, v1beta1.Accounting{ObjectMeta: meta("unused")})
	for _, name := range []string{"red", "blue", "outside"} {
		c := v1beta1.Controller{ObjectMeta: meta(name)}
		c.Spec.AccountingRef, c.Spec.External = &corev1.LocalObjectReference{Name: "acct"}, name == "outside"
		c.Status.ReleaseStatus = status
		r, l := v1beta1.RestApi{ObjectMeta: meta(name)}, v1beta1.LoginSet{ObjectMeta: meta(name)}
		r.Spec.ControllerRef.Name, l.Spec.ControllerRef.Name = name, name
		r.Status.ReleaseStatus, l.Status.ReleaseStatus = status, status
		out.controllers.Items = append(out.controllers.Items, c)
		n := v1beta1.NodeSet{ObjectMeta: meta(name)}
		n.Spec.ControllerRef, n.Status.ReleaseStatus = &corev1.LocalObjectReference{Name: name}, status
		out.nodeSets.Items = append(out.nodeSets.Items, n)
		out.restAPIs.Items, out.loginSets.Items = append(out.restAPIs.Items, r), append(out.loginSets.Items, l)
	}
	n := v1beta1.NodeSet{ObjectMeta: meta("elsewhere")}
	n.Spec.ClusterRef, n.Status.ReleaseStatus = &corev1.LocalObjectReference{Name: "red"}, status
	out.nodeSets.Items = append(out.nodeSets.Items, n)
	return out
}

func TestMembersOfACluster(t *testing.T) {
	v := newInventory()
	for _, tc := range []struct {
		name string
		self Object
		want []string
	}{
		{"a slurmctld", &v.controllers.Items[0], []string{"Accounting acct", "RestApi red", "LoginSet red", "NodeSet red"}},
		{"a slurmdbd", &v.accountings.Items[0], []string{"Controller red", "Controller blue", "RestApi red",
			"RestApi blue", "RestApi outside", "LoginSet red", "LoginSet blue", "LoginSet outside", "NodeSet red", "NodeSet blue",
			"NodeSet outside"}},
		{"a slurmrestd", &v.restAPIs.Items[1], []string{"Controller blue", "Accounting acct"}},
		{"login pods", &v.loginSets.Items[0], []string{"Controller red", "Accounting acct"}},
		{"workers", &v.nodeSets.Items[0], []string{"Controller red", "Accounting acct"}},
		{"workers of a slurmctld outside", &v.nodeSets.Items[2], []string{"Accounting acct"}},
		{"workers of a Cluster", &v.nodeSets.Items[3], nil},
		{"a slurmdbd of nobody", &v.accountings.Items[1], nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			members, isAsked := membersOf(subjectOf(tc.self).daemon, v.othersOf(tc.self))
			var got []string
			for _, m := range members {
				got = append(got, m.Name)
				if m.Release != oldRelease {
					t.Errorf("%s is %s", m.Name, m.Release)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || isAsked {
				t.Errorf("asked: %t (-want +got):\n%s", isAsked, diff)
			}
		})
	}
}

// TestWhatDoesNotRunIsNoMember: neither an object whose pods were never made nor one that is being deleted.
func TestWhatDoesNotRunIsNoMember(t *testing.T) {
	v := newInventory()
	v.restAPIs.Items[0].Status.ReleaseStatus = v1beta1.ReleaseStatus{}
	v.loginSets.Items[0].DeletionTimestamp, v.nodeSets.Items[0].DeletionTimestamp = &metav1.Time{}, &metav1.Time{}
	members, _ := membersOf(releases.Slurmctld, v.othersOf(&v.controllers.Items[0]))
	if len(members) != 1 || members[0].Name != "Accounting acct" {
		t.Errorf("they are %v", members)
	}
}

// TestASlurmctldThatGoesOnIsAMember although its Controller is being deleted: it waits for workers.
func TestASlurmctldThatGoesOnIsAMember(t *testing.T) {
	v := newInventory()
	c := &v.controllers.Items[0]
	c.DeletionTimestamp, c.Finalizers = &metav1.Time{}, []string{v1beta1.FinalizerSlurmctld}
	members, _ := membersOf(releases.Sackd, v.othersOf(&v.loginSets.Items[0]))
	if len(members) != 2 || members[0].Name != "Controller red" {
		t.Errorf("they are %v", members)
	}
}

// TestWorkersThatAreDrainedAreMembers although their NodeSet is being deleted.
func TestWorkersThatAreDrainedAreMembers(t *testing.T) {
	v := newInventory()
	n := &v.nodeSets.Items[0]
	n.DeletionTimestamp, n.Finalizers = &metav1.Time{}, []string{v1beta1.FinalizerDrain}
	members, _ := membersOf(releases.Slurmctld, v.othersOf(&v.controllers.Items[0]))
	if len(members) != 4 || members[3].Name != "NodeSet red" {
		t.Errorf("they are %v", members)
	}
}

func TestAnImageThatChangesAsksTheOthers(t *testing.T) {
	v := newInventory()
	v.restAPIs.Items[0].Status.NextImage = imageNew
	if _, isAsked := membersOf(releases.Slurmctld, v.othersOf(&v.controllers.Items[0])); !isAsked {
		t.Error("its slurmctld is not asked")
	}
	if _, isAsked := membersOf(releases.Sackd, v.othersOf(&v.loginSets.Items[0])); isAsked {
		t.Error("login pods are asked, which slurmrestd does not talk to")
	}
	if _, isAsked := membersOf(releases.Slurmctld, v.othersOf(&v.controllers.Items[1])); isAsked {
		t.Error("another cluster is asked")
	}
}

// TestTheOlderReleaseCountsWhilePodsAreReplaced: in both directions.
func TestTheOlderReleaseCountsWhilePodsAreReplaced(t *testing.T) {
	for _, tc := range []struct {
		name          string
		release, next string
		allowed       metav1.ConditionStatus
		want          string
	}{
		{"up", "24.11", "26.05", metav1.ConditionTrue, "24.11"},
		{"down", "26.05", "24.11", metav1.ConditionTrue, "24.11"},
		{"down, which is refused", "26.05", "24.11", metav1.ConditionFalse, "26.05"},
		{"to what is not known", "26.05", "", metav1.ConditionTrue, "26.05"},
		{"from what is not known", "", "24.11", metav1.ConditionTrue, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := newInventory()
			s := &v.restAPIs.Items[0].Status
			s.Release, s.NextImage = tc.release, "other"
			s.ImageReleases = []v1beta1.ImageRelease{{Image: "other", Release: tc.next}}
			s.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReleaseAllowed, Status: tc.allowed}}
			members, _ := membersOf(releases.Slurmctld, []Object{&v.restAPIs.Items[0]})
			if got := members[0].Release; got != parse(tc.want) {
				t.Errorf("it is %s, not %s", got, tc.want)
			}
		})
	}
}

// TestARefusedImageHidesNoPods: login pods are being given 26.05, and some have it, when others are wanted.
func TestARefusedImageHidesNoPods(t *testing.T) {
	const tooNew, back = "slurm:26.11", "slurm:25.11"
	l := &newInventory().loginSets.Items[0]
	status, conditions := l.ReleaseStatusOf()
	*status = v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11", NextImage: imageNew,
		ImageReleases: []v1beta1.ImageRelease{oldKnown, newKnown}}
	o := Observation{Daemon: releases.Sackd, Applied: imageNew, HasReady: true, IsRecorded: true,
		Others: []releases.Member{{Daemon: releases.Slurmctld, Name: "Controller c", Release: newRelease}},
		Answers: map[string]Answer{tooNew: {Release: releases.Release{Year: 26, Month: 11}},
			back: {Release: releases.Release{Year: 25, Month: 11}}}}
	for i, tc := range []struct {
		wanted     string
		isComplete bool
		reason     string
		newest     releases.Release
	}{
		{tooNew, false, v1beta1.ReasonWaitingForSlurmctld, newRelease},
		{imageNew, false, v1beta1.ReasonAllowed, newRelease},
		{imageNew, false, v1beta1.ReasonAllowed, newRelease},
		{back, false, v1beta1.ReasonAllowed, newRelease},
		{back, false, v1beta1.ReasonAllowed, newRelease}, // now the workload has it
		{back, false, v1beta1.ReasonAllowed, newRelease},
		{back, true, v1beta1.ReasonAllowed, releases.Release{}},
	} {
		o.Last, o.Wanted, o.Complete = *status.DeepCopy(), tc.wanted, tc.isComplete
		d := Plan(o)
		d.Record(l, time.Unix(0, 0))
		o.Applied, o.IsRecorded = d.Image, meta.IsStatusConditionTrue(*conditions, v1beta1.ConditionReleaseAllowed)
		if got := reasonIn(*conditions); got != tc.reason {
			t.Errorf("step %d, %s: the reason is %s", i, tc.wanted, got)
		}
		members, _ := membersOf(releases.Slurmctld, []Object{l})
		if got := members[0].Newest; got != tc.newest {
			t.Errorf("step %d, %s: the newest release is %s, want %s; status %+v", i, tc.wanted, got, tc.newest, status)
		}
	}
}

// TestALostReleaseIsNoLookupInProgress: those that wait for it name the object that says what to do.
func TestALostReleaseIsNoLookupInProgress(t *testing.T) {
	v := newInventory()
	s := &v.loginSets.Items[0].Status
	s.Release = ""
	for _, tc := range []struct{ reason, message string }{
		{v1beta1.ReasonUnknown, "the sackd of LoginSet red is being looked up"},
		{v1beta1.ReasonLookupFailed, "the sackd of LoginSet red cannot be looked up: its condition ReleaseAllowed says what to do"},
	} {
		s.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReleaseAllowed, Status: metav1.ConditionFalse, Reason: tc.reason}}
		members, _ := membersOf(releases.Slurmctld, []Object{&v.loginSets.Items[0]})
		got := releases.Judge(releases.Change{Daemon: releases.Slurmctld, From: oldRelease, To: newRelease, Others: members})
		if got.Reason != releases.ReasonUnknown || !strings.Contains(got.Message, tc.message) {
			t.Errorf("%s: %+v", tc.reason, got)
		}
	}
}

// TestADaemonThatNeverRanIsNoMember: it waits for the slurmdbd, which would wait for its release for ever. It is one when it
// is given another image.
func TestADaemonThatNeverRanIsNoMember(t *testing.T) {
	v := newInventory()
	a, c := &v.accountings.Items[0], &v.controllers.Items[0]
	c.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: "typo:1", NextImage: imageNew, NeverRan: true,
		ImageReleases: []v1beta1.ImageRelease{newKnown}}
	c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReleaseAllowed, Status: metav1.ConditionFalse}}
	members, isAsked := membersOf(releases.Slurmdbd, v.othersOf(a))
	isController := func(m releases.Member) bool { return m.Name == "Controller red" }
	if slices.ContainsFunc(members, isController) || !isAsked {
		t.Errorf("the slurmdbd is asked: %t; the members are %v", isAsked, members)
	}
	c.Status.Conditions[0].Status = metav1.ConditionTrue
	members, _ = membersOf(releases.Slurmdbd, v.othersOf(a))
	if i := slices.IndexFunc(members, isController); i < 0 || members[i].Release != newRelease {
		t.Errorf("it is given another image, and the members are %v", members)
	}
	c.Status.NextImage = "" // the condition is of an earlier image
	if members, _ = membersOf(releases.Slurmdbd, v.othersOf(a)); slices.ContainsFunc(members, isController) {
		t.Errorf("it is to keep its image, and the members are %v", members)
	}
}

// TestWhatRefersToNothingIsAMember of the cluster for which its pods were made.
func TestWhatRefersToNothingIsAMember(t *testing.T) {
	v := newInventory()
	r, l := &v.restAPIs.Items[0], &v.loginSets.Items[0]
	r.Spec.ControllerRef.Name, l.Spec.ControllerRef.Name = "gone", "gone"
	v.strays = map[client.Object]string{r: "red", l: "red"}
	members, _ := membersOf(releases.Slurmctld, v.othersOf(&v.controllers.Items[0]))
	var got []string
	for _, m := range members {
		got = append(got, m.Name)
	}
	if diff := cmp.Diff([]string{"Accounting acct", "RestApi red", "LoginSet red", "NodeSet red"}, got); diff != "" {
		t.Error(diff)
	}
}
