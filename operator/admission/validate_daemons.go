package admission

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ValidateAccounting returns the errors of an Accounting, and warnings about surprising settings. old is the
// object that it replaces, or nil if it is new.
func ValidateAccounting(old, new *v1beta1.Accounting) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.checkSecretKey(at.Child("slurmKeyRef"), s.SlurmKeyRef)
	f.checkSecretKey(at.Child("jwtKeyRef"), s.JWTKeyRef)
	f.checkSecretKey(at.Child("jwtHs256KeyRef"), s.JWTHS256KeyRef)
	f.checkExternal(at.Child("externalConfig"), s.ExternalConfig)
	f.checkContainer(at.Child("slurmdbd"), s.Slurmdbd)
	f.checkNamedPod(at.Child("template"), s.Template)
	f.checkAddress(at.Child("address"), s.Address)
	f.checkService(at.Child("service"), s.Service)
	switch storage := at.Child("storageConfig"); {
	case s.StorageConfig != nil:
		if s.StorageConfig.Host == "" {
			f.required(storage.Child("host"), "the database server's name or address")
		}
		f.checkPort(storage.Child("port"), s.StorageConfig.Port)
		f.checkSecretKey(storage.Child("passwordKeyRef"), &s.StorageConfig.PasswordKeyRef)
	case !s.External:
		f.warn(storage, "is not set: slurmdbd has no database")
	}
	f.warnIgnored(at, s.IgnoredFields())
	if old != nil {
		checkKeysUnchanged(f, at,
			keyRefs{old.Spec.SlurmKeyRef, old.Spec.JWTKeyRef, old.Spec.JWTHS256KeyRef},
			keyRefs{s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef})
	}
	return f.result()
}

// ValidateRestApi returns the errors of a RestApi, and warnings about surprising settings.
func ValidateRestApi(_, new *v1beta1.RestApi) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.requireName(at.Child("controllerRef"), s.ControllerRef.Name, "a Controller")
	f.checkReplicas(at.Child("replicas"), s.Replicas)
	f.checkContainer(at.Child("slurmrestd"), s.Slurmrestd)
	f.checkTemplate(at.Child("template"), s.Template)
	f.checkService(at.Child("service"), s.Service)
	return f.result()
}

// ValidateLoginSet returns the errors of a LoginSet, and warnings about surprising settings.
func ValidateLoginSet(_, new *v1beta1.LoginSet) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.requireName(at.Child("controllerRef"), s.ControllerRef.Name, "a Controller")
	f.checkSecretKey(at.Child("sssdConfRef"), s.SSSDConfRef)
	f.warnIgnored(at, s.IgnoredFields())
	f.checkReplicas(at.Child("replicas"), s.Replicas)
	f.checkContainer(at.Child("login"), s.Login)
	f.checkContainer(at.Child("initconf"), s.Initconf)
	f.checkTemplate(at.Child("template"), s.Template)
	f.checkService(at.Child("service"), s.Service)
	strategy := at.Child("strategy")
	switch s.Strategy.Type {
	case "", appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType:
	default:
		f.errs = append(f.errs, field.NotSupported(strategy.Child("type"), s.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType,
				appsv1.RollingUpdateDeploymentStrategyType}))
	}
	if r := s.Strategy.RollingUpdate; r != nil {
		checkCountOrPercent(f, strategy.Child("rollingUpdate", "maxSurge"), r.MaxSurge)
		checkCountOrPercent(f, strategy.Child("rollingUpdate", "maxUnavailable"), r.MaxUnavailable)
	}
	return f.result()
}
