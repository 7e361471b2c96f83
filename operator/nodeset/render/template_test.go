package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

func TestWhatAUserWritesWins(t *testing.T) {
	for _, tc := range []struct {
		name, spec string
		got        func(corev1.PodSpec) any
		want       any
	}{
		{"privileged: false", "slurmd: {securityContext: {privileged: false}}",
			func(p corev1.PodSpec) any { return *p.Containers[0].SecurityContext.Privileged }, false},
		{"runAsUser: 0 beside our privileged", "slurmd: {securityContext: {runAsUser: 0}}",
			func(p corev1.PodSpec) any {
				c := p.Containers[0].SecurityContext
				return fmt.Sprint(*c.Privileged, *c.RunAsUser)
			}, "true 0"},
		{"an empty variable in the place of ours", `slurmd: {env: [{name: POD_HOSTNAME, value: ""}]}`,
			func(p corev1.PodSpec) any { return envVar(p.Containers[0], EnvHostname) },
			corev1.EnvVar{Name: EnvHostname}},
		{"automountServiceAccountToken: true", "template: {spec: {automountServiceAccountToken: true}}",
			func(p corev1.PodSpec) any { return *p.AutomountServiceAccountToken }, true},
		{"hostNetwork: false", "template: {spec: {hostNetwork: false}}",
			func(p corev1.PodSpec) any { return fmt.Sprintf("%t %s", p.HostNetwork, p.DNSPolicy) }, "false "},
		{"terminationGracePeriodSeconds: 0", "template: {spec: {terminationGracePeriodSeconds: 0}}",
			func(p corev1.PodSpec) any { return *p.TerminationGracePeriodSeconds }, int64(0)},
		{"null, which takes a default away", "slurmd: {readinessProbe: null, lifecycle: null}",
			func(p corev1.PodSpec) any {
				return p.Containers[0].ReadinessProbe == nil && p.Containers[0].Lifecycle == nil
			}, true},
		{"another handler of a hook", "slurmd: {lifecycle: {preStop: {sleep: {seconds: 0}}}}",
			func(p corev1.PodSpec) any { return *p.Containers[0].Lifecycle.PreStop },
			corev1.LifecycleHandler{Sleep: &corev1.SleepAction{}}},
		{"another command, with our arguments", "slurmd: {command: [/entry]}",
			func(p corev1.PodSpec) any {
				return strings.Join(append(commandOf(p.Containers[0]), p.Containers[0].Args[:2]...), " ")
			}, "/entry -D -Z"},
		{"another command with its arguments", "slurmd: {command: [/entry], args: [a]}",
			func(p corev1.PodSpec) any {
				return strings.Join(append(commandOf(p.Containers[0]), p.Containers[0].Args...), " ")
			}, "/entry a"},
		{"arguments after ours", "slurmd: {args: [-v]}",
			func(p corev1.PodSpec) any {
				a := p.Containers[0].Args
				return fmt.Sprint(a[0], a[len(a)-1])
			}, "-D-v"},
		{"a slurmd container in the template",
			"template: {spec: {containers: [{name: slurmd, image: a, workingDir: /w}]}}, slurmd: {image: b}",
			func(p corev1.PodSpec) any { return p.Containers[0].Image + p.Containers[0].WorkingDir }, "b/w"},
		{"containers: null, which leaves slurmd", "template: {spec: {containers: null}}",
			func(p corev1.PodSpec) any { return len(p.Containers) }, 1},
		{"no tolerations at all", "template: {spec: {tolerations: null}}",
			func(p corev1.PodSpec) any { return len(p.Tolerations) }, 0},
		{"the same toleration as ours, once",
			"template: {spec: {tolerations: [{key: nodeset.slinky.slurm.net/worker, operator: Exists, effect: NoExecute}]}}",
			func(p corev1.PodSpec) any { return len(p.Tolerations) }, 3},
		{"no logfile container without spec.logfile", "logfile: {}",
			func(p corev1.PodSpec) any { return len(p.InitContainers) }, 0},
		{"no anti-affinity with oversubscribeNode", "oversubscribeNode: true",
			func(p corev1.PodSpec) any { return p.Affinity == nil }, true},
		{"a user's variable that would be put into slurmd's --conf", "extraConf: 'Comment=$(HOME)'",
			func(p corev1.PodSpec) any { return envVar(p.Containers[0], EnvConf).Value }, "Feature=n Comment=$$(HOME)"},
		{"a probe of another kind", "slurmd: {readinessProbe: {exec: {command: [mine]}}}",
			func(p corev1.PodSpec) any {
				r := p.Containers[0].ReadinessProbe
				return fmt.Sprint(r.TCPSocket == nil, r.Exec.Command, r.PeriodSeconds)
			}, "true [mine] 5"},
		{"shareProcessNamespace: false", "template: {spec: {shareProcessNamespace: false}}",
			func(p corev1.PodSpec) any { return *p.ShareProcessNamespace }, false},
		{"hostPID, which shares all processes", "template: {spec: {hostPID: true}}",
			func(p corev1.PodSpec) any { return p.ShareProcessNamespace == nil }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.got(templateOf(t, newInput(t, tc.spec)).Spec)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("with %s (-want +got):\n%s", tc.spec, diff)
			}
		})
	}
}

func envVar(c corev1.Container, name string) corev1.EnvVar {
	for _, e := range c.Env {
		if e.Name == name {
			return e
		}
	}
	return corev1.EnvVar{}
}

func TestATemplateThatIsWrongNamesTheField(t *testing.T) {
	for _, tc := range []struct{ name, spec, path string }{
		{"a number for an image", "slurmd: {image: 5}", "spec.slurmd.image"},
		{"a text for a list", "template: {spec: {tolerations: all}}", "spec.template.spec.tolerations"},
		{"a list for a container", "logfile: [1]", "spec.logfile"},
		{"a NUL in sshd_config", `ssh: {enabled: true, extraSshdConfig: "\0", sssdConfRef: {name: s, key: k}}`,
			"spec.ssh.extraSshdConfig"},
		{"a directive that Kubernetes does not know", "slurmd: {$patch: shred}", "spec.slurmd"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Template(newInput(t, tc.spec))
			if err == nil || !strings.HasPrefix(err.Error(), tc.path) {
				t.Errorf("the error is %v, and does not begin with %s", err, tc.path)
			}
		})
	}
}

func TestUnknownFieldsDoNoHarm(t *testing.T) {
	in := newInput(t, "slurmd: {fromTheFuture: {a: [1]}, image: x}, template: {spec: {alsoNew: [{b: 1}]}}")
	if got := slurmdOf(t, in).Image; got != "x" {
		t.Errorf("the image is %q", got)
	}
}

// userFields are values that users may give to single fields, with their zeros.
func userFields() map[string][]any {
	return map[string][]any{
		"template.spec.hostNetwork":                           {true, false},
		"template.spec.enableServiceLinks":                    {true, false},
		"template.spec.automountServiceAccountToken":          {true, false},
		"template.spec.shareProcessNamespace":                 {true, false},
		"template.spec.terminationGracePeriodSeconds":         {int64(0), int64(99)},
		"template.spec.subdomain":                             {"", "mine"},
		"template.spec.dnsPolicy":                             {"", "Default"},
		"template.spec.priorityClassName":                     {"", "high"},
		"template.spec.securityContext.runAsUser":             {int64(0), int64(5)},
		"slurmd.image":                                        {"", "mine:1"},
		"slurmd.tty":                                          {true, false},
		"slurmd.workingDir":                                   {"", "/w"},
		"slurmd.securityContext.privileged":                   {true, false},
		"slurmd.securityContext.allowPrivilegeEscalation":     {true, false},
		"slurmd.securityContext.runAsUser":                    {int64(0), int64(5)},
		"slurmd.readinessProbe.periodSeconds":                 {int64(0), int64(9)},
		"slurmd.readinessProbe.failureThreshold":              {int64(0), int64(9)},
		"slurmd.securityContext.seccompProfile.type":          {"", "Unconfined"},
		"slurmd.readinessProbe.terminationGracePeriodSeconds": {int64(0), int64(1)},
		"logfile.image":                                       {"", "tail:1"},
		"logfile.securityContext.allowPrivilegeEscalation":    {true, false},
		"logfile.restartPolicy":                               {"Always"},
	}
}

// A request that lists the steps of a worker makes slurmd delete the script of a batch step
// that does not listen yet, and its job fails.
func TestProbesAndHooksListNoSteps(t *testing.T) {
	for _, mode := range []string{"", "scalingMode: DaemonSet", "securityProfile: Unprivileged"} {
		pod := templateOf(t, newInput(t, mode)).Spec
		text, err := json.Marshal(append(pod.InitContainers, pod.Containers...))
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{`"scontrol","show","slurmd"`, "show slurmd", "listpids", "sstat"} {
			if strings.Contains(string(text), command) {
				t.Errorf("with %q a worker runs %s", mode, command)
			}
		}
		if slurmd := pod.Containers[0]; slurmd.ReadinessProbe.TCPSocket == nil || slurmd.LivenessProbe != nil ||
			slurmd.StartupProbe != nil {
			t.Errorf("with %q the probes of slurmd are %v, %v and %v", mode, slurmd.ReadinessProbe,
				slurmd.LivenessProbe, slurmd.StartupProbe)
		}
	}
}

// The pod has every value that a user sets, in any combination.
func TestUserValuesSurvive(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		in := newInput(t, "")
		if r.IntN(2) == 0 {
			in.NodeSet.Spec.SecurityProfile = v1beta1.SecurityUnprivileged
		}
		doc, want := podspec.Object{}, map[string]any{}
		for path, values := range userFields() {
			if r.IntN(2) == 0 {
				want[path] = values[r.IntN(len(values))]
				setField(doc, want[path], strings.Split(path, ".")...)
			}
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		profile := in.NodeSet.Spec.SecurityProfile
		if err := json.Unmarshal(text, &in.NodeSet.Spec); err != nil {
			t.Fatal(err)
		}
		in.NodeSet.Spec.SecurityProfile = profile
		template := templateOf(t, in)
		for path, value := range want {
			if got := valueAt(t, template, path); !reflect.DeepEqual(got, value) &&
				!(got == nil && reflect.ValueOf(value).IsZero()) {
				t.Fatalf("seed %d: %s is %v, not %v", seed, path, got, value)
			}
		}
	}
}

func setField(doc podspec.Object, value any, path ...string) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := doc[path[0]].(podspec.Object)
		if !ok {
			next = podspec.Object{}
			doc[path[0]] = next
		}
		doc = next
	}
	doc[path[0]] = value
}

// valueAt returns the value in the pod of a field of the spec.
func valueAt(t *testing.T, template corev1.PodTemplateSpec, path string) any {
	t.Helper()
	part, rest, _ := strings.Cut(path, ".")
	var from any = template.Spec
	switch part {
	case "slurmd":
		from = template.Spec.Containers[0]
	case "logfile":
		from = template.Spec.InitContainers[0]
	default:
		rest = strings.TrimPrefix(rest, "spec.")
	}
	var value any
	doc, err := podspec.EncodeObject(from)
	if err != nil {
		t.Fatal(err)
	}
	value = doc
	for key := range strings.SplitSeq(rest, ".") {
		in, _ := value.(podspec.Object)
		value = in[key]
	}
	return value
}
