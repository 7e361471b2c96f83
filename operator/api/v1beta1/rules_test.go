package v1beta1_test

import (
	"strings"
	"testing"
)

// spec returns a manifest with the lines of a spec.
func spec(lines ...string) string {
	return "metadata: {name: a}\nspec:\n  " + strings.Join(lines, "\n  ") + "\n"
}

func TestNodeSetRules(t *testing.T) {
	const ref = "controllerRef: {name: slurm}"
	checkRules(t, "nodesets", []ruleCase{
		{"names a Controller", spec(ref), ""},
		{"names a Cluster", spec("clusterRef: {name: slurm}"), ""},
		{"names neither", spec("replicas: 1"), "exactly one of controllerRef and clusterRef"},
		{"names both", spec(ref, "clusterRef: {name: b}"), "exactly one of controllerRef and clusterRef"},
		{"is at zero", spec(ref, "replicas: 0", "maxReplicas: 4"), ""},
		{"has a negative maximum", spec(ref, "maxReplicas: -1"), "maxReplicas"},
		{"has more replicas than fit 32 bits", spec(ref, "replicas: 3000000000"), "replicas"},
		{"has an unknown scaling mode", spec(ref, "scalingMode: Deployment"), "scalingMode"},
		{"prunes by an unknown policy", spec(ref, "pruneSlurmNodeRecords: Always"), "pruneSlurmNodeRecords"},
		{"has a partition of one line", spec(ref, "partition: {enabled: true, config: MaxTime=60}"), ""},
		{"has a partition of two lines", spec(ref, `partition: {enabled: true, config: "A=1\nPartitionName=b"}`),
			"partition.config"},
		{"has ssh with the sssd.conf of its Controller", spec(ref, "ssh: {enabled: true}"), ""},
		{"has ssh without sssd.conf in a Cluster", spec("clusterRef: {name: slurm}", "ssh: {enabled: true}"),
			"ssh.sssdConfRef must be given with clusterRef"},
		{"has ssh with sssd.conf in a Cluster",
			spec("clusterRef: {name: slurm}", "ssh: {enabled: true, sssdConfRef: {name: sssd, key: sssd.conf}}"), ""},
		{"has no ssh in a Cluster", spec("clusterRef: {name: slurm}", "ssh: {enabled: false}"), ""},
		{"has ssh with sssd.conf", spec(ref, "ssh: {enabled: true, sssdConfRef: {name: sssd, key: sssd.conf}}"), ""},
		{"updates a percentage at a time", spec(ref, `updateStrategy: {rollingUpdate: {maxUnavailable: "10%"}}`), ""},
		{"updates a number at a time", spec(ref, "updateStrategy: {rollingUpdate: {maxUnavailable: 2}}"), ""},
		{"updates a list at a time", spec(ref, "updateStrategy: {rollingUpdate: {maxUnavailable: [2]}}"),
			"maxUnavailable"},
		{"has an unknown update strategy", spec(ref, "updateStrategy: {type: Recreate}"), "updateStrategy.type"},
		{"is updated on schedule",
			spec(ref, `updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {startTime: "2026-09-01T00:00:00Z"}}`),
			""},
		{"is updated on schedule without a start",
			spec(ref, "updateStrategy: {type: ScheduledUpdate, scheduledUpdate: {}}"), "ScheduledUpdate must have"},
		{"is updated on schedule without a schedule", spec(ref, "updateStrategy: {type: ScheduledUpdate}"),
			"updateStrategy"},
		{"has an invalid start time", spec(ref, "updateStrategy: {scheduledUpdate: {startTime: tomorrow}}"),
			"startTime"},
		{"has a start time without a zone",
			spec(ref, `updateStrategy: {scheduledUpdate: {startTime: "2026-09-01T00:00:00"}}`), "startTime"},
		{"has a start time with fractional seconds",
			spec(ref, `updateStrategy: {scheduledUpdate: {startTime: "2026-09-01T00:00:00.5+02:00"}}`), ""},
		{"has a start date without a time", spec(ref, `updateStrategy: {scheduledUpdate: {startTime: "2026-09-01"}}`),
			"startTime"},
		{"has a padding that overflows", spec(ref, "ordinalPadding: 99999999999999999999"), "ordinalPadding"},
		{"has a padding", spec(ref, "ordinalPadding: 10"), ""},
		{"deletes claims", spec(ref, "persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}"), ""},
		{"recycles claims", spec(ref, "persistentVolumeClaimRetentionPolicy: {whenDeleted: Recycle}"), "whenDeleted"},
		{"waits for jobs", spec(ref, "drainPolicy: {type: Wait}"), ""},
		{"waits for jobs with a timeout", spec(ref, "drainPolicy: {type: Timeout, timeout: 2h}"), ""},
		{"waits for jobs with a missing timeout", spec(ref, "drainPolicy: {type: Timeout}"), "must have a timeout"},
		{"waits for jobs with a negative timeout", spec(ref, "drainPolicy: {type: Timeout, timeout: -2h}"),
			"timeout must be a positive duration"},
		{"waits for jobs with a number as timeout", spec(ref, "drainPolicy: {type: Timeout, timeout: 30}"),
			"drainPolicy.timeout"},
		{"has an invalid duration", spec(ref, "updateStrategy: {scheduledUpdate: {duration: long}}"),
			"duration must be a positive duration"},
		{"has an unknown drain policy", spec(ref, "drainPolicy: {type: Hope}"), "drainPolicy.type"},
		{"updates from an ordinal", spec(ref, "updateStrategy: {paused: true, rollingUpdate: {partition: 3}}"), ""},
		{"updates from a negative ordinal", spec(ref, "updateStrategy: {rollingUpdate: {partition: -1}}"), "partition"},
		{"keeps the drains of faulty workers", spec(ref, "faultDrains: {policy: Keep}"), ""},
		{"knows the reasons of a health check", spec(ref, `faultDrains: {healthCheckReasons: ["check_gpu: *"]}`), ""},
		{"has an unknown policy for faulty workers", spec(ref, "faultDrains: {policy: Hope}"), "faultDrains.policy"},
		{"takes every reason for that of a health check", spec(ref, `faultDrains: {healthCheckReasons: ["*"]}`),
			"faultDrains.healthCheckReasons"},
		{"runs without privilege", spec(ref, "securityProfile: Unprivileged", "cordonKubeNodes: true"), ""},
		{"has an unknown security profile", spec(ref, "securityProfile: Root"), "securityProfile"},
		{"has null where null may be",
			spec(ref, "volumeClaimTemplates: null", "template: {metadata: {labels: null, annotations: null}}"), ""},
		{"has a status without a selector", spec(ref) + "status: {nodeSetHash: a}", "status.selector"},
		{"has a status without a revision", spec(ref) + "status: {selector: a=b}", "status.nodeSetHash"},
		{"has a minimal status", spec(ref) + `status: {selector: "", nodeSetHash: ""}`, ""},
	})
}

func TestControllerRules(t *testing.T) {
	const slurmKey, jwtKey = "slurmKeyRef: {name: k, key: slurm.key}", "jwtKeyRef: {name: k, key: jwt.key}"
	checkRules(t, "controllers", []ruleCase{
		{"has both keys", spec(slurmKey, jwtKey), ""},
		{"has the JWT key by its older name", spec(slurmKey, "jwtHs256KeyRef: {name: k, key: jwt.key}"), ""},
		{"has no slurm.key", spec(jwtKey), "slurmKeyRef must be given"},
		{"has no JWT key", spec(slurmKey), "jwtKeyRef or jwtHs256KeyRef must be given"},
		{"is external with an address", spec("external: true", "externalConfig: {host: h, port: 6817}"), ""},
		{"is external without an address", spec("external: true"), "externalConfig must be given"},
		{"is external without a port", spec("external: true", "externalConfig: {host: h}"), "externalConfig.port"},
		{"has a key reference without a key", spec(jwtKey, "slurmKeyRef: {name: k}"), "slurmKeyRef.key"},
		{"has backups on a shared claim",
			spec(slurmKey, jwtKey, "ha: {enabled: true}", "persistence: {existingClaim: c}"), ""},
		{"has backups without a volume", spec(slurmKey, jwtKey, "ha: {enabled: true}"), "ha needs persistence"},
		{"has backups with persistence off",
			spec(slurmKey, jwtKey, "ha: {enabled: true}", "persistence: {enabled: false, existingClaim: c}"),
			"ha needs persistence"},
		{"has backups on a claim without a name",
			spec(slurmKey, jwtKey, "ha: {enabled: true}", `persistence: {existingClaim: ""}`), "ha needs persistence"},
		{"has backups on a new claim",
			spec(slurmKey, jwtKey, "ha: {enabled: true}", "persistence: {accessModes: [ReadWriteMany]}"),
			"persistence"},
		{"has ha switched off", spec(slurmKey, jwtKey, "ha: {}"), ""},
		{"has no backups", spec(slurmKey, jwtKey, "ha: {backups: 0}"), "ha.backups"},
		{"has null where null may be", spec(slurmKey, jwtKey, "configFileRefs: null", "prologScriptRefs: null",
			"metrics: {serviceMonitor: null}"), ""},
		{"has an invalid port", spec(slurmKey, jwtKey, "service: {port: 99999999999999999999}"), "service.port"},
		{"leaves its port unset", spec(slurmKey, jwtKey, "service: {port: 0, nodePort: 0}"), ""},
		{"scrapes an endpoint without a path",
			spec(slurmKey, jwtKey, "metrics: {serviceMonitor: {endpoints: [{interval: 1s}]}}"), "path"},
	})
}

// TestImmutableFields: the definitions themselves refuse changes, also while the webhook is away.
func TestImmutableFields(t *testing.T) {
	const keys, storage = "slurmKeyRef: {name: k, key: a}, jwtKeyRef: {name: k, key: b}, ", "storageConfig: {host: h, " +
		"passwordKeyRef: {name: p, key: p}}, "
	const ref, claim = "controllerRef: {name: a}, ", "volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: " +
		"[ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}], "
	for _, tc := range []struct{ name, plural, old, now, refused string }{
		{"a Controller's other fields", "controllers", keys, keys + "extraConf: A=b, clusterName: c", ""},
		{"the ClusterName", "controllers", keys + "clusterName: a", keys + "clusterName: b", "clusterName is immutable"},
		{"slurm.key", "controllers", keys, "slurmKeyRef: {name: k, key: other}, jwtKeyRef: {name: k, key: b}",
			"slurmKeyRef is immutable"},
		{"the JWT key", "controllers", keys, "slurmKeyRef: {name: k, key: a}, jwtKeyRef: {name: other, key: b}",
			"jwtHs256KeyRef is immutable"},
		{"the JWT key by its older name", "controllers", "slurmKeyRef: {name: k, key: a}, jwtHs256KeyRef: {name: k, key: b}, ",
			keys, ""},
		{"another JWT key by its older name", "controllers", keys,
			"slurmKeyRef: {name: k, key: a}, jwtHs256KeyRef: {name: k, key: c}, ", "jwtHs256KeyRef is immutable"},
		{"the key of an external Controller", "controllers", "external: true, externalConfig: {host: h, port: 1}, " + keys,
			"external: true, externalConfig: {host: h, port: 1}", "slurmKeyRef is immutable"},
		{"slurmdbd's key", "accountings", keys + storage, "slurmKeyRef: {name: other, key: a}, jwtKeyRef: {name: k, key: b}, " +
			storage, "slurmKeyRef is immutable"},
		{"slurmdbd's JWT key", "accountings", keys + storage, "slurmKeyRef: {name: k, key: a}, jwtKeyRef: {name: k, key: c}, " +
			storage, "jwtHs256KeyRef is immutable"},
		{"the Controller of a NodeSet", "nodesets", ref, "controllerRef: {name: b}", "controllerRef is immutable"},
		{"a Cluster in place of a Controller", "nodesets", ref, "clusterRef: {name: a}", "is immutable"},
		{"a NodeSet's other fields", "nodesets", ref + claim, ref + claim + "replicas: 3", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := loadResource(t, tc.plural)
			_, errs := r.admitChange(t, "spec: {"+tc.old+"}", "spec: {"+tc.now+"}")
			if (len(errs) > 0) != (tc.refused != "") || len(errs) > 0 && !strings.Contains(errs.ToAggregate().Error(), tc.refused) {
				t.Errorf("refused by %v; want an error with %q", errs.ToAggregate(), tc.refused)
			}
		})
	}
}

func TestAccountingRules(t *testing.T) {
	const slurmKey, jwtKey = "slurmKeyRef: {name: k, key: slurm.key}", "jwtKeyRef: {name: k, key: jwt.key}"
	checkRules(t, "accountings", []ruleCase{
		{"has both keys", spec(slurmKey, jwtKey), ""},
		{"has the JWT key by its older name", spec(slurmKey, "jwtHs256KeyRef: {name: k, key: jwt.key}"), ""},
		{"has no slurm.key", spec(jwtKey), "slurmKeyRef must be given"},
		{"has no JWT key", spec(slurmKey), "jwtKeyRef or jwtHs256KeyRef must be given"},
		{"is external with an address", spec("external: true", "externalConfig: {host: h, port: 6819}"), ""},
		{"is external without an address", spec("external: true"), "externalConfig must be given"},
		{"has a database", spec(slurmKey, jwtKey,
			"storageConfig: {host: db, username: slurm, passwordKeyRef: {name: p, key: password}}"), ""},
		{"has a database without a host",
			spec(slurmKey, jwtKey, "storageConfig: {passwordKeyRef: {name: p, key: password}}"), "storageConfig.host"},
		{"has a database without a password", spec(slurmKey, jwtKey, "storageConfig: {host: db}"),
			"storageConfig.passwordKeyRef"},
		{"has accounts", spec(slurmKey, jwtKey, "accounts: {configMapRef: {name: a}, mode: DryRun, prune: true}"), ""},
		{"has accounts of nowhere", spec(slurmKey, jwtKey, "accounts: {configMapRef: {key: a}}"),
			"accounts.configMapRef.name"},
		{"has accounts in an unknown mode", spec(slurmKey, jwtKey, "accounts: {configMapRef: {name: a}, mode: Try}"),
			"accounts.mode"},
		{"is external with accounts", spec("external: true", "externalConfig: {host: h, port: 6819}",
			"accounts: {configMapRef: {name: a}}"), "accounts must not be given"},
	})
}

func TestLoginSetRules(t *testing.T) {
	const ref, sssd = "controllerRef: {name: slurm}", "sssdConfRef: {name: sssd, key: sssd.conf}"
	checkRules(t, "loginsets", []ruleCase{
		{"names a Controller and sssd.conf", spec(ref, sssd), ""},
		{"names no Controller", spec(sssd), "controllerRef"},
		{"has the sssd.conf of its Controller", spec(ref), ""},
		{"has sssd.conf without a key", spec(ref, "sssdConfRef: {name: sssd}"), "sssdConfRef.key"},
		{"is at zero", spec(ref, sssd, "replicas: 0"), ""},
		{"is updated a percentage at a time",
			spec(ref, sssd, `strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: "10%"}}`),
			""},
		{"is updated a list at a time", spec(ref, sssd, "strategy: {rollingUpdate: {maxSurge: []}}"), "maxSurge"},
		{"has a status without a selector", spec(ref, sssd) + "status: {replicas: 1}", "status.selector"},
	})
}

func TestTokenRules(t *testing.T) {
	const user, key = "username: slurm", "jwtKeyRef: {name: k, key: jwt.key}"
	checkRules(t, "tokens", []ruleCase{
		{"names a user and a key", spec(user, key), ""},
		{"names the key by its older name", spec(user, "jwtHs256KeyRef: {name: k, key: jwt.key}"), ""},
		{"names no user", spec(key), "username"},
		{"names no key", spec(user), "jwtKeyRef or jwtHs256KeyRef must be given"},
		{"has a lifetime", spec(user, key, "lifetime: 1h30m0.5s"), ""},
		{"has a lifetime of zero", spec(user, key, "lifetime: 0s"), "lifetime must be a positive duration"},
		{"has a negative lifetime", spec(user, key, "lifetime: -1h"), "lifetime must be a positive duration"},
		{"has an invalid lifetime", spec(user, key, "lifetime: soon"), "lifetime must be a positive duration"},
		{"has a lifetime in days", spec(user, key, "lifetime: 2d"), "lifetime must be a positive duration"},
		{"writes to a Secret without a key", spec(user, key, "secretRef: {name: a}"), "secretRef.key"},
	})
}

func TestRestApiRules(t *testing.T) {
	checkRules(t, "restapis", []ruleCase{
		{"names a Controller", spec("controllerRef: {name: slurm}"), ""},
		{"names no Controller", spec("replicas: 2"), "controllerRef"},
	})
}

func TestClusterRules(t *testing.T) {
	const server, token = "server: https://slurm.example.com:6820", "token: {secretRef: {name: t, key: token}}"
	checkRules(t, "clusters", []ruleCase{
		{"has a server and a token", spec(server, token), ""},
		{"has nothing", "metadata: {name: a}", "spec"},
		{"has no server", spec(token), "spec.server"},
		{"has no token", spec(server), "spec.token"},
		{"has a token without a key", spec(server, "token: {secretRef: {name: t}}"), "key"},
		{"has a token of no name", spec(server, `token: {secretRef: {name: "", key: a}}`), "name"},
		{"uses plain HTTP", spec("server: http://10.0.0.1:6820", token), ""},
		{"uses HTTP over IPv6", spec(`server: "http://[fd00::1]:6820"`, token), ""},
		{"uses another protocol", spec("server: ftp://slurm.example.com", token), "must be an http or https URL"},
		{"is not a URL", spec("server: slurm.example.com:6820", token), "must be an http or https URL"},
		{"has no host", spec("server: https:///slurm", token), "must be an http or https URL"},
		{"has a password in its URL", spec("server: https://a:b@slurm.example.com", token), "no credentials"},
		{"has a query in its URL", spec("server: https://slurm.example.com?a=b", token), "no credentials"},
		{"has its certificates in a ConfigMap", spec(server, token, "caRef: {kind: ConfigMap, name: ca}"), ""},
		{"has a CA reference without a name", spec(server, token, "caRef: {}"), "caRef.name"},
		{"has its certificates in a Pod", spec(server, token, "caRef: {kind: Pod, name: ca}"), "caRef.kind"},
		{"has a client certificate", spec(server, token, "clientCertRef: {name: tls}"), ""},
		{"accepts workers", spec(server, token, "slurmctld: {host: ctld}", "slurmKeyRef: {name: k, key: slurm.key}"),
			""},
		{"accepts workers without a host", spec(server, token, "slurmctld: {}"), "slurmctld.host"},
		{"accepts workers at an invalid port", spec(server, token, "slurmctld: {host: ctld, port: 70000}"),
			"slurmctld.port"},
	})
}

// ruleCase is a manifest and a part of the error with which it is refused; empty if it is accepted.
type ruleCase struct {
	name, manifest, refused string
}

func checkRules(t *testing.T, plural string, rules []ruleCase) {
	t.Helper()
	r := loadResource(t, plural)
	for _, c := range rules {
		t.Run(c.name, func(t *testing.T) {
			_, errs := r.admit(t, c.manifest)
			switch {
			case c.refused == "" && len(errs) > 0:
				t.Errorf("refused: %v", errs.ToAggregate())
			case c.refused != "" && len(errs) == 0:
				t.Errorf("accepted; want an error with %q", c.refused)
			case c.refused != "" && !strings.Contains(errs.ToAggregate().Error(), c.refused):
				t.Errorf("refused by %v; want an error with %q", errs.ToAggregate(), c.refused)
			}
		})
	}
}
