package render

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// Objects returns all objects of an Accounting, referenced ones first. If one cannot be rendered, none is returned.
// The error names the faulty field.
func Objects(in Input) ([]podspec.KubeObject, error) {
	config, err := newConfigMap(in)
	if err != nil {
		return nil, err
	}
	service, err := newService(in)
	if err != nil {
		return nil, err
	}
	set, err := newStatefulSet(in)
	if err != nil {
		return nil, err
	}
	return []podspec.KubeObject{config, service, set}, nil
}

// newConfigMap returns the ConfigMap with slurmdbd.conf, where the agent adds the password, and with the accounts, if
// set.
func newConfigMap(in Input) (*corev1.ConfigMap, error) {
	storage := in.Accounting.Spec.StorageConfig
	database := refs.AccountingDatabase(in.Accounting)
	text, err := slurmconf.SlurmdbdConf{
		Host: names.AccountingPod(in.Accounting.Name), Port: in.port(),
		StorageHost: database.Host, StoragePort: database.Port,
		Database: cmp.Or(storage.Database, "slurm_acct_db"), User: storage.Username,
		UsesIPv6: in.UsesIPv6, Extra: in.Accounting.Spec.ExtraConf,
	}.Render()
	if err != nil {
		return nil, fmt.Errorf("rendering slurmdbd.conf: %w", err)
	}
	files := map[string]string{"slurmdbd.conf": text}
	if in.Accounts != nil {
		if files[slurmconf.AccountsFile], err = in.Accounts.Render(); err != nil {
			return nil, err
		}
	}
	files[slurmconf.RevisionFile] = podspec.HashFiles(files)
	out := &corev1.ConfigMap{ObjectMeta: in.metadata(names.AccountingConfigMap(in.Accounting.Name)), Data: files}
	out.APIVersion, out.Kind = "v1", "ConfigMap"
	return out, nil
}

// newService returns the Service of slurmdbd, with the user's part.
func newService(in Input) (*corev1.Service, error) {
	out, err := podspec.NewService(in.metadata(names.AccountingService(in.Accounting.Name)), in.selector(),
		ContainerSlurmdbd, in.port(), in.Accounting.Spec.Service)
	if err != nil {
		return nil, err
	}
	podspec.KeepSourceAddress(out)
	return out, nil
}
