package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/admission"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// validationCase is an object that is written, the object that it replaces, and the expected errors
// and warnings.
type validationCase struct {
	name, old, new string
	errs, warnings []string
}

func one(text string) []string { return []string{text} }

func checkCases[T any](t *testing.T, validate func(old, new *T) ([]string, field.ErrorList),
	verdicts []validationCase) {
	t.Helper()
	read := func(text string) *T {
		if text == "" {
			return nil
		}
		out := new(T)
		if err := yaml.UnmarshalStrict([]byte("metadata: {name: a, namespace: team}\nspec: {"+text+"}"),
			out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range verdicts {
		t.Run(c.name, func(t *testing.T) {
			warnings, list := validate(read(c.old), read(c.new))
			var errs []string
			for _, err := range list {
				errs = append(errs, err.Error())
			}
			if diff := cmp.Diff(c.errs, errs, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.warnings, warnings, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodeSets(t *testing.T) {
	const c = "controllerRef: {name: slurm}, "
	const claim = c + "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]"
	checkCases(t, admission.ValidateNodeSet, []validationCase{
		{name: "the required fields only", new: "controllerRef: {name: slurm}"},
		{name: "of a Cluster", new: "clusterRef: {name: slurm}"},
		{name: "without a reference to a cluster", new: "replicas: 1",
			errs: one("spec: Invalid value: exactly one of controllerRef and clusterRef must be given")},
		{name: "of a Controller without a name", new: `controllerRef: {name: ""}`,
			errs: one("spec.controllerRef.name: Required value: the name of a Controller")},
		{name: "slurmd with a number for an image", new: c + "slurmd: {image: 5}",
			errs: one("spec.slurmd.image: Invalid value: must be a string, not number")},
		{name: "logfile with a malformed limit", new: c + "logfile: {resources: {limits: {cpu: many}}}",
			errs: one("spec.logfile.resources.limits.cpu: Invalid value: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")},
		{name: "slurmd with a name of its own", new: c + "slurmd: {args: [-v, -N, foo]}",
			errs: one(`spec.slurmd: Invalid value: argument -N "foo" names the Slurm node, and all workers would have that name`)},
		{name: "a misspelt field of slurmd", new: c + "slurmd: {imag: slurmd}",
			warnings: one(`spec.slurmd: unknown field "imag"`)},
		{name: "a template with a list instead of an object", new: c + "template: {spec: {nodeSelector: []}}",
			errs: one("spec.template.spec.nodeSelector: Invalid value: must be an object, not array")},
		{name: "a hostname in capitals", new: c + "template: {spec: {hostname: GPU}}",
			errs: one(`spec.template.spec.hostname: Invalid value: "GPU": makes the name "GPU0", and a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`)},
		{name: "a hostname that ends in a dash", new: c + "template: {spec: {hostname: gpu-}}"},
		{name: "claims", new: claim},
		{name: "a claim without a name", new: c + "volumeClaimTemplates: [{spec: {}}]",
			errs: one("spec.volumeClaimTemplates[0].metadata.name: Required value: the name of the volume")},
		{name: "two claims with the same name",
			new:  c + "volumeClaimTemplates: [{metadata: {name: a}}, {metadata: {name: a}}]",
			errs: one(`spec.volumeClaimTemplates[1].metadata.name: Duplicate value: "a"`)},
		{name: "a claim of one access mode without a list",
			new:  c + "volumeClaimTemplates: [{metadata: {name: a}, spec: {accessModes: ReadWriteOnce}}]",
			errs: one("spec.volumeClaimTemplates[0].spec.accessModes: Invalid value: must be a list, not string")},
		{name: "a drain timeout", new: c + "drainPolicy: {type: Timeout, timeout: 1h}"},
		{name: "a drain policy Timeout without a timeout", new: c + "drainPolicy: {type: Timeout}",
			errs: one("spec.drainPolicy.timeout: Required value: a drainPolicy of type Timeout requires it")},
		{name: "a negative drain timeout", new: c + "drainPolicy: {type: Timeout, timeout: -1h}",
			errs: one(`spec.drainPolicy.timeout: Invalid value: "-1h0m0s": must be a positive duration, such as 30m`)},
		{name: "a timeout that has no effect", new: c + "drainPolicy: {type: Wait, timeout: 1h}",
			warnings: one("spec.drainPolicy.timeout: has no effect unless type is Timeout")},
		{name: "force", new: c + "drainPolicy: {type: Force}",
			warnings: one("spec.drainPolicy.type: is Force: jobs are lost when their workers are deleted")},
		{name: "a rolling update with maxUnavailable 0",
			new:      c + "updateStrategy: {rollingUpdate: {maxUnavailable: 0}}",
			warnings: one("spec.updateStrategy.rollingUpdate.maxUnavailable: is zero: no worker is ever updated")},
		{name: "a malformed percentage of maxUnavailable",
			new:  c + "updateStrategy: {rollingUpdate: {maxUnavailable: some}}",
			errs: one(`spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "some": must be a number or a percentage, such as 25%`)},
		{name: "a negative partition of a rolling update", new: c + "updateStrategy: {rollingUpdate: {partition: -1}}",
			errs: one("spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must not be negative")},
		{name: "a schedule", new: c +
			`updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {startTime: "2026-09-01T00:00:00Z", duration: 30m, flags: [MAGNETIC]}}`},
		{name: "a schedule without a start",
			new:  c + "updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {duration: 30m}}",
			errs: one("spec.updateStrategy.scheduledUpdate.startTime: Required value: the start of a ScheduledUpdate")},
		{name: "a schedule with duration 0", new: c + "updateStrategy: {scheduledUpdate: {duration: 0s}}",
			errs: one(`spec.updateStrategy.scheduledUpdate.duration: Invalid value: "0s": must be a positive duration, such as 30m`)},
		{name: "a schedule with two flags in one", new: c + "updateStrategy: {scheduledUpdate: {flags: ['A,B']}}",
			errs: one(`spec.updateStrategy.scheduledUpdate.flags[0]: Invalid value: "A,B": must be one flag of a reservation, such as MAGNETIC`)},
		{name: "negative replicas", new: c + "replicas: -1",
			errs: one("spec.replicas: Invalid value: -1: must not be negative")},
		{name: "as many replicas as Slurm supports", new: c + "replicas: 65536"},
		{name: "more replicas than Slurm supports", new: c + "replicas: 65537",
			errs: one("spec.replicas: Invalid value: 65537: must be at most 65536, the number of nodes that Slurm supports")},
		{name: "more replicas than Slurm supports, as before", old: c + "replicas: 65537", new: c + "replicas: 65537"},
		{name: "more replicas than maxReplicas", new: c + "replicas: 5, maxReplicas: 4",
			warnings: one("spec.maxReplicas: is less than replicas")},
		{name: "too large an ordinalPadding", new: c + "ordinalPadding: 11",
			errs: one("spec.ordinalPadding: Invalid value: 11: must be a number of digits, 0 to 10")},
		{name: "an option without a value", new: c + `extraConf: "Topology= Weight=1"`,
			warnings: one("spec.extraConf: Topology= has no value: the next option would become its value")},
		{name: "a partition", new: c + "partition: {enabled: true}",
			warnings: one("spec.partition: is in slurm.conf only where the operator runs slurmctld; elsewhere add PartitionName=… Nodes=<name of the NodeSet> to it")},
		{name: "no partition", new: c + "partition: {enabled: false}"},
		{name: "ssh", new: c + "ssh: {enabled: true, sssdConfRef: {name: s, key: sssd.conf}}"},
		{name: "ssh to workers of a Cluster",
			new: "clusterRef: {name: slurm}, ssh: {enabled: true, sssdConfRef: {name: s, key: sssd.conf}}",
			warnings: one("spec.ssh: lets nobody in unless slurm.conf has PrologFlags=Contain, which the operator sets only " +
				"where it runs slurmctld; add it there, and restart slurmctld")},
		{name: "ssh without PAM",
			new:  c + `ssh: {enabled: true, extraSshdConfig: "UsePAM no", sssdConfRef: {name: s, key: sssd.conf}}`,
			errs: one("spec.ssh.extraSshdConfig: Invalid value: must not switch UsePAM off: by PAM, Slurm refuses users without a job")},
		{name: "ssh that moves no session into its job",
			new: c + `ssh: {enabled: true, extraSshdConfig: "KbdInteractiveAuthentication yes", sssdConfRef: {name: s, key: sssd.conf}}`,
			warnings: one("spec.ssh.extraSshdConfig: lets users in by keyboard-interactive authentication, after which " +
				"pam_slurm_adopt does not move their sessions into the job")},
		{name: "ssh that is off, without PAM",
			new: c + `ssh: {enabled: false, extraSshdConfig: "UsePAM no", sssdConfRef: {name: s, key: sssd.conf}}`},
		{name: "a NUL in sshd_config",
			new:  c + `ssh: {enabled: false, extraSshdConfig: "\0", sssdConfRef: {name: s, key: sssd.conf}}`,
			errs: one("spec.ssh.extraSshdConfig: Invalid value: must not contain a NUL character")},
		{name: "ssh at the port of the Kubernetes node",
			new:      c + "ssh: {enabled: true, sssdConfRef: {name: s, key: sssd.conf}}, template: {spec: {hostNetwork: true}}",
			warnings: one("spec.ssh.extraSshdConfig: has no Port: port 22 of the Kubernetes node may be taken by its own sshd")},
		{name: "ssh at another port of the Kubernetes node",
			new: c + `ssh: {enabled: true, extraSshdConfig: "Port 2222", sssdConfRef: {name: s, key: sssd.conf}}, template: {spec: {hostNetwork: true}}`},
		{name: "ssh with a command of slurmd's",
			new:      c + "ssh: {enabled: true, sssdConfRef: {name: s, key: sssd.conf}}, slurmd: {command: [/entry]}",
			warnings: one("spec.slurmd.command: takes the place of the command that starts sshd, which it must do itself")},
		{name: "no workload disruption protection", new: c + "workloadDisruptionProtection: false",
			warnings: one("spec.workloadDisruptionProtection: is supported in part: this NodeSet gets no PodDisruptionBudget, but the budget of another NodeSet of the cluster protects its workers, and they keep their annotations for node autoscalers")},
		{name: "ssh with an optional Secret",
			new:      c + "ssh: {enabled: false, sssdConfRef: {name: s, key: sssd.conf, optional: true}}",
			warnings: one("spec.ssh.sssdConfRef.optional: has no effect: the key is required")},
		{name: "ssh without a Secret", new: c + "ssh: {enabled: true, sssdConfRef: {key: sssd.conf}}",
			errs: one("spec.ssh.sssdConfRef.name: Required value: the name of a Secret")},

		{name: "moving to another Controller", old: "controllerRef: {name: slurm}", new: "controllerRef: {name: other}",
			errs: one("spec.controllerRef: Invalid value: is immutable: workers stay in the cluster that they joined")},
		{name: "moving to a Cluster", old: "controllerRef: {name: slurm}", new: "clusterRef: {name: slurm}",
			errs: one("spec.controllerRef: Invalid value: is immutable: workers stay in the cluster that they joined")},
		{name: "moving to another Cluster", old: "clusterRef: {name: slurm}", new: "clusterRef: {name: other}",
			errs: one("spec.clusterRef: Invalid value: is immutable: workers stay in the cluster that they joined")},
		{name: "changing the claims", old: claim,
			new:  c + "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteMany]}}]",
			errs: one("spec.volumeClaimTemplates: Invalid value: is immutable")},
		{name: "adding claims", old: c, new: claim,
			errs: one("spec.volumeClaimTemplates: Invalid value: is immutable")},
		{name: "writing the claims in another order", old: claim,
			new: c + "volumeClaimTemplates: [{spec: {accessModes: [ReadWriteOnce]}, metadata: {name: data}}]"},
		{name: "changing every mutable field", old: claim,
			new: claim + ", replicas: 3, slurmd: {image: b}, scalingMode: DaemonSet, drainPolicy: {type: Wait}"},
	})
}

func TestNamesOfNodeSets(t *testing.T) {
	n := &v1beta1.NodeSet{}
	if err := yaml.Unmarshal([]byte("metadata: {name: gpu.a100}\nspec: {controllerRef: {name: slurm}}"),
		n); err != nil {
		t.Fatal(err)
	}
	_, errs := admission.ValidateNodeSet(nil, n)
	if len(errs) != 1 || errs[0].Field != "metadata.name" {
		t.Errorf("a name with a dot, which is not a valid host name: %v", errs)
	}
}

func TestInvalidAnnotationsAreWarnedAbout(t *testing.T) {
	n := &v1beta1.NodeSet{}
	if err := yaml.Unmarshal([]byte(`
metadata:
  name: a
  annotations: {nodeset.slinky.slurm.net/wake: maybe, nodeset.slinky.slurm.net/zero-after: soon, nodeset.slinky.slurm.net/idle-grace: 10m}
spec: {controllerRef: {name: slurm}}`), n); err != nil {
		t.Fatal(err)
	}
	warnings, errs := admission.ValidateNodeSet(nil, n)
	want := []string{
		`metadata.annotations[nodeset.slinky.slurm.net/wake]: is neither "always" nor "never"`,
		"metadata.annotations[nodeset.slinky.slurm.net/zero-after]: is not a duration such as 10m",
	}
	if diff := cmp.Diff(want, warnings); diff != "" || len(errs) > 0 {
		t.Errorf("%v, warnings (-want +got):\n%s", errs, diff)
	}
}

func TestControllers(t *testing.T) {
	const unmoved = "would start slurmctld without its state; move the state, and confirm it with the annotation " +
		"slinky.slurm.net/state-moved"
	const keys = "slurmKeyRef: {name: k, key: slurm.key}, jwtKeyRef: {name: k, key: jwt.key}, "
	const older = "slurmKeyRef: {name: k, key: slurm.key}, jwtHs256KeyRef: {name: k, key: jwt.key}, "
	const forty = "a234567890b234567890c234567890d234567890"
	checkCases(t, admission.ValidateController, []validationCase{
		{name: "the required fields only", new: keys},
		{name: "a name of 40 characters", new: keys + "clusterName: " + forty},
		{name: "a name of 41 characters", new: keys + "clusterName: " + forty + "e",
			errs: one("spec.clusterName: Too long: may not be more than 40 bytes")},
		{name: "a name of two words", new: keys + "clusterName: our cluster",
			errs: one(`spec.clusterName: Invalid value: "our cluster": must be letters, digits, '_', '-' and '.'`)},
		{name: "a key of no Secret", new: "slurmKeyRef: {key: a}",
			errs: one("spec.slurmKeyRef.name: Required value: the name of a Secret")},
		{name: "sssd.conf of no Secret", new: keys + "sssdConfRef: {key: sssd.conf}",
			errs: one("spec.sssdConfRef.name: Required value: the name of a Secret")},
		{name: "an optional sssd.conf", new: keys + "sssdConfRef: {name: s, key: sssd.conf, optional: true}",
			warnings: one("spec.sssdConfRef.optional: has no effect: the key is required")},
		{name: "an external one", new: "external: true, externalConfig: {host: h, port: 6817}"},
		{name: "an external one at port 0", new: "external: true, externalConfig: {host: h, port: 0}",
			errs: one("spec.externalConfig.port: Invalid value: 0: must be a port, 1 to 65535")},
		{name: "an address for the outside", new: keys + "address: ctl.example.com"},
		{name: "an IPv6 address for the outside", new: keys + `address: "fd00::1"`},
		{name: "an address with a port", new: keys + `address: "192.0.2.1:6817"`,
			errs: one(`spec.address: Invalid value: "192.0.2.1:6817": must be the name of a host or an IP address, without a port`)},
		{name: "one address for several slurmctlds", new: keys + "address: a, ha: {enabled: true}, " +
			"persistence: {enabled: true, existingClaim: a, resources: {}}",
			errs: one(`spec.address: Invalid value: "a": must not be given with ha: each slurmctld needs an address of its own`)},
		{name: "the network of the Kubernetes node", new: keys + "template: {spec: {hostNetwork: true}}",
			warnings: one("spec.template.spec.hostNetwork: cannot work: the daemon finds itself in its configuration by the name of " +
				"its pod, which it does not have there; use spec.service and spec.address to reach it from outside")},
		{name: "a slurmctld that is malformed", new: keys + "slurmctld: {args: -v}",
			errs: one("spec.slurmctld.args: Invalid value: must be a list, not string")},
		{name: "a Service that is malformed", new: keys + "service: {spec: {ports: 6817}}",
			errs: one("spec.service.spec.ports: Invalid value: must be a list, not number")},
		{name: "a Service of a very large port", new: keys + "service: {port: 70000}",
			errs: one("spec.service.port: Invalid value: 70000: must be a port, 1 to 65535")},
		{name: "a malformed scrape interval", new: keys + "metrics: {serviceMonitor: {interval: often}}",
			errs: one(`spec.metrics.serviceMonitor.interval: Invalid value: "often": must be a Prometheus duration, such as 30s`)},
		{name: "scraping", new: keys +
			"metrics: {serviceMonitor: {interval: 1m30s, endpoints: [{path: /metrics/jobs, scrapeTimeout: 25s}]}}"},
		{name: "a key set", new: keys + "jwksKeyRef: {name: k, key: jwks.json}",
			warnings: one("spec.jwksKeyRef: is not supported yet: tokens are minted only with keys for HS256")},
		{name: "an optional key", new: "slurmKeyRef: {name: k, key: slurm.key, optional: true}",
			warnings: one("spec.slurmKeyRef.optional: has no effect: the key is required")},
		{name: "a ConfigMap without a name", new: keys + `prologScriptRefs: [{name: a}, {name: ""}]`,
			errs: one("spec.prologScriptRefs[1].name: Required value: the name of a ConfigMap")},

		{name: "another name", old: keys + "clusterName: a", new: keys + "clusterName: b",
			errs: one(`spec.clusterName: Invalid value: "b": is immutable`)},
		{name: "writing the name that it has", old: keys, new: keys + "clusterName: team_a"},
		{name: "another slurm.key", old: keys,
			new:  "slurmKeyRef: {name: other, key: slurm.key}, jwtKeyRef: {name: k, key: jwt.key}",
			errs: one("spec.slurmKeyRef: Invalid value: is immutable")},
		{name: "another JWT key", old: keys,
			new:  "slurmKeyRef: {name: k, key: slurm.key}, jwtKeyRef: {name: k, key: other}",
			errs: one("spec.jwtKeyRef: Invalid value: is immutable")},
		{name: "the same JWT key by its newer name", old: older, new: keys},
		{name: "another JWT key by its older name", old: keys,
			new:  "slurmKeyRef: {name: k, key: slurm.key}, jwtHs256KeyRef: {name: k, key: other}",
			errs: one("spec.jwtHs256KeyRef: Invalid value: is immutable")},
		{name: "state on another claim", old: keys + "persistence: {enabled: true, existingClaim: a, resources: {}}",
			new:  keys + "persistence: {enabled: true, existingClaim: b, resources: {}}",
			errs: one(`spec.persistence.existingClaim: Invalid value: "b": ` + unmoved)},
		{name: "state on no volume", old: keys + "persistence: {enabled: true, resources: {}}",
			new:  keys + "persistence: {enabled: false, resources: {}}",
			errs: one("spec.persistence.enabled: Invalid value: false: " + unmoved)},
		{name: "leaving the default persistence out", old: keys + "persistence: {enabled: true, resources: {}}", new: keys},
		{name: "leaving out an existing claim", old: keys + "persistence: {enabled: true, existingClaim: a, resources: {}}",
			new: keys, errs: one(`spec.persistence.existingClaim: Invalid value: "": ` + unmoved)},
		{name: "changing every mutable field", old: keys,
			new: keys + "extraConf: A=b, slurmctld: {image: b}, service: {port: 6817}"},
	})
}

func TestAccountings(t *testing.T) {
	const keys = "slurmKeyRef: {name: k, key: slurm.key}, jwtKeyRef: {name: k, key: jwt.key}, "
	const storage = keys + "storageConfig: {host: db, passwordKeyRef: {name: p, key: password}}"
	checkCases(t, admission.ValidateAccounting, []validationCase{
		{name: "a usual one", new: storage},
		{name: "one without a database", new: keys,
			warnings: one("spec.storageConfig: is not set: slurmdbd has no database")},
		{name: "an external one", new: "external: true, externalConfig: {host: h, port: 6819}"},
		{name: "an address that is none", new: storage + ", address: our database",
			errs: one(`spec.address: Invalid value: "our database": must be the name of a host or an IP address, without a port`)},
		{name: "one with a key set", new: storage + ", jwksKeyRef: {name: k, key: jwks.json}"},
		{name: "an optional password",
			new:      keys + "storageConfig: {host: db, passwordKeyRef: {name: p, key: password, optional: true}}",
			warnings: one("spec.storageConfig.passwordKeyRef.optional: has no effect: the key is required")},
		{name: "a password of no Secret", new: keys + "storageConfig: {host: db, passwordKeyRef: {key: password}}",
			errs: one("spec.storageConfig.passwordKeyRef.name: Required value: the name of a Secret")},
		{name: "a slurmdbd that is malformed", new: storage + ", slurmdbd: {env: {A: b}}",
			errs: one("spec.slurmdbd.env: Invalid value: must be a list, not object")},
		{name: "another slurm.key", old: storage,
			new: "slurmKeyRef: {name: o, key: slurm.key}, jwtKeyRef: {name: k, key: jwt.key}, storageConfig: {host: db, passwordKeyRef: {name: p, key: password}}", errs: one("spec.slurmKeyRef: Invalid value: is immutable")},
	})
}

func TestRestApis(t *testing.T) {
	checkCases(t, admission.ValidateRestApi, []validationCase{
		{name: "the required fields only", new: "controllerRef: {name: slurm}"},
		{name: "of no Controller", new: `controllerRef: {name: ""}`,
			errs: one("spec.controllerRef.name: Required value: the name of a Controller")},
		{name: "a slurmrestd that is malformed", new: "controllerRef: {name: slurm}, slurmrestd: {ports: {}}",
			errs: one("spec.slurmrestd.ports: Invalid value: must be a list, not object")},
	})
}

func TestLoginSets(t *testing.T) {
	const least = "controllerRef: {name: slurm}, sssdConfRef: {name: s, key: sssd.conf}, "
	checkCases(t, admission.ValidateLoginSet, []validationCase{
		{name: "the required fields only", new: least},
		{name: "the sssd.conf of the Controller", new: "controllerRef: {name: slurm}"},
		{name: "an optional configuration",
			new:      "controllerRef: {name: slurm}, sssdConfRef: {name: s, key: sssd.conf, optional: true}",
			warnings: one("spec.sssdConfRef.optional: has no effect: the key is required")},
		{name: "an unknown strategy", new: least + "strategy: {type: Sometimes}",
			errs: one(`spec.strategy.type: Unsupported value: "Sometimes": supported values: "Recreate", "RollingUpdate"`)},
		{name: "a malformed surge", new: least + "strategy: {rollingUpdate: {maxSurge: much}}",
			errs: one(`spec.strategy.rollingUpdate.maxSurge: Invalid value: "much": must be a number or a percentage, such as 25%`)},
		{name: "no surge", new: least + "strategy: {rollingUpdate: {maxSurge: 0}}"},
		{name: "a login that is malformed", new: least + "login: {tty: 1}",
			errs: one("spec.login.tty: Invalid value: must be true or false, not number")},
	})
}

func TestTokens(t *testing.T) {
	const least = "username: slurm, jwtKeyRef: {name: k, key: jwt.key}, "
	checkCases(t, admission.ValidateToken, []validationCase{
		{name: "the required fields only", new: least},
		{name: "without a user", new: `username: "", jwtKeyRef: {name: k, key: a}`,
			errs: one("spec.username: Required value: the Slurm user of the token")},
		{name: "of two users", new: `username: "a,b", jwtKeyRef: {name: k, key: a}`,
			errs: one(`spec.username: Invalid value: "a,b": must be the name of a user`)},
		{name: "with a negative lifetime", new: least + "lifetime: -1h",
			errs: one(`spec.lifetime: Invalid value: "-1h0m0s": must be a positive duration, such as 30m`)},
		{name: "with a very short lifetime", new: least + "lifetime: 10s",
			warnings: one("spec.lifetime: is less than a minute: the token may run out before it is used")},
		{name: "with an optional key", new: "username: slurm, jwtKeyRef: {name: k, key: a, optional: true}",
			warnings: one("spec.jwtKeyRef.optional: has no effect: the key is required")},
		{name: "in an optional Secret", new: least + "secretRef: {name: s, key: token, optional: true}",
			warnings: one("spec.secretRef.optional: has no effect: the operator creates the Secret")},
		{name: "in a Secret of the default's name", new: least + "secretRef: {key: token}"},
		{name: "of a key in no Secret", new: "username: slurm, jwtKeyRef: {key: a}",
			errs: one("spec.jwtKeyRef.name: Required value: the name of a Secret")},
	})
}

func TestClusters(t *testing.T) {
	const token = "token: {secretRef: {name: t, key: token}}, "
	const least = "server: 'https://slurm.example.com:6820', " + token
	checkCases(t, admission.ValidateCluster, []validationCase{
		{name: "the required fields only", new: least},
		{name: "a Cluster that workers can join",
			new: least + "slurmctld: {host: ctld, port: 6817}, slurmKeyRef: {name: k, key: slurm.key}"},
		{name: "a Cluster with an optional key",
			new:      least + "slurmctld: {host: ctld}, slurmKeyRef: {name: k, key: slurm.key, optional: true}",
			warnings: one("spec.slurmKeyRef.optional: has no effect: the key is required")},
		{name: "a Cluster without a key for workers", new: least + "slurmctld: {host: ctld}",
			warnings: one("spec: NodeSets can join only if both slurmctld and slurmKeyRef are set")},
		{name: "no URL", new: "server: slurm, " + token,
			errs: one("spec.server: Invalid value: must be an http or https URL with a host, such as https://slurm.example.com:6820")},
		{name: "a URL with a password, which no message contains", new: "server: 'https://a:secret@slurm', " + token,
			errs: one("spec.server: Invalid value: must have no credentials, query or fragment")},
		{name: "a URL that is malformed, which no message contains", new: "server: 'https://a:secret@slurm:port', " +
			token, errs: one("spec.server: Invalid value: must be an http or https URL with a host, such as https://slurm.example.com:6820")},
		{name: "a URL of an API version", new: "server: 'https://slurm/slurm/v0.0.45', " + token,
			errs: one("spec.server: Invalid value: must not contain the path of an API version")},
		{name: "a URL behind a proxy", new: "server: 'https://proxy/slurm-a', " + token},
		{name: "plain HTTP", new: "server: 'http://slurm:6820', " + token,
			warnings: one("spec.server: is not https: the token is sent as clear text")},
		{name: "a token of no key", new: "server: 'https://slurm', token: {secretRef: {name: t}}",
			errs: one("spec.token.secretRef.key: Required value: the key within the Secret")},
	})
}
