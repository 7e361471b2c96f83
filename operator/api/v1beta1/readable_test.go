package v1beta1_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// TestWhatIsAdmittedCanBeRead: one object that cannot be read keeps the operator from reading all objects of its kind, in
// every namespace.
func TestWhatIsAdmittedCanBeRead(t *testing.T) {
	const key = "{name: k, key: k}"
	for _, field := range []struct {
		plural, format string
		into           any
		values         []string
	}{
		{"nodesets", "controllerRef: {name: a}\n  updateStrategy: {scheduledUpdate: {startTime: %s}}", &v1beta1.NodeSet{}, []string{
			`"2026-09-01t00:00:00z"`, `"2026-09-01T00:00:00z"`, `"2026-09-01T00:00:00,5Z"`, `"2026-09-01T00:00:00x5Z"`,
			`"2026-09-01T00:00:00+99:99"`, `"2026-09-01T00:00:00ZTfoo"`, `"2026-09-01T23:59:60Z"`, `"0000-01-01T00:00:00Z"`,
			`"2026-09-01T00:00:00.123456789012Z"`, `null`, `"2026-09-01T00:00:00-24:00"`}},
		{"nodesets", "controllerRef: {name: a}\n  updateStrategy: {scheduledUpdate: {duration: %s}}", &v1beta1.NodeSet{}, durations},
		{"nodesets", "controllerRef: {name: a}\n  drainPolicy: {type: Timeout, timeout: %s}", &v1beta1.NodeSet{}, durations},
		{"nodesets", "controllerRef: {name: a}\n  updateStrategy: {rollingUpdate: {maxUnavailable: %s}}", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  updateStrategy: {rollingUpdate: {partition: %s}}", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  replicas: %s", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  maxReplicas: %s", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  minReadySeconds: %s", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  revisionHistoryLimit: %s", &v1beta1.NodeSet{}, numbers},
		{"nodesets", "controllerRef: {name: a}\n  ordinalPadding: %s", &v1beta1.NodeSet{}, numbers},
		{"tokens", "username: a\n  jwtKeyRef: " + key + "\n  lifetime: %s", &v1beta1.Token{}, durations},
		{"controllers", "slurmKeyRef: " + key + "\n  jwtKeyRef: " + key + "\n  ha: {backups: %s}", &v1beta1.Controller{}, numbers},
		{"controllers", "slurmKeyRef: " + key + "\n  jwtKeyRef: " + key + "\n  service: {port: %s}", &v1beta1.Controller{}, numbers},
		{"controllers", "slurmKeyRef: " + key + "\n  jwtKeyRef: " + key + "\n  persistence: {resources: {requests: {storage: %s}}}",
			&v1beta1.Controller{}, quantities},
		{"controllers", "slurmKeyRef: " + key + "\n  jwtKeyRef: " + key +
			"\n  persistence: {selector: {matchExpressions: [{key: a, operator: %s}]}}", &v1beta1.Controller{}, numbers},
		{"loginsets", "controllerRef: {name: a}\n  sssdConfRef: " + key + "\n  replicas: %s", &v1beta1.LoginSet{}, numbers},
		{"loginsets", "controllerRef: {name: a}\n  sssdConfRef: " + key + "\n  strategy: {rollingUpdate: {maxSurge: %s}}",
			&v1beta1.LoginSet{}, numbers},
		{"restapis", "controllerRef: {name: a}\n  replicas: %s", &v1beta1.RestApi{}, numbers},
		{"clusters", "server: \"http://a\"\n  token: {secretRef: " + key + "}\n  controller: {host: a, port: %s}", &v1beta1.Cluster{},
			numbers},
	} {
		r := loadResource(t, field.plural)
		for _, value := range field.values {
			line := fmt.Sprintf(field.format, value)
			object, errs := r.admit(t, spec(line))
			if len(errs) > 0 {
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = json.Unmarshal(text, field.into)
			if took := time.Since(start); took > time.Second {
				t.Errorf("%s with %q are admitted, and take %s to read", field.plural, line, took)
			}
			if err != nil {
				t.Errorf("%s with %q are admitted, and cannot be read: %v", field.plural, line, err)
			}
		}
	}
}

var durations = []string{"1h", "1.h", ".5h", "1µs", "1us", "1μs", "2562047h", "2562048h", "9999999h", "1h1h", "0001h",
	"9223372036854775807ns", "0.0000000000001s", "999999999999999999999999999.9s", "1h-1m"}

var numbers = []string{"0", "-1", "1.0", "1.5", "1e3", "2147483647", "2147483648", "9223372036854775808", `"5"`, `"200%"`,
	`"99999999999999999999%"`, "true", "null"}

var quantities = []string{"1Gi", "1e1.5", "1e.5", "1e99999999999", "1e+3", `"-1"`, "5.", "1E", "1Ei", "1n", "1e-99999", `"1e-9999999"`, `"1e-999"`, "2147483648",
	"9223372036854775808", "1.5", "0x10", `"+1e+"`}
