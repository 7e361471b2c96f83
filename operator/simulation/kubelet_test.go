package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/configagent"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/releases"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// simPod is the content of a running pod.
type simPod struct {
	// daemon is the name of its main container, and template identifies its template.
	daemon, image, template string
	started, ready          bool
	// wanted and applied are revisions of the configuration, and keys is the key set of the daemon.
	wanted, applied, keys string
	// appliedAt is when the agent wrote the applied one.
	appliedAt time.Time
	// accounts is the revision of the accounts in the database.
	accounts string
	// synced is the request to the kubelet that it has followed.
	synced string
	// silent: the agent does not answer. refuses: it refuses configurations.
	silent, refuses bool
	// held is what the wanted revision waits for, or nil.
	held     *configagent.Held
	sessions int
	// outside marks the pod of a slurmdbd that has since run elsewhere; its state is forgotten.
	outside bool
}

// kindsOfDaemons are the kinds whose daemons have these containers.
var kindsOfDaemons = map[string]string{"slurmctld": v1beta1.KindController, "slurmdbd": v1beta1.KindAccounting,
	"slurmrestd": v1beta1.KindRestApi, "login": v1beta1.KindLoginSet}

// runPod takes a pod a step on.
func (w *simulation) runPod(pod *corev1.Pod) {
	p := w.pods[pod.Name]
	if p != nil {
		defer func(before simPod) {
			if *p != before {
				w.podChanges++
			}
		}(*p)
	}
	switch {
	case pod.DeletionTimestamp != nil:
		w.api.remove("Pod", pod.Name)
		delete(w.pods, pod.Name)
	case pod.Labels[v1beta1.LabelAppName] == v1beta1.AppReleaseLookup:
		w.answerLookup(pod)
	case pod.Spec.NodeName == "":
		change(w.api, pod.Name, func(pod *corev1.Pod) { pod.Spec.NodeName = "kube-a" })
	case !p.started:
		w.startPod(pod, p)
	case pod.Annotations[v1beta1.AnnotationSyncRequested] != p.synced && (w.calm || w.chance(70)), w.chance(5):
		p.synced = pod.Annotations[v1beta1.AnnotationSyncRequested]
		p.keys = w.writtenKeys()
		w.syncConfig(p)
	case p.held != nil && !p.refuses:
		w.tryConfig(p)
	default:
		w.watchPartitions(p)
		p.ready = p.applied != "" || p.daemon != "slurmctld" && p.daemon != "slurmdbd"
	}
}

// startPod starts the containers of a pod, if its image can be pulled and its Secret exists.
func (w *simulation) startPod(pod *corev1.Pod, p *simPod) {
	release := releaseIn(p.image)
	if !release.IsKnown() && p.daemon != "slurmd" || find[*corev1.Secret](w.api, keySecret) == nil {
		return
	}
	kind := kindsOfDaemons[p.daemon]
	// If a pod starts before the operator deletes the objects of a daemon outside, its state is forgotten with them.
	if !p.outside && !w.isOutside(p.daemon) {
		w.checkStart(kind, release)
		w.hasRun[kind] = true
	}
	w.addresses++
	change(w.api, pod.Name, func(pod *corev1.Pod) { pod.Status.PodIP = fmt.Sprint("10.0.0.", w.addresses) })
	if p.started, p.keys = true, w.writtenKeys(); p.daemon == "login" {
		p.sessions = w.rand.IntN(3)
	}
	w.syncConfig(p)
}

// isOutside reports whether a daemon is a slurmdbd that runs elsewhere now.
func (w *simulation) isOutside(daemon string) bool {
	a, isAccounting := w.objectOf(kindsOfDaemons[daemon]).(*v1beta1.Accounting)
	return isAccounting && a.Spec.External
}

// syncConfig brings the configuration of its daemon to a pod.
func (w *simulation) syncConfig(p *simPod) {
	name := names.ControllerConfigMap(ctldName)
	if p.daemon == "slurmdbd" {
		name = names.AccountingConfigMap(dbdName)
	}
	if config := find[*corev1.ConfigMap](w.api, name); config != nil {
		p.wanted, p.accounts = config.Data[slurmconf.RevisionFile], accountsRevision(config.Data[slurmconf.AccountsFile])
		w.slurmctld.remember(config.Data)
	}
	switch {
	case p.refuses:
	case p.daemon == "slurmctld":
		w.tryConfig(p)
	default:
		p.applied = p.wanted
	}
}

// answerLookup ends a pod that looks up a release, or sets the reason why it does not start.
func (w *simulation) answerLookup(pod *corev1.Pod) {
	image := pod.Spec.Containers[0].Image
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(w.now)}}
	switch {
	case len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].State.Terminated != nil:
		return
	case image == typoImage:
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no image"}}
	case image == siteImage:
		state.Terminated.ExitCode, state.Terminated.Message = 127, "not found"
	default:
		state.Terminated.Message = "slurm-wlm " + strings.TrimPrefix(image, "slurm:") + ".5"
	}
	change(w.api, pod.Name, func(pod *corev1.Pod) {
		if pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: state}}; !w.calm && w.chance(10) {
			pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node was low on memory"}
		}
	})
}

// writtenKeys returns the key set that daemons find.
func (w *simulation) writtenKeys() string {
	if secret := find[*corev1.Secret](w.api, names.KeySetSecret(keySecret, keyFile)); secret != nil {
		return string(secret.Data[slurmconf.KeySetFile])
	}
	return ""
}

// readAgent returns the status of the agent in the pod with an address. It changes nothing, since agents are asked
// concurrently.
func (w *simulation) readAgent(_ context.Context, podIP string) (configagent.Status, error) {
	for name, p := range w.pods {
		pod := find[*corev1.Pod](w.api, name)
		if pod == nil || pod.Status.PodIP != podIP {
			continue
		}
		status, err := w.agentStatus(p)
		if alter := w.broken.agent; alter != nil {
			return alter(w, status, err)
		}
		return status, err
	}
	return configagent.Status{}, errors.New("no route to host")
}

func (w *simulation) agentStatus(p *simPod) (configagent.Status, error) {
	if p.silent {
		return configagent.Status{}, errors.New("no answer")
	}
	out := configagent.Status{Wanted: p.wanted, Applied: p.applied, Keys: p.keys, AppliedAt: epoch}
	if p.applied != p.wanted {
		out.Error = "the daemon refuses it"
	}
	if out.Held = p.held; p.held != nil {
		out.Error, out.RetryAt = p.held.Message, epoch
	}
	switch p.daemon {
	case "login":
		out.Sessions = &p.sessions
	case "slurmctld":
		if stored := w.storedRelease(v1beta1.KindController); stored.IsKnown() {
			out.StateRelease = stored.String()
		}
	}
	if p.accounts != "" {
		out.Accounts = &configagent.AccountsStatus{Revision: p.accounts, State: configagent.AccountsApplied, At: epoch}
	}
	return out, nil
}

// accountsRevision returns the revision in slurmconf.AccountsFile, or "".
func accountsRevision(text string) string {
	var accounts slurmconf.Accounts
	if json.Unmarshal([]byte(text), &accounts) != nil {
		return ""
	}
	return accounts.Revision
}

// checkStart checks the release of a daemon that starts against its stored state.
func (w *simulation) checkStart(kind string, release releases.Release) {
	if kind != v1beta1.KindController && kind != v1beta1.KindAccounting {
		return
	}
	stored := w.storedRelease(kind)
	if stored != w.states[kind] { // slurmdbd or slurmctld converts the copy, which serves once
		if o := w.api.objects[kind][objectNames[kind]]; o != nil {
			w.restored[kind] = o.GetAnnotations()[v1beta1.AnnotationRestoredState]
		}
		delete(w.copies, kind)
		w.counts["a daemon gets a copy of an older state"]++
	}
	if release.Compare(stored) < 0 {
		w.failf("the %s of %s gets the state of %s", kind, release, stored)
	}
	w.states[kind] = release
}

// storedRelease returns the release that wrote the state that an object's daemon will find at its start. Until a daemon
// has used it, that is a copy with which users replaced the state.
func (w *simulation) storedRelease(kind string) releases.Release {
	if restored := w.copies[kind]; restored.IsKnown() && restored.Compare(w.states[kind]) < 0 {
		return restored
	}
	return w.states[kind]
}
