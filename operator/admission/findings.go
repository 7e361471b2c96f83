package admission

import (
	"errors"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// findings are the warnings and errors about an object.
type findings struct {
	warnings []string
	errs     field.ErrorList
}

func (f *findings) warn(at *field.Path, text string) {
	f.warnings = append(f.warnings, at.String()+": "+text)
}

func (f *findings) invalid(at *field.Path, value any, text string) {
	f.errs = append(f.errs, field.Invalid(at, value, text))
}

func (f *findings) required(at *field.Path, text string) {
	f.errs = append(f.errs, field.Required(at, text))
}

// result returns the result of a Validate function.
func (f *findings) result() ([]string, field.ErrorList) { return f.warnings, f.errs }

// checkOpenField decodes a field with an open schema strictly. A malformed value is an error at the
// field inside of it. Unknown fields are kept, so they are only a warning.
func checkOpenField[T any](f *findings, at *field.Path, r v1beta1.Raw, read func(v1beta1.Raw) (T, error)) (T, bool) {
	value, err := read(r)
	if err != nil {
		bad := &v1beta1.MalformedError{}
		if !errors.As(err, &bad) {
			bad.Problem = err.Error()
		}
		if bad.Path != "" {
			at = at.Child(bad.Path)
		}
		f.invalid(at, field.OmitValueType{}, bad.Problem)
		return value, false
	}
	if r.IsZero() {
		return value, true
	}
	strict, err := kjson.UnmarshalStrict(r.Raw, new(T))
	if err != nil {
		f.invalid(at, field.OmitValueType{}, err.Error())
		return value, false
	}
	for _, problem := range strict {
		f.warn(at, problem.Error())
	}
	return value, true
}

// checkContainer checks the overlay of a container.
func (f *findings) checkContainer(at *field.Path, r v1beta1.Raw) {
	checkOpenField(f, at, r, v1beta1.Raw.Container)
}

// checkTemplate checks the overlay of pods, and returns it and whether it is well-formed.
func (f *findings) checkTemplate(at *field.Path, t v1beta1.PodTemplate) (corev1.PodSpec, bool) {
	return checkOpenField(f, at.Child("spec"), t.Spec, v1beta1.Raw.PodSpec)
}

// checkService checks the overlay of a Service.
func (f *findings) checkService(at *field.Path, s v1beta1.ServiceSpec) {
	checkOpenField(f, at.Child("spec"), s.Spec, v1beta1.Raw.ServiceSpec)
	f.checkPort(at.Child("port"), s.Port)
	f.checkPort(at.Child("nodePort"), s.NodePort)
}

// checkPort checks a port. 0 means that it is not set.
func (f *findings) checkPort(at *field.Path, port int) {
	if port < 0 || port > 65535 {
		f.invalid(at, port, "must be a port, 1 to 65535")
	}
}

// checkExternal checks the address of an external daemon, which may be nil.
func (f *findings) checkExternal(at *field.Path, e *v1beta1.ExternalConfig) {
	if e == nil {
		return
	}
	if e.Host == "" {
		f.required(at.Child("host"), "the daemon's name or address")
	}
	if e.Port < 1 || e.Port > 65535 {
		f.invalid(at.Child("port"), e.Port, "must be a port, 1 to 65535")
	}
}

// checkNotNegative checks a count.
func (f *findings) checkNotNegative(at *field.Path, n int64) {
	if n < 0 {
		f.invalid(at, n, "must not be negative")
	}
}

func (f *findings) checkReplicas(at *field.Path, n *int32) {
	if n != nil {
		f.checkNotNegative(at, int64(*n))
	}
}

// requireName requires a name, which the schema allows to be empty.
func (f *findings) requireName(at *field.Path, name, what string) {
	if name == "" {
		f.required(at.Child("name"), "the name of "+what)
	}
}

// warnIgnored warns about fields that have no effect.
func (f *findings) warnIgnored(at *field.Path, fields []v1beta1.IgnoredField) {
	for _, i := range fields {
		f.warn(at.Child(i.Field), i.Explanation)
	}
}

// checkSecretKey checks a reference to a key of a Secret, which may be nil.
func (f *findings) checkSecretKey(at *field.Path, ref *corev1.SecretKeySelector) {
	if ref == nil {
		return
	}
	f.requireName(at, ref.Name, "a Secret")
	for _, problem := range validation.IsConfigMapKey(ref.Key) {
		f.invalid(at.Child("key"), ref.Key, problem)
	}
}

// checkUnchanged refuses changes of an immutable field.
func (f *findings) checkUnchanged(at *field.Path, now any, same bool) {
	if !same {
		f.invalid(at, now, "is immutable")
	}
}

// checkDuration checks an optional duration.
func (f *findings) checkDuration(at *field.Path, d *metav1.Duration) {
	if d != nil && d.Duration <= 0 {
		f.invalid(at, d.Duration.String(), "must be a positive duration, such as 30m")
	}
}

// prometheusDuration matches the durations of Prometheus.
const prometheusDuration = `^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$`

// checkMetrics checks the settings for the Prometheus operator.
func (f *findings) checkMetrics(at *field.Path, m v1beta1.Metrics) {
	if m.ServiceMonitor == nil {
		return
	}
	at = at.Child("serviceMonitor")
	f.checkInterval(at.Child("interval"), m.ServiceMonitor.Interval)
	f.checkInterval(at.Child("scrapeTimeout"), m.ServiceMonitor.ScrapeTimeout)
	for i, e := range m.ServiceMonitor.Endpoints {
		at := at.Child("endpoints").Index(i)
		f.checkInterval(at.Child("interval"), e.Interval)
		f.checkInterval(at.Child("scrapeTimeout"), e.ScrapeTimeout)
	}
}

func (f *findings) checkInterval(at *field.Path, text string) {
	if !regexp.MustCompile(prometheusDuration).MatchString(text) {
		f.invalid(at, text, "must be a Prometheus duration, such as 30s")
	}
}

// checkLabel checks that a host name made of the text is a DNS label.
func (f *findings) checkLabel(at *field.Path, text, madeOf string) {
	for _, problem := range validation.IsDNS1123Label(madeOf) {
		f.invalid(at, text, "makes the name "+strconv.Quote(madeOf)+", and "+problem)
		return
	}
}
