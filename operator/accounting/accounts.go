package accounting

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// readAccounts returns the accounts that the database of an Accounting should have, nil if there are none. A
// *problem.Error says what is missing.
func (r *Reconciler) readAccounts(ctx context.Context, a *v1beta1.Accounting) (*slurmconf.Accounts, error) {
	spec := a.Spec.Accounts
	if spec == nil || !r.MayRunIn(a.Namespace) {
		return nil, nil
	}
	if err := r.checkDatabaseOwner(ctx, a); err != nil {
		return nil, err
	}
	config := &corev1.ConfigMap{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: spec.ConfigMapRef.Name}, config)
	switch {
	case apierrors.IsNotFound(err):
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "spec.accounts.configMapRef: there is no ConfigMap %s",
			spec.ConfigMapRef.Name)
	case err != nil:
		return nil, fmt.Errorf("reading ConfigMap %s: %w", spec.ConfigMapRef.Name, err)
	}
	return selectAccounts(spec, config, listRemovals(a.Annotations[v1beta1.AnnotationRemoveAccounts])...)
}

// selectAccounts returns the accounts in a ConfigMap, with the removals that somebody has confirmed.
func selectAccounts(spec *v1beta1.AccountsSpec, config *corev1.ConfigMap, removals ...string) (*slurmconf.Accounts, error) {
	files := config.Data
	if key := spec.ConfigMapRef.Key; key != "" {
		text, has := config.Data[key]
		if !has {
			return nil, problem.New(v1beta1.ReasonReferenceNotFound,
				"spec.accounts.configMapRef: ConfigMap %s has no key %s", config.Name, key)
		}
		files = map[string]string{key: text}
	}
	if len(files) == 0 {
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "spec.accounts.configMapRef: ConfigMap %s has no files",
			config.Name)
	}
	out := &slurmconf.Accounts{DryRun: spec.Mode == v1beta1.AccountsDryRun, Prune: spec.Prune, Files: files,
		Removals: removals}
	all, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("hashing accounts: %w", err)
	}
	out.Revision = podspec.HashContent(all)
	return out, nil
}

// listRemovals returns the removals that an annotation confirms, nil for none.
func listRemovals(annotation string) []string {
	var out []string
	for name := range strings.SplitSeq(annotation, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// checkDatabaseOwner returns a *problem.Error if an older Accounting of the namespace applies accounts to the same
// database: each would change and remove what the other one has added. Other namespaces have no say in it.
func (r *Reconciler) checkDatabaseOwner(ctx context.Context, a *v1beta1.Accounting) error {
	list := &v1beta1.AccountingList{}
	if err := r.Client.List(ctx, list, client.InNamespace(a.Namespace)); err != nil {
		return fmt.Errorf("listing Accountings: %w", err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; sharesDatabase(a, other) && isOlder(other, a) {
			return problem.New(v1beta1.ReasonDatabaseShared, "Accounting %s applies its accounts to the same database; "+
				"leave spec.accounts to one of them", other.Name)
		}
	}
	return nil
}

// sharesDatabase reports whether two Accountings of a namespace apply accounts to one database.
func sharesDatabase(a, b *v1beta1.Accounting) bool {
	if a.Spec.Accounts == nil || b.Spec.Accounts == nil || b.Spec.External || a.Spec.StorageConfig == nil ||
		b.Spec.StorageConfig == nil {
		return false
	}
	return databaseOf(a) == databaseOf(b)
}

// databaseOf returns host, port and name of the database of an Accounting.
func databaseOf(a *v1beta1.Accounting) string {
	s := a.Spec.StorageConfig
	host := strings.ToLower(strings.TrimSuffix(s.Host, "."))
	for _, suffix := range []string{".cluster.local", ".svc", "." + a.Namespace} {
		host = strings.TrimSuffix(host, suffix)
	}
	return fmt.Sprintf("%s:%d/%s", host, cmp.Or(s.Port, 3306), cmp.Or(s.Database, "slurm_acct_db"))
}

// isOlder reports whether one Accounting was created before another one, whose name decides at the same second.
func isOlder(a, b *v1beta1.Accounting) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
