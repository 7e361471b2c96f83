//go:build e2e

package cluster

import (
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
)

// testScaleFromZero submits a job from a login pod that only workers of a NodeSet at zero can run. A stock
// HorizontalPodAutoscaler starts one. It returns when the test began.
func (e *env) testScaleFromZero() time.Time {
	// Jobs of other tests may have used its workers too. If slurmctld forgot a worker when it was killed, the worker is
	// deleted only after five minutes without a registration.
	e.kubectl("wait", "nodeset/burst", "--for=jsonpath={.status.replicas}=0", "--timeout=480s")
	begin := time.Now()
	var job string
	process.Await(e.T, func() error { // until slurmctld knows the nodes that the NodeSet may have
		out, err := e.ssh(e.Context(), "cd / && sbatch --parsable -o /dev/null -C burst --wrap hostname")
		job = out[strings.LastIndex(out, "\n")+1:]
		return err
	})
	e.awaitRecord(job)
	e.Logf("a job at zero workers has run, and sacct shows it, after %.1f s", time.Since(begin).Seconds())
	e.await("BatchHost=burst-0", "scontrol", "show", "job", job)
	return begin
}

// testScaleToZero waits until the NodeSet of testScaleFromZero is at zero again.
func (e *env) testScaleToZero(begin time.Time) {
	e.kubectl("wait", "nodeset/burst", "--for=jsonpath={.status.replicas}=0", "--timeout=180s")
	e.Logf("the NodeSet is at zero again after %.1f s", time.Since(begin).Seconds())
}
