package upgrade

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/kube/kubetest"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// TestTheCacheAllowsNothingAlone: a slurmctld has started since what the cache shows of its Controller.
func TestTheCacheAllowsNothingAlone(t *testing.T) {
	login := &v1beta1.LoginSet{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "login", UID: "login"}}
	login.Spec.ControllerRef.Name = "slurm"
	controller := &v1beta1.Controller{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "slurm", UID: "slurm"}}
	cached := kubetest.NewStore(t, login, controller.DeepCopy())
	controller.Status.ReleaseStatus = v1beta1.ReleaseStatus{Image: imageOld, Release: "24.11",
		ImageReleases: []v1beta1.ImageRelease{{Image: imageOld, Release: "24.11"}}}
	for name, tc := range map[string]struct {
		live    *kubetest.Store
		allowed bool
	}{
		"it has":              {kubetest.NewStore(t, login.DeepCopy(), controller), false},
		"there is still none": {cached, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGuard(kube.Writer{Client: cached, Uncached: tc.live}, nil, time.Now)
			o := Observation{Daemon: releases.Sackd, Wanted: imageNew, Applied: imageOld, HasReady: true, Complete: true,
				Last: v1beta1.ReleaseStatus{Image: imageOld, ImageReleases: []v1beta1.ImageRelease{
					{Image: imageOld, Release: "24.11"}, {Image: imageNew, Release: "26.05"}}}}
			d, err := g.planByLiveOthers(t.Context(), subjectOf(login), &o)
			if err != nil || d.Verdict.Allowed() != tc.allowed {
				t.Errorf("the verdict is %+v, %v", d.Verdict, err)
			}
		})
	}
}
