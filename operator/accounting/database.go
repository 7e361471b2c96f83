package accounting

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// A slurmdbd with another database knows no cluster, account or finished job. So it is given another one only where somebody
// says that the content was moved there (AnnotationStateMoved).

// databaseIn returns the place of the database in a slurmdbd.conf, as AnnotationStateMoved names it.
func databaseIn(text string) string {
	last := map[string]string{}
	for _, s := range slurmconf.ParseSettings(text) {
		last[strings.ToLower(s.Name)] = s.Value
	}
	return fmt.Sprintf("%s:%s/%s", last["storagehost"], last["storageport"], last["storageloc"])
}

// checkDatabase returns a *problem.Error if slurmdbd.conf would name another database than the one in force, unless it is
// that of AnnotationStateMoved. A slurmdbd.conf without a host has no database.
func checkDatabase(a *v1beta1.Accounting, live, wanted string) error {
	from, to := databaseIn(live), databaseIn(wanted)
	if strings.HasPrefix(from, ":") || from == to || a.Annotations[v1beta1.AnnotationStateMoved] == to {
		return nil
	}
	return problem.New(v1beta1.ReasonStateElsewhere, "all accounts and finished jobs are in the database %s, and slurmdbd would "+
		"start with %s. Change spec.storageConfig back, or move the database and confirm it: "+
		"kubectl annotate accounting --namespace %s %s %s=%s --overwrite", from, to, a.Namespace, a.Name,
		v1beta1.AnnotationStateMoved, to)
}

// checkDatabaseOf is checkDatabase for the ConfigMap among the rendered objects.
func (r *Reconciler) checkDatabaseOf(ctx context.Context, a *v1beta1.Accounting, objects []podspec.KubeObject) error {
	const file = "slurmdbd.conf"
	for _, object := range objects {
		wanted, is := object.(*corev1.ConfigMap)
		if !is {
			continue
		}
		live := &corev1.ConfigMap{}
		if err := r.Uncached.Get(ctx, client.ObjectKeyFromObject(wanted), live); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading ConfigMap %s: %w", wanted.Name, err)
		}
		if live.Annotations[v1beta1.AnnotationAppliedHash] == "" {
			continue
		}
		return checkDatabase(a, live.Data[file], wanted.Data[file])
	}
	return nil
}
