//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/test/harness/process"
)

// TestAConfirmationThatTheStateIsMissingCountsOnce removes slurmctld's state twice. Each time, slurmctld starts only after a new
// confirmation, with the value that the condition names. It runs with -long.
func TestAConfirmationThatTheStateIsMissingCountsOnce(t *testing.T) {
	kube := startLong(t, "cluster.yaml")
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			startSlurm(t, kube, version, "cluster.yaml").testConfirmedStarts()
		})
	}
}

func (e *env) testConfirmedStarts() {
	const claim = "statesave-slurm-controller-0"
	uid := e.kubectl("get", "pvc", claim, "-o", "jsonpath={.metadata.uid}")
	e.awaitState(e.submit("--wrap", "hostname"), "COMPLETED")
	for _, lost := range []struct{ asked, confirmation string }{
		{`{.metadata.uid})" --overwrite`, uid}, {`{.metadata.uid})"-2 --overwrite`, uid + "-2"},
	} {
		note := "jsonpath={.data." + strings.ReplaceAll(slurmconf.StateFile, ".", `\.`) + "}"
		process.Await(e.T, func() error {
			if told := e.kubectl("get", "configmap", names.ControllerConfigMap("slurm"), "-o", note); !strings.Contains(told, lost.asked) {
				return fmt.Errorf("the state is not noted: %q", told)
			}
			return nil
		})
		// A slurmctld that is stopped saves nothing when its pod ends.
		e.slurm("sh", "-ec", "cd "+slurmconf.StateDir+"; kill -STOP $(cat "+slurmconf.RunDir+"/slurmctld.pid); rm -rf *")
		e.kubectl("delete", "pod", e.ctld, "--grace-period=1")
		process.Await(e.T, func() error {
			if told := e.condition("ConfigApplied"); !strings.Contains(told, lost.asked) {
				return errors.New(told)
			}
			return nil
		})
		e.kubectl("annotate", "controller", "slurm", v1beta1.AnnotationStateMoved+"="+lost.confirmation, "--overwrite")
		e.awaitCondition("ConfigApplied", "True Applied")
		e.awaitSuccess(e.ctld, "slurmctld", "sbatch --wait -o /dev/null -D / --wrap hostname") // when the worker has registered again
	}
}
