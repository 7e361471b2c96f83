package admission

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ValidateAccounting says what is wrong with an Accounting that is written, and what
// may surprise. old is what it replaces; nil when it is new.
func ValidateAccounting(old, new *v1beta1.Accounting) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.secretKey(at.Child("slurmKeyRef"), s.SlurmKeyRef)
	f.secretKey(at.Child("jwtKeyRef"), s.JWTKeyRef)
	f.secretKey(at.Child("jwtHs256KeyRef"), s.JWTHS256KeyRef)
	f.external(at.Child("externalConfig"), s.ExternalConfig)
	f.container(at.Child("slurmdbd"), s.Slurmdbd)
	f.template(at.Child("template"), s.Template)
	f.service(at.Child("service"), s.Service)
	switch storage := at.Child("storageConfig"); {
	case s.StorageConfig != nil:
		if s.StorageConfig.Host == "" {
			f.required(storage.Child("host"), "the database server's name or address")
		}
		f.port(storage.Child("port"), s.StorageConfig.Port)
		f.secretKey(storage.Child("passwordKeyRef"), &s.StorageConfig.PasswordKeyRef)
	case !s.External:
		f.warn(storage, "is not given: slurmdbd has no database")
	}
	f.ignored(at, s.IgnoredFields())
	if old != nil {
		keys(f, at, keyRefs{old.Spec.SlurmKeyRef, old.Spec.JWTKeyRef, old.Spec.JWTHS256KeyRef}, keyRefs{s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef})
	}
	return f.result()
}

// ValidateRestApi says what is wrong with a RestApi that is written, and what may
// surprise. old is what it replaces; nil when it is new.
func ValidateRestApi(_, new *v1beta1.RestApi) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.names(at.Child("controllerRef"), s.ControllerRef.Name, "a Controller")
	f.replicas(at.Child("replicas"), s.Replicas)
	f.container(at.Child("slurmrestd"), s.Slurmrestd)
	f.template(at.Child("template"), s.Template)
	f.service(at.Child("service"), s.Service)
	return f.result()
}

// ValidateLoginSet says what is wrong with a LoginSet that is written, and what may
// surprise. old is what it replaces; nil when it is new.
func ValidateLoginSet(_, new *v1beta1.LoginSet) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	f.names(at.Child("controllerRef"), s.ControllerRef.Name, "a Controller")
	f.secretKey(at.Child("sssdConfRef"), &s.SSSDConfRef)
	f.ignored(at, s.IgnoredFields())
	f.replicas(at.Child("replicas"), s.Replicas)
	f.container(at.Child("login"), s.Login)
	f.container(at.Child("initconf"), s.Initconf)
	f.template(at.Child("template"), s.Template)
	f.service(at.Child("service"), s.Service)
	strategy := at.Child("strategy")
	switch s.Strategy.Type {
	case "", appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType:
	default:
		f.errs = append(f.errs, field.NotSupported(strategy.Child("type"), s.Strategy.Type,
			[]appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType}))
	}
	if r := s.Strategy.RollingUpdate; r != nil {
		share(f, strategy.Child("rollingUpdate", "maxSurge"), r.MaxSurge)
		share(f, strategy.Child("rollingUpdate", "maxUnavailable"), r.MaxUnavailable)
	}
	return f.result()
}
