package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// maxClusterNameLength is the maximum length of a ClusterName in Slurm.
const maxClusterNameLength = 40

// ValidateController returns the errors of a Controller, and warnings about surprising settings. old is the object
// that it replaces, or nil if it is new.
func ValidateController(old, new *v1beta1.Controller) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	checkClusterName(f, at.Child("clusterName"), new)
	f.checkSecretKey(at.Child("slurmKeyRef"), s.SlurmKeyRef)
	f.checkSecretKey(at.Child("jwtKeyRef"), s.JWTKeyRef)
	f.checkSecretKey(at.Child("jwtHs256KeyRef"), s.JWTHS256KeyRef)
	f.checkSecretKey(at.Child("sssdConfRef"), s.SSSDConfRef)
	if s.AccountingRef != nil {
		f.requireName(at.Child("accountingRef"), s.AccountingRef.Name, "an Accounting")
	}
	f.checkExternal(at.Child("externalConfig"), s.ExternalConfig)
	f.checkContainer(at.Child("slurmctld"), s.Slurmctld)
	f.checkContainer(at.Child("reconfigure"), s.Reconfigure)
	f.checkContainer(at.Child("logfile"), s.Logfile)
	f.checkNamedPod(at.Child("template"), s.Template)
	f.checkAddress(at.Child("address"), s.Address)
	if s.Address != "" && s.HA != nil && s.HA.Enabled {
		f.invalid(at.Child("address"), s.Address, "must not be given with ha: each slurmctld needs an address of its own")
	}
	f.checkService(at.Child("service"), s.Service)
	f.checkMetrics(at.Child("metrics"), s.Metrics)
	checkConfigMapRefs(f, at, s)
	f.warnIgnored(at, s.IgnoredFields())
	if old != nil {
		f.checkUnchanged(at.Child("clusterName"), s.ClusterName, effectiveClusterName(old) == effectiveClusterName(new))
		checkKeysUnchanged(f, at,
			keyRefs{old.Spec.SlurmKeyRef, old.Spec.JWTKeyRef, old.Spec.JWTHS256KeyRef},
			keyRefs{s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef})
		if new.Annotations[v1beta1.AnnotationStateMoved] == "" { // else the reconciler compares it with the place
			checkVolumeUnchanged(f, at.Child("persistence"), old.Spec.Persistence, s.Persistence)
		}
	}
	return f.result()
}

// effectiveClusterName returns the ClusterName of a Controller's slurmctld.
func effectiveClusterName(c *v1beta1.Controller) string {
	if c.Spec.ClusterName != "" {
		return c.Spec.ClusterName
	}
	return c.Namespace + "_" + c.Name
}

func checkClusterName(f *findings, at *field.Path, c *v1beta1.Controller) {
	name := c.Spec.ClusterName
	switch {
	case len(name) > maxClusterNameLength:
		f.errs = append(f.errs, field.TooLong(at, name, maxClusterNameLength))
	case strings.ContainsFunc(name, isInvalidInName):
		f.invalid(at, name, "must be letters, digits, '_', '-' and '.'")
	case name == "" && len(effectiveClusterName(c)) > maxClusterNameLength:
		f.warn(at, "is not set, and "+effectiveClusterName(c)+" has more than the 40 characters that Slurm allows")
	}
}

func isInvalidInName(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", r)
}

// checkConfigMapRefs checks the names of ConfigMaps.
func checkConfigMapRefs(f *findings, at *field.Path, s v1beta1.ControllerSpec) {
	for _, list := range []struct {
		name string
		refs []corev1.LocalObjectReference
	}{
		{"configFileRefs", s.ConfigFileRefs},
		{"prologScriptRefs", s.PrologScriptRefs},
		{"epilogScriptRefs", s.EpilogScriptRefs},
		{"prologSlurmctldScriptRefs", s.PrologSlurmctldScriptRefs},
		{"epilogSlurmctldScriptRefs", s.EpilogSlurmctldScriptRefs},
	} {
		for i, ref := range list.refs {
			f.requireName(at.Child(list.name).Index(i), ref.Name, "a ConfigMap")
		}
	}
}

// keyRefs are the references to the keys of a cluster.
type keyRefs struct{ slurm, jwt, jwtHS256 *corev1.SecretKeySelector }

// checkKeysUnchanged refuses changes of a cluster's keys, which would invalidate everything signed with the old
// keys. The reference to the JWT key may move from the field's older name to the newer one.
func checkKeysUnchanged(f *findings, at *field.Path, old, now keyRefs) {
	same := equality.Semantic.DeepEqual
	f.checkUnchanged(at.Child("slurmKeyRef"), field.OmitValueType{}, same(old.slurm, now.slurm))
	if same(old.effectiveJWT(), now.effectiveJWT()) {
		return
	}
	name := "jwtKeyRef"
	if now.jwt == nil && now.jwtHS256 != nil {
		name = "jwtHs256KeyRef"
	}
	f.checkUnchanged(at.Child(name), field.OmitValueType{}, false)
}

// effectiveJWT returns the reference to the JWT key that is used.
func (k keyRefs) effectiveJWT() *corev1.SecretKeySelector {
	if k.jwt != nil {
		return k.jwt
	}
	return k.jwtHS256
}

// checkVolumeUnchanged refuses to change or remove the volume of slurmctld's state. A Controller without the field
// persistence has a volume.
func checkVolumeUnchanged(f *findings, at *field.Path, old, now *v1beta1.ControllerPersistence) {
	was, is := v1beta1.ControllerPersistence{Enabled: true}, v1beta1.ControllerPersistence{Enabled: true}
	if old != nil {
		was = *old
	}
	if now != nil {
		is = *now
	}
	const unmoved = "would start slurmctld without its state; move the state, and confirm it with the annotation " +
		v1beta1.AnnotationStateMoved
	if was.Enabled != is.Enabled {
		f.invalid(at.Child("enabled"), is.Enabled, unmoved)
	}
	if was.ExistingClaim != is.ExistingClaim {
		f.invalid(at.Child("existingClaim"), is.ExistingClaim, unmoved)
	}
}
