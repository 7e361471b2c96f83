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

// findings are what a look at an object has found.
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

// result is what the Validate functions return.
func (f *findings) result() ([]string, field.ErrorList) { return f.warnings, f.errs }

// checkOpenField reads an open part strictly. One that is malformed is an error at the field
// inside of it; fields that its type does not know are kept, so a warning.
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

// checkContainer checks what is laid over a container.
func (f *findings) checkContainer(at *field.Path, r v1beta1.Raw) {
	checkOpenField(f, at, r, v1beta1.Raw.Container)
}

// checkTemplate checks what is laid over pods, and returns it if it can be read.
func (f *findings) checkTemplate(at *field.Path, t v1beta1.PodTemplate) (corev1.PodSpec, bool) {
	return checkOpenField(f, at.Child("spec"), t.Spec, v1beta1.Raw.PodSpec)
}

// checkService checks what is laid over a Service.
func (f *findings) checkService(at *field.Path, s v1beta1.ServiceSpec) {
	checkOpenField(f, at.Child("spec"), s.Spec, v1beta1.Raw.ServiceSpec)
	f.checkPort(at.Child("port"), s.Port)
	f.checkPort(at.Child("nodePort"), s.NodePort)
}

// checkPort checks a port of which 0 means that it is not given.
func (f *findings) checkPort(at *field.Path, port int) {
	if port < 0 || port > 65535 {
		f.invalid(at, port, "must be a port, 1 to 65535")
	}
}

// checkExternal checks where a daemon listens; nil is nowhere.
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

// checkNotNegative checks a number of things.
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

// requireName demands the name that the schema lets be empty.
func (f *findings) requireName(at *field.Path, name, what string) {
	if name == "" {
		f.required(at.Child("name"), "the name of "+what)
	}
}

// warnIgnored warns of fields that nothing follows.
func (f *findings) warnIgnored(at *field.Path, fields []v1beta1.IgnoredField) {
	for _, i := range fields {
		f.warn(at.Child(i.Field), i.Explanation)
	}
}

// checkSecretKey checks a reference to a key of a Secret; nil is none.
func (f *findings) checkSecretKey(at *field.Path, ref *corev1.SecretKeySelector) {
	if ref == nil {
		return
	}
	f.requireName(at, ref.Name, "a Secret")
	for _, problem := range validation.IsConfigMapKey(ref.Key) {
		f.invalid(at.Child("key"), ref.Key, problem)
	}
}

// checkUnchanged refuses that a field changes.
func (f *findings) checkUnchanged(at *field.Path, now any, same bool) {
	if !same {
		f.invalid(at, now, "is immutable")
	}
}

// checkDuration checks a length of time that may be left out.
func (f *findings) checkDuration(at *field.Path, d *metav1.Duration) {
	if d != nil && d.Duration <= 0 {
		f.invalid(at, d.Duration.String(), "must be a positive duration, such as 30m")
	}
}

// prometheusDuration is how Prometheus writes lengths of time.
const prometheusDuration = `^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$`

// checkMetrics checks what the Prometheus operator is told.
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
		f.invalid(at, text, "must be a duration of Prometheus, as 30s")
	}
}

// checkLabel checks a part of a host's name.
func (f *findings) checkLabel(at *field.Path, text, madeOf string) {
	for _, problem := range validation.IsDNS1123Label(madeOf) {
		f.invalid(at, text, "makes the name "+strconv.Quote(madeOf)+", and "+problem)
		return
	}
}
