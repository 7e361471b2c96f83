package accounting

import (
	"context"
	"encoding/json"
	"fmt"

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
	config := &corev1.ConfigMap{}
	err := r.Uncached.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: spec.ConfigMapRef.Name}, config)
	switch {
	case apierrors.IsNotFound(err):
		return nil, problem.New(v1beta1.ReasonReferenceNotFound, "spec.accounts.configMapRef: there is no ConfigMap %s",
			spec.ConfigMapRef.Name)
	case err != nil:
		return nil, fmt.Errorf("reading ConfigMap %s: %w", spec.ConfigMapRef.Name, err)
	}
	return selectAccounts(spec, config)
}

// selectAccounts returns the accounts in a ConfigMap.
func selectAccounts(spec *v1beta1.AccountsSpec, config *corev1.ConfigMap) (*slurmconf.Accounts, error) {
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
	out := &slurmconf.Accounts{DryRun: spec.Mode == v1beta1.AccountsDryRun, Prune: spec.Prune, Files: files}
	all, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("hashing accounts: %w", err)
	}
	out.Revision = podspec.HashContent(all)
	return out, nil
}
