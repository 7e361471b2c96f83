package refs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func TestFindSSSDConf(t *testing.T) {
	key := func(secret string) *corev1.SecretKeySelector {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: "sssd.conf"}
	}
	for _, tc := range []struct {
		name            string
		own, controller *corev1.SecretKeySelector
		want            SSSDConf
		refused         string
	}{
		{name: "its own one", own: key("own"), controller: key("shared"), want: SSSDConf{*key("own"), "spec.x"}},
		{name: "the Controller's", controller: key("shared"), want: SSSDConf{*key("shared"), "spec.sssdConfRef of Controller slurm"}},
		{name: "none", refused: "spec.x must be given, or spec.sssdConfRef of Controller slurm"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &v1beta1.Controller{}
			c.Name, c.Spec.SSSDConfRef = "slurm", tc.controller
			got, err := FindSSSDConf("spec.x", tc.own, c)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("FindSSSDConf: %v, want an error with %q", err, tc.refused)
			}
		})
	}
}
