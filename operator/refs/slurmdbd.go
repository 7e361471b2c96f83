package refs

import (
	"cmp"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
)

// AccountingSlurmdbd returns where the slurmdbd of an Accounting is, inside or outside Kubernetes.
func AccountingSlurmdbd(a *v1beta1.Accounting) Address {
	if a.Spec.External && a.Spec.ExternalConfig != nil {
		return Address{Host: removeBrackets(a.Spec.ExternalConfig.Host),
			Port: cmp.Or(int32(a.Spec.ExternalConfig.Port), names.SlurmdbdPort)}
	}
	return Address{Host: cmp.Or(removeBrackets(a.Spec.Address), names.AccountingService(a.Name)+"."+a.Namespace),
		Port: cmp.Or(int32(a.Spec.Service.Port), names.SlurmdbdPort)}
}

// AccountingDatabase returns the address of an Accounting's database, with an empty host if none is set.
func AccountingDatabase(a *v1beta1.Accounting) Address {
	storage := a.Spec.StorageConfig
	if storage == nil {
		return Address{}
	}
	return Address{Host: removeBrackets(storage.Host), Port: cmp.Or(int32(storage.Port), names.DatabasePort)}
}
