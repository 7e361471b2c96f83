package admission

import (
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// ValidateToken returns the errors of a Token, and warnings about surprising settings.
func ValidateToken(_, new *v1beta1.Token) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	switch {
	case s.Username == "":
		f.required(at.Child("username"), "the Slurm user of the token")
	case strings.ContainsAny(s.Username, " \t\n,:/"):
		f.invalid(at.Child("username"), s.Username, "must be the name of a user")
	}
	f.checkSecretKey(at.Child("jwtKeyRef"), s.JWTKeyRef)
	f.checkSecretKey(at.Child("jwtHs256KeyRef"), s.JWTHS256KeyRef)
	f.checkDuration(at.Child("lifetime"), s.Lifetime)
	// slurmrestd and slurmctld compare times to the second, by their own clocks.
	if s.Lifetime != nil && s.Lifetime.Duration > 0 && s.Lifetime.Duration < time.Minute {
		f.warn(at.Child("lifetime"), "is less than a minute: the token may run out before it is used")
	}
	f.warnIgnored(at, s.IgnoredFields())
	if s.SecretRef != nil && s.SecretRef.Key == "" {
		f.required(at.Child("secretRef", "key"), "the key to write the token to")
	}
	return f.result()
}

// ValidateCluster returns the errors of a Cluster, and warnings about surprising settings.
func ValidateCluster(_, new *v1beta1.Cluster) (warnings []string, errs field.ErrorList) {
	f, at, s := &findings{}, field.NewPath("spec"), new.Spec
	checkServer(f, at, s)
	token := at.Child("token", "secretRef")
	f.requireName(token, s.Token.SecretRef.Name, "a Secret")
	if s.Token.SecretRef.Key == "" {
		f.required(token.Child("key"), "the key within the Secret")
	}
	f.checkSecretKey(at.Child("slurmKeyRef"), s.SlurmKeyRef)
	f.warnIgnored(at, s.IgnoredFields())
	if a := s.Slurmctld; a != nil {
		if a.Host == "" {
			f.required(at.Child("slurmctld", "host"), "slurmctld's name or address")
		}
		f.checkPort(at.Child("slurmctld", "port"), int(a.Port))
	}
	if (s.Slurmctld == nil) != (s.SlurmKeyRef == nil) {
		f.warn(at, "NodeSets can join only if both slurmctld and slurmKeyRef are set")
	}
	return f.result()
}

// checkServer checks slurmrestd's URL. Messages do not contain the URL, because it may contain a
// password.
func checkServer(f *findings, at *field.Path, s v1beta1.ClusterSpec) {
	where, none := at.Child("server"), field.OmitValueType{}
	u, err := url.Parse(s.Server)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		f.invalid(where, none, "must be an http or https URL with a host, such as https://slurm.example.com:6820")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		f.invalid(where, none, "must have no credentials, query or fragment")
	case strings.Contains(u.Path+"/", "/slurm/") || strings.Contains(u.Path+"/", "/slurmdb/"):
		f.invalid(where, none, "must not contain the path of an API version")
	case u.Scheme == "http":
		f.warn(where, "is not https: the token is sent as clear text")
		if s.CARef != nil || s.ClientCertRef != nil {
			f.warn(where, "is not https: caRef and clientCertRef have no effect")
		}
	}
}
