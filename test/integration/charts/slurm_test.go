//go:build e2e

package charts

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/yaml"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

func slurmRefusals() []refusal {
	return []refusal{
		{"a misspelt value", setValues("controler.external=true"), "additional properties 'controler' not allowed"},
		{"a misspelt value of a NodeSet", setValues("nodesets.a.replica=2"), "additional properties 'replica' not allowed"},
		{"a misspelt field of a container", setValues("controller.slurmctld.resource.limits.cpu=1"),
			"at '/controller/slurmctld': additional properties 'resource' not allowed"},
		{"a misspelt field of a pod", setValues("nodesets.a.podSpec.toleration=a"),
			"at '/nodesets/a/podSpec': additional properties 'toleration' not allowed"},
		{"a misspelt partition", setValues("partitions.all.nodeset=a"),
			"at '/partitions/all': additional properties 'nodeset' not allowed"},
		{"a value of an earlier chart of Slinky", setValues("jwtHs256Key.create=true"), "use jwtKey"},
		{"defaults as in an earlier chart of Slinky", setValues("nodesets._defaults.replicas=1"), "use nodesetDefaults"},
		{"half a digest", setValues("nodesetDefaults.slurmd.image.digest=sha256:1234"), "'sha256:1234' does not match pattern"},
		{"a release as a number", []string{"--set-json", `nodesetDefaults.slurmd.image.tag=26.05`}, "/tag': got number"},
		{"a long name of a cluster", setValues("clusterName=" + strings.Repeat("a", 41)), "/clusterName': maxLength"},
		{"a long name of the chart and no clusterName", setValues("fullnameOverride=" + strings.Repeat("a", 40)),
			"set clusterName: slurm_aaaa"},
		{"backups without a shared volume", setValues("controller.ha.enabled=true"),
			"requires controller.persistence.existingClaim"},
		{"an address for several slurmctlds",
			setValues("controller.ha.enabled=true,controller.persistence.existingClaim=a,controller.address=b"),
			"controller.address and controller.ha.enabled are mutually exclusive"},
		{"a NodeSet with a capital", setValues("nodesets.GPU.replicas=1"), "nodesets.GPU: the name must be lower-case"},
		{"a NodeSet that begins with a digit", setValues("nodesets.4gpu.replicas=1"), "nodesets.4gpu: the name must be lower-case letters, digits and '-', and begin with a letter"},
		{"a NodeSet with white space", []string{"--set-json", `nodesets={"a b":{}}`}, "nodesets.a b: the name must be lower-case"},
		{"a partition with white space", []string{"--set-json", `partitions={"a b":{"nodesets":["ALL"]}}`},
			"partitions: the name \"a b\" has white space"},
		{"a LoginSet with a long name", setValues("loginsets." + strings.Repeat("a", 60) + ".replicas=1"),
			"the name of its Service would be too long"},
		{"a long name of the chart", setValues("clusterName=a,fullnameOverride=" + strings.Repeat("a", 41)),
			"has more than 40 characters"},
		{"a NodeSet that means all nodes", setValues("nodesets.all.replicas=1"), "nodesets.all: Slurm means all nodes"},
		{"a NodeSet with a long name", setValues("nodesets." + strings.Repeat("a", 60) + ".replicas=1"),
			"the name of a worker would be too long"},
		{"an HPA of Kubernetes nodes", setValues("nodesets.a.scalingMode=DaemonSet,nodesets.a.autoscaling.enabled=true"),
			"nodesets.a.autoscaling needs scalingMode=StatefulSet"},
		{"a minimum above the maximum",
			setValues("nodesets.a.autoscaling.enabled=true,nodesets.a.autoscaling.minReplicas=20"),
			"nodesets.a.autoscaling.minReplicas must be at most maxReplicas"},
		{"an idle time without a unit", setValues("nodesets.a.autoscaling.idleTime=10"), "/idleTime': got number"},
		{"a partition of unknown NodeSets", setValues("nodesets.a.replicas=1,partitions.b.nodesets={c}"),
			"partitions.b.nodesets names c, which is not in nodesets: a"},
		{"a partition without NodeSets", setValues("partitions.b.enabled=true"), "partitions.b.nodesets is empty"},
		{"a partition twice",
			setValues("nodesets.a.partition.enabled=true,partitions.a.nodesets={a}"),
			"partitions.a and nodesets.a.partition both make the partition a"},
		{"a partition of two lines", []string{"--set-json", `partitions.a={"nodesets":["ALL"],"config":"A=1\nB=2"}`},
			"/partitions/a/config'"},
	}
}

// objectsOfKind returns the objects of a kind that the chart slurm renders, by name.
func objectsOfKind[T any](t *testing.T, text, kind string) map[string]*T {
	t.Helper()
	out := map[string]*T{}
	for document := range strings.SplitSeq(text, "\n---\n") {
		var meta struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal([]byte(document), &meta); err != nil || meta.Kind != kind {
			continue
		}
		object := new(T)
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatalf("%s %s: %v", kind, meta.Metadata.Name, err)
		}
		out[meta.Metadata.Name] = object
	}
	return out
}

// TestTheHPAOfANodeSetIsTheRecommendedOne compares it with the example of docs/autoscaling.md.
func TestTheHPAOfANodeSetIsTheRecommendedOne(t *testing.T) {
	example := &autoscalingv2.HorizontalPodAutoscaler{}
	if err := yaml.UnmarshalStrict(readFile(t, "../../../docs/examples/hpa/required-nodes.yaml"), example); err != nil {
		t.Fatal(err)
	}
	text, err := renderChart(t, "slurm",
		setValues("fullnameOverride=s,nodesets.gpu.autoscaling.enabled=true,nodesets.gpu.autoscaling.maxReplicas=20")...)
	if err != nil {
		t.Fatal(err)
	}
	const name = "s-worker-gpu"
	hpa := objectsOfKind[autoscalingv2.HorizontalPodAutoscaler](t, text, "HorizontalPodAutoscaler")[name]
	example.Spec.ScaleTargetRef.Name = name
	example.Spec.Metrics[0].Object.DescribedObject.Name = name
	if hpa == nil {
		t.Fatalf("there is no HPA %s", name)
	}
	if diff := cmp.Diff(example.Spec, hpa.Spec); diff != "" {
		t.Errorf("(-example +chart):\n%s", diff)
	}
	if n := objectsOfKind[v1beta1.NodeSet](t, text, "NodeSet")[name]; n == nil || n.Spec.Replicas != nil {
		t.Errorf("an upgrade would undo what the HPA has done: %+v", n)
	}
}

// TestScalingOnOlderKubernetes: what an HPA cannot do there, the operator does.
func TestScalingOnOlderKubernetes(t *testing.T) {
	for _, tc := range []struct {
		version          string
		hasTolerance     bool
		minimum          int32
		zeroAfter        string
		idleTime, wanted string
	}{
		{version: "1.37.0", hasTolerance: true, minimum: 0},
		{version: "1.36.2", hasTolerance: true, minimum: 1, zeroAfter: "10m"},
		{version: "1.29.0", minimum: 1, zeroAfter: "5m", idleTime: "5m", wanted: "5m"},
	} {
		t.Run(tc.version, func(t *testing.T) {
			text, err := renderChart(t, "slurm", append(setValues("fullnameOverride=s,nodesets.a.autoscaling.enabled=true"),
				"--set-string", "nodesets.a.autoscaling.idleTime="+tc.idleTime, "--kube-version", tc.version)...)
			if err != nil {
				t.Fatal(err)
			}
			spec := objectsOfKind[autoscalingv2.HorizontalPodAutoscaler](t, text, "HorizontalPodAutoscaler")["s-worker-a"].Spec
			if *spec.MinReplicas != tc.minimum || (spec.Behavior.ScaleUp.Tolerance != nil) != tc.hasTolerance {
				t.Errorf("the minimum is %d, the tolerance %v", *spec.MinReplicas, spec.Behavior.ScaleUp.Tolerance)
			}
			n := objectsOfKind[v1beta1.NodeSet](t, text, "NodeSet")["s-worker-a"]
			if got := n.Annotations[v1beta1.AnnotationZeroAfter]; got != tc.zeroAfter {
				t.Errorf("%s is %q", v1beta1.AnnotationZeroAfter, got)
			}
			if got := n.Annotations[v1beta1.AnnotationIdleGrace]; got != tc.wanted {
				t.Errorf("%s is %q", v1beta1.AnnotationIdleGrace, got)
			}
		})
	}
}

// TestKeysAreNoPartOfTheRelease: no two renderings differ, and nothing that is rendered has a key.
func TestKeysAreNoPartOfTheRelease(t *testing.T) {
	first, err := renderChart(t, "slurm")
	if err != nil {
		t.Fatal(err)
	}
	again, err := renderChart(t, "slurm")
	if err != nil {
		t.Fatal(err)
	}
	if first != again || strings.Contains(first, "kind: Secret\n") {
		t.Errorf("an upgrade would change keys:\n%s", cmp.Diff(first, again))
	}
	c := objectsOfKind[v1beta1.Controller](t, first, "Controller")["test-slurm"]
	if c == nil || c.Annotations[v1beta1.AnnotationGenerateKeys] != v1beta1.GenerateSlurmKey+","+v1beta1.GenerateJWTKey {
		t.Fatalf("the Controller does not ask for keys: %+v", c)
	}
	if c.Spec.SlurmKeyRef.Name != "test-slurm-auth-slurm" || c.Spec.JWTKeyRef.Name != "test-slurm-auth-jwt" {
		t.Errorf("the keys are %v and %v", c.Spec.SlurmKeyRef, c.Spec.JWTKeyRef)
	}
}

// TestImagesOfAnotherRegistry: global.imageRegistry replaces an image's registry, or adds one.
func TestImagesOfAnotherRegistry(t *testing.T) {
	for repository, want := range map[string]string{
		"ghcr.io/a/b": "mirror:5000/a/b:1", "localhost/b": "mirror:5000/b:1", "a/b": "mirror:5000/a/b:1", "b": "mirror:5000/b:1",
	} {
		text, err := renderChart(t, "slurm", setValues("global.imageRegistry=mirror:5000,"+
			"restapi.slurmrestd.image.tag=v1,restapi.slurmrestd.image.repository="+repository)...)
		if err != nil {
			t.Fatal(err)
		}
		r := objectsOfKind[v1beta1.RestApi](t, text, "RestApi")["test-slurm"]
		container, err := r.Spec.Slurmrestd.Container()
		if want = strings.Replace(want, ":1", ":v1", 1); err != nil || container.Image != want {
			t.Errorf("%s is %s, want %s: %v", repository, container.Image, want, err)
		}
	}
}

// TestConfigurationOfTheChart: what slurm.conf gets from values.
func TestConfigurationOfTheChart(t *testing.T) {
	text, err := renderChart(t, "slurm", "--values", valuesFiles(t, "slurm")["full"])
	if err != nil {
		t.Fatal(err)
	}
	c := objectsOfKind[v1beta1.Controller](t, text, "Controller")["hpc"]
	lines := strings.Split(strings.TrimSpace(c.Spec.ExtraConf), "\n")
	for _, want := range []string{
		"MinJobAge=600", "SchedulerParameters=bf_continue,bf_interval=10", "DisableRootJobs=YES", "SchedulerType=sched/backfill", "NodeSet=gpu Feature=hpc-worker-gpu",
		"PartitionName=gpu Nodes=hpc-worker-gpu Default=NO MaxTime=1-00:00:00 OverSubscribe=FORCE:2",
		"PartitionName=all Nodes=ALL Default=YES MaxTime=UNLIMITED",
		"PartitionName=night Nodes=hpc-worker-gpu,hpc-worker-cpu MaxTime=12:00:00 PriorityTier=1",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("slurm.conf has no line %s:\n%s", want, c.Spec.ExtraConf)
		}
	}
	gpu := objectsOfKind[v1beta1.NodeSet](t, text, "NodeSet")["hpc-worker-gpu"]
	if want := "CPUs=64 Features=h100,nvlink Gres=gpu:h100:8 RealMemory=1000000 Weight=10"; gpu.Spec.ExtraConf != want {
		t.Errorf("extraConf is %q, want %q", gpu.Spec.ExtraConf, want)
	}
}

// TestWorkersWithGPUsHaveTheFolderOfDCGM: they have the folder once, even if the NodeSet mounts it itself.
func TestWorkersWithGPUsHaveTheFolderOfDCGM(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	writeFile(t, values, `vendor: {nvidia: {dcgm: {enabled: true}}}
nodesetDefaults: {slurmd: {resources: {limits: {nvidia.com/mig-3g.20gb: 1}}}}
nodesets:
  gpu: {slurmd: {volumeMounts: [{name: scratch, mountPath: /scratch}]}, podSpec: {volumes: [{name: scratch, emptyDir: {}}]}}
  own: {slurmd: {volumeMounts: [{name: mine, mountPath: /var/lib/dcgm-exporter/job-mapping/}]}, podSpec: {volumes: [{name: mine, emptyDir: {}}]}}
  cpu: {slurmd: {resources: null}}
`)
	text, err := renderChart(t, "slurm", "--values", values)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"gpu": "scratch dcgm-job-mapping", "own": "mine", "cpu": ""} {
		set := objectsOfKind[v1beta1.NodeSet](t, text, "NodeSet")["test-slurm-worker-"+name]
		spec, slurmd := string(set.Spec.Template.Spec.Raw), string(set.Spec.Slurmd.Raw)
		for _, volume := range []string{"scratch", "mine", "dcgm-job-mapping"} {
			has := slices.Contains(strings.Fields(want), volume)
			if strings.Contains(spec, `"name":"`+volume+`"`) != has || strings.Contains(slurmd, `"name":"`+volume+`"`) != has {
				t.Errorf("%s, %s: %s and %s", name, volume, spec, slurmd)
			}
		}
	}
}

// TestTheNotesNameSecretsThatNobodyMakes: keys that the operator must not generate have the names of Slinky's chart.
func TestTheNotesNameSecretsThatNobodyMakes(t *testing.T) {
	warnings := filepath.Join(t.TempDir(), "warnings.yaml")
	writeFile(t, warnings, slinkyBase)
	for _, tc := range []struct {
		values, want string
	}{
		{"slurmKey.create=true", ""},
		{"slurmKey.create=false", "test-slurm-auth-slurm"},
		{"jwtKey.create=false", "test-slurm-auth-jwt"},
		{"jwtKey.create=false,jwtKey.secretRef.name=mine", ""},
		{"controller.external=true,slurmKeyRef.name=mine", "test-slurm-auth-jwt"},
	} {
		text, err := renderChart(t, "slurm", slices.Concat(setValues(tc.values), []string{"--values", warnings})...)
		if err != nil {
			t.Fatal(err)
		}
		_, named, _ := strings.Cut(text, "nobody generates the Secret ")
		if got, _, _ := strings.Cut(named, " "); got != tc.want {
			t.Errorf("%s: the notes name %q, want %q", tc.values, got, tc.want)
		}
	}
}

// TestATextTakesThePlaceOfAMap: a text replaces a map, as in Slinky's chart, and the notes mention it.
func TestATextTakesThePlaceOfAMap(t *testing.T) {
	values := filepath.Join(t.TempDir(), "values.yaml")
	writeFile(t, values, `controller: {extraConfMap: {MinJobAge: 1}, extraConf: "WaitTime=5\n"}
accounting: {enabled: true, extraConfMap: {PurgeJobAfter: 12months}, extraConf: DebugLevel=debug}
nodesetDefaults: {extraConfMap: {Weight: 10}}
nodesets:
  gpu: {extraConf: "Gres=gpu:8", partition: {enabled: true, config: MaxTime=1, configMap: {Default: NO}}}
  cpu: {}
partitions:
  night: {nodesets: [gpu], config: MaxTime=2, configMap: {PriorityTier: 1}}
extraObjects:
  - '{apiVersion: v1, kind: ConfigMap, metadata: {name: warnings}, data: {text: {{ include "slurm.warnings" . | toJson }}}}'
`)
	text, err := renderChart(t, "slurm", "--values", values)
	if err != nil {
		t.Fatal(err)
	}
	controller := objectsOfKind[v1beta1.Controller](t, text, "Controller")["test-slurm"].Spec.ExtraConf
	if want := `WaitTime=5
NodeSet=cpu Feature=test-slurm-worker-cpu
NodeSet=gpu Feature=test-slurm-worker-gpu
PartitionName=gpu Nodes=test-slurm-worker-gpu MaxTime=1
PartitionName=night Nodes=test-slurm-worker-gpu MaxTime=2`; controller != want {
		t.Errorf("slurm.conf has\n%s\nwant\n%s", controller, want)
	}
	if got := objectsOfKind[v1beta1.Accounting](t, text, "Accounting")["test-slurm"].Spec.ExtraConf; got != "DebugLevel=debug" {
		t.Errorf("slurmdbd.conf has %q", got)
	}
	sets := objectsOfKind[v1beta1.NodeSet](t, text, "NodeSet")
	if gpu, cpu := sets["test-slurm-worker-gpu"].Spec.ExtraConf, sets["test-slurm-worker-cpu"].Spec.ExtraConf; gpu != "Gres=gpu:8" || cpu != "Weight=10" {
		t.Errorf("the nodes have %q and %q", gpu, cpu)
	}
	for _, path := range []string{"controller.extraConfMap", "accounting.extraConfMap", "nodesets.gpu.extraConfMap",
		"nodesets.gpu.partition.configMap", "partitions.night.configMap"} {
		if !strings.Contains(text, path+" has no effect") {
			t.Errorf("nothing warns about %s", path)
		}
	}
}
