package admission

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// clusterNameLength is the most characters that Slurm takes for a ClusterName.
const clusterNameLength = 40

// ValidateController says what is wrong with a Controller that is written, and what
// may surprise. old is what it replaces; nil when it is new.
func ValidateController(old, new *v1beta1.Controller) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	clusterName(f, at.Child("clusterName"), new)
	f.secretKey(at.Child("slurmKeyRef"), s.SlurmKeyRef)
	f.secretKey(at.Child("jwtKeyRef"), s.JWTKeyRef)
	f.secretKey(at.Child("jwtHs256KeyRef"), s.JWTHS256KeyRef)
	if s.AccountingRef != nil {
		f.names(at.Child("accountingRef"), s.AccountingRef.Name, "an Accounting")
	}
	f.external(at.Child("externalConfig"), s.ExternalConfig)
	f.container(at.Child("slurmctld"), s.Slurmctld)
	f.container(at.Child("reconfigure"), s.Reconfigure)
	f.container(at.Child("logfile"), s.Logfile)
	f.template(at.Child("template"), s.Template)
	f.service(at.Child("service"), s.Service)
	f.metrics(at.Child("metrics"), s.Metrics)
	files(f, at, s)
	f.ignored(at, s.IgnoredFields())
	if old != nil {
		f.immutable(at.Child("clusterName"), s.ClusterName, nameOf(old) == nameOf(new))
		keys(f, at, keyRefs{old.Spec.SlurmKeyRef, old.Spec.JWTKeyRef, old.Spec.JWTHS256KeyRef}, keyRefs{s.SlurmKeyRef, s.JWTKeyRef, s.JWTHS256KeyRef})
		volume(f, at.Child("persistence"), old.Spec.Persistence, s.Persistence)
	}
	return f.result()
}

// nameOf is the ClusterName that a Controller's slurmctld has.
func nameOf(c *v1beta1.Controller) string {
	if c.Spec.ClusterName != "" {
		return c.Spec.ClusterName
	}
	return c.Namespace + "_" + c.Name
}

func clusterName(f *findings, at *field.Path, c *v1beta1.Controller) {
	name := c.Spec.ClusterName
	switch {
	case len(name) > clusterNameLength:
		f.errs = append(f.errs, field.TooLong(at, name, clusterNameLength))
	case strings.ContainsFunc(name, notInNames):
		f.invalid(at, name, "must be letters, digits, '_', '-' and '.'")
	case name == "" && len(nameOf(c)) > clusterNameLength:
		f.warn(at, "is not given, and "+nameOf(c)+" has more than the 40 characters that Slurm takes")
	}
}

func notInNames(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", r)
}

// files checks the names of ConfigMaps.
func files(f *findings, at *field.Path, s v1beta1.ControllerSpec) {
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
			f.names(at.Child(list.name).Index(i), ref.Name, "a ConfigMap")
		}
	}
}

// keyRefs are the references to the keys of a cluster.
type keyRefs struct{ slurm, jwt, jwtHS256 *corev1.SecretKeySelector }

// keys refuses that a cluster gets other keys: what was signed with the old ones
// would be worth nothing at once. The older name of the JWT key may be exchanged for
// the newer one.
func keys(f *findings, at *field.Path, old, now keyRefs) {
	same := equality.Semantic.DeepEqual
	f.immutable(at.Child("slurmKeyRef"), field.OmitValueType{}, same(old.slurm, now.slurm))
	if same(old.effective(), now.effective()) {
		return
	}
	name := "jwtKeyRef"
	if now.jwt == nil && now.jwtHS256 != nil {
		name = "jwtHs256KeyRef"
	}
	f.immutable(at.Child(name), field.OmitValueType{}, false)
}

// effective is the JWT key that is used.
func (k keyRefs) effective() *corev1.SecretKeySelector {
	if k.jwt != nil {
		return k.jwt
	}
	return k.jwtHS256
}

// volume refuses that slurmctld's state gets another volume, or none.
func volume(f *findings, at *field.Path, old, now *v1beta1.ControllerPersistence) {
	var was, is v1beta1.ControllerPersistence
	if old != nil {
		was = *old
	}
	if now != nil {
		is = *now
	}
	f.immutable(at.Child("enabled"), is.Enabled, was.Enabled == is.Enabled)
	f.immutable(at.Child("existingClaim"), is.ExistingClaim, was.ExistingClaim == is.ExistingClaim)
}
