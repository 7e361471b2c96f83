package nodeset

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/kube"
	"github.com/slurmtide/slurmtide/operator/nodeset/render"
	"github.com/slurmtide/slurmtide/operator/nodeset/status"
	"github.com/slurmtide/slurmtide/operator/problem"
)

// createHostKeys creates the Secret with the host keys of the workers' sshd if it is missing. It checks at most once
// per keyReadInterval. If the operator lacks the right, the condition Ready reports it.
func (r *Reconciler) createHostKeys(ctx context.Context, s *observation) error {
	if !s.nodeSet.Spec.HasSSH() {
		return nil
	}
	meta := render.HostKeysMeta(s.input)
	key := client.ObjectKey{Namespace: meta.Namespace, Name: meta.Name}
	if seen, ok := r.hostKeysSeen.Load(key); ok && r.now().Sub(seen.(time.Time)) < keyReadInterval {
		return nil
	}
	w := kube.Writer{Client: r.client, Uncached: r.uncached, Owner: FieldManager}
	err := kube.CreateHostKeys(ctx, w, meta)
	if err == nil {
		r.hostKeysSeen.Store(key, r.now())
	}
	if reported, _ := problem.Split(err); reported != nil {
		s.problem = status.Problem{Reason: reported.Reason, Message: reported.Message}
	}
	return err
}
