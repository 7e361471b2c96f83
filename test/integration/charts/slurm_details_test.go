//go:build e2e

package charts

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestDetailsOfTheChart: what the chart makes of values that are easily got wrong.
func TestDetailsOfTheChart(t *testing.T) {
	for _, tc := range []struct {
		name, values string
		wanted       []string
		unwanted     []string
	}{
		{"options without a value", `
controller: {extraConfMap: {DebugFlags: [], Prolog: "", Epilog: null, MaxNodeCount: 0, DisableRootJobs: false, SlurmctldParameters: [a, null, b]}}
accounting: {enabled: true, extraConfMap: {DebugLevel: "", PurgeJobAfter: 1month}}
nodesets: {a: {extraConfMap: {Features: [], Weight: 1}, partition: {enabled: true, configMap: {AllowGroups: "", MaxTime: "1:00"}}}}
partitions: {b: {nodesets: [a], configMap: {AllowAccounts: [], MaxTime: "2:00"}}}
`, []string{"MaxNodeCount=0\n", "DisableRootJobs=NO\n", "SlurmctldParameters=a,b\n", "extraConf: PurgeJobAfter=1month\n", `extraConf: "Weight=1"`,
			"Nodes=test-slurm-worker-a MaxTime=1:00\n", "Nodes=test-slurm-worker-a MaxTime=2:00\n"},
			[]string{"DebugFlags", "Prolog=", "Epilog", "Features", "AllowGroups", "AllowAccounts", "DebugLevel"}},
		{"names of options with digits", `controller: {extraConfMap: {X11Parameters: home_xauthority}}`,
			[]string{"X11Parameters=home_xauthority"}, nil},
		{"Secrets for pulling of a pod and of all", `
imagePullSecrets: [{name: all}, {name: both}]
controller: {podSpec: {imagePullSecrets: [{name: own}, {name: both}]}}
`, []string{"imagePullSecrets:\n      - name: own\n      - name: both\n      - name: all\n      nodeSelector"}, nil},
		{"null of single values and entries", `
configFiles: {gres.conf: null, cgroup.conf: IgnoreSystemd=yes}
prologScripts: {a.sh: null}
prologScriptRefs: null
controller: {metrics: {enabled: true, scrapeAnnotations: true, serviceMonitor: null}}
nodesetDefaults: {scalingMode: null, securityProfile: null}
nodesets:
  a: {enabled: null, replicas: null, scalingMode: null, ordinalPadding: null, pinToNode: null, autoscaling: {minReplicas: null, maxReplicas: null, idleTime: null}, partition: {enabled: null}, ssh: {enabled: null}, volumeClaimTemplates: null}
  b: null
  c: {autoscaling: {enabled: true, maxReplicas: null}}
loginsets: {c: null, d: {enabled: null, replicas: null}}
partitions: {x: null, all: null}
networkPolicies: {enabled: true, outside: null}
vendor: {nvidia: {dcgm: {enabled: true, scriptPriority: null, jobMappingDir: null}}}
`, []string{"test-slurm-worker-a\n", "cgroup.conf", "prometheus.io/path: /metrics/jobs\n", "prolog-90-dcgm.sh", "dir='/var/lib/dcgm-exporter/job-mapping'",
			"maxReplicas: 10\n"},
			[]string{"<nil>", "gres.conf", "a.sh", "worker-b", "login-c", "replicas: 0", "replicas: null", "scalingMode", "securityProfile", "PartitionName=x"}},
		{"no endpoints", `controller: {metrics: {enabled: true, scrapeAnnotations: true, serviceMonitor: {enabled: true, interval: null, endpoints: []}}}`,
			[]string{"path: /metrics/jobs\n", "path: /metrics/scheduler\n", "scrapeTimeout: 25s\n"}, []string{"<nil>", "interval"}},
		{"labels that the chart has", `commonLabels: {app.kubernetes.io/part-of: mine, a: b}`,
			[]string{"app.kubernetes.io/part-of: mine\n", "a: b\n"}, []string{"part-of: slurmtide"}},
		{"a priority class without a name", `priorityClass: {enabled: true, create: true, name: ""}`,
			[]string{"name: slurm-system-critical\n", "priorityClassName: slurm-system-critical\n"}, nil},
		{"a machine of Google with items of the user", `
global: {imageRegistry: mirror}
vendor: {google: {a3mega: [{targetNodeSet: a, networks: [a, b, c, d, e, f, g, h, i]}]}}
nodesets:
  a:
    slurmd: {env: [{name: LD_LIBRARY_PATH, value: /mine}], volumeMounts: [{name: mine, mountPath: /dev/aperture_devices/}]}
    podSpec: {volumes: [{name: sys, emptyDir: {}}, {name: mine, emptyDir: {}}]}
`, []string{"image: mirror/gce-ai-infra/gpudirect-tcpxo/", "value: /mine", "NCCL_FASTRAK", "path: /proc/sys"},
			[]string{"mountPath: /dev/aperture_devices\n", "path: /sys\n"}},
		{"the empty storage class", `controller: {persistence: {storageClassName: "-"}}`, []string{"storageClassName: \"\"\n"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "values.yaml")
			writeFile(t, file, tc.values)
			text, err := renderChart(t, "slurm", "--values", file)
			if err != nil {
				t.Fatal(err)
			}
			decodeObjects(t, text)
			for _, want := range tc.wanted {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q:\n%s", want, text)
				}
			}
			for _, unwanted := range tc.unwanted {
				if strings.Contains(text, unwanted) {
					t.Errorf("there is %q:\n%s", unwanted, text)
				}
			}
		})
	}
}

// TestCommonLabelsTakeThePlaceOfTheChartsOwn, in each chart that has them: no object has a label twice.
func TestCommonLabelsTakeThePlaceOfTheChartsOwn(t *testing.T) {
	for _, chart := range []string{"slurm", "slurm-operator", "slurm-metrics", "slurm-exporter", "slurm-flux"} {
		text, err := renderChart(t, chart, "--values", valuesFiles(t, chart)["minimal"], "--set",
			`commonLabels.app\.kubernetes\.io/part-of=mine`)
		if err != nil {
			t.Fatal(err)
		}
		decodeObjects(t, text)
		if strings.Contains(text, "part-of: slurmtide") || !strings.Contains(text, "part-of: mine") {
			t.Errorf("%s has other labels:\n%s", chart, text)
		}
	}
}
