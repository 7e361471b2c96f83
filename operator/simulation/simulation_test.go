package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/releases"
)

// The names of the objects, one of each kind.
const (
	team       = "team"
	ctldName   = "slurm"
	dbdName    = "acct"
	restName   = "api"
	loginName  = "login"
	nodeSet    = "gpu"
	keySecret  = "auth"
	jwtSecret  = "jwt"
	dbSecret   = "database"
	sssdSecret = "sssd"
	filesMap   = "files"
	acctsMap   = "accounts"
	keyFile    = "slurm.key"
)

// secretText is the content of all Secrets of users.
const secretText = "TOP-SECRET"

// simulation is Kubernetes, Slurm, users and an operator that sees them late, and is killed now and then.
type simulation struct {
	seed uint64
	rand *rand.Rand
	now  time.Time
	api  *apiServer
	// cache has the operator's last view of the kinds that lag behind.
	cache map[string]map[string]client.Object
	pods  map[string]*simPod
	// addresses counts the started pods, and podChanges the changes of pods.
	addresses, podChanges int
	// states are, by kind, the releases that wrote the stored state of an object's daemons.
	states map[string]releases.Release
	// copies are, by kind, the releases of older copies with which users replaced a daemon's state, until a daemon has used
	// them.
	copies map[string]releases.Release
	// restored are the values of the annotation restored-state that have had their effect, by kind.
	restored map[string]string
	// images that were applied last, and whether a daemon of them has run, by kind.
	applied map[string]string
	hasRun  map[string]bool
	// theirs are the foreign objects, by kind and name.
	theirs map[string]bool
	// images are those that users want, by kind.
	images map[string]string
	// slurmctld is the state that the slurmctlds share, and slurmRand decides the events in Slurm.
	slurmctld *simSlurmctld
	slurmRand *rand.Rand
	faults    faults
	broken    breakage
	// restricted: the operator may not run daemons in the namespace.
	restricted bool
	// reconcilers are the operator's reconcilers, by name.
	reconcilers map[string]reconcile.Reconciler
	// writes counts the operator's writes, except requests to the kubelet, which it repeats.
	writes int
	// calm: no more odd events happen.
	calm bool
	// failure is the first promise that was broken.
	failure string
	counts  eventCounts
	log     []string
}

// faults are the faults that the operator meets in a reconciliation.
type faults struct {
	writesUntilFault, readsUntilError int
	fault                             fault
	// forbidden is the kind that the operator may not read.
	forbidden string
	// killed and met record events of this reconciliation.
	killed, met bool
}

type fault int

const (
	faultConflict fault = iota
	faultError
	faultKillBefore
	faultKillAfter
	faultsEnd
)

var epoch = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// starts are clusters at the beginning of histories. Every second one already runs. They are made once, since that takes
// longer than most histories.
var starts = sync.OnceValue(func() []*simulation {
	out := make([]*simulation, startCount)
	for i := range out {
		out[i] = newStart(uint64(i)) //nolint:gosec // not negative
	}
	return out
})

const startCount = 32

func newStart(seed uint64) *simulation {
	w := &simulation{
		rand: rand.New(rand.NewPCG(seed, 1)), now: epoch, api: newAPIServer(), cache: map[string]map[string]client.Object{},
		pods: map[string]*simPod{}, states: map[string]releases.Release{}, theirs: map[string]bool{},
		applied: map[string]string{}, hasRun: map[string]bool{}, restored: map[string]string{}, copies: map[string]releases.Release{},
		images: map[string]string{}, counts: eventCounts{}, slurmctld: newSlurmctld(), slurmRand: rand.New(rand.NewPCG(seed, 5)),
	}
	w.addObjects()
	for range 8 * (seed % 2) {
		w.calm = true
		w.environmentEvent()
		w.startOperator()
		w.reconcileAll()
	}
	return w
}

// newSimulation returns a copy of one of the starts, with a history of its own.
func newSimulation(seed uint64, broken breakage) *simulation {
	w := *starts()[seed%startCount]
	w.seed, w.rand, w.broken = seed, rand.New(rand.NewPCG(seed, 2)), broken
	w.slurmRand, w.slurmctld = rand.New(rand.NewPCG(seed, 6)), w.slurmctld.clone()
	w.counts, w.log = eventCounts{}, nil
	w.api = w.api.clone()
	w.pods = map[string]*simPod{}
	for name, p := range starts()[seed%startCount].pods {
		w.pods[name] = new(*p)
	}
	w.cache, w.calm = map[string]map[string]client.Object{}, false
	w.states, w.theirs, w.applied = maps.Clone(w.states), maps.Clone(w.theirs), maps.Clone(w.applied)
	w.hasRun, w.images, w.restored = maps.Clone(w.hasRun), maps.Clone(w.images), maps.Clone(w.restored)
	w.copies = maps.Clone(w.copies)
	w.startOperator()
	return &w
}

func (w *simulation) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *simulation) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%5.0fs ", w.now.Sub(epoch).Seconds())+fmt.Sprintf(format, args...))
}

func (w *simulation) failf(format string, args ...any) {
	w.logf("BROKEN: "+format, args...)
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// Eventf implements events.EventRecorder.
func (w *simulation) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	w.checkText("event "+reason, fmt.Sprintf(note, args...))
}

// addObjects creates the users' first objects.
func (w *simulation) addObjects() {
	w.api.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
	for _, name := range []string{keySecret, jwtSecret, dbSecret, sssdSecret, loginName + "-ssh-host-keys"} {
		w.restoreReference(name)
	}
	w.theirs["Secret/"+loginName+"-ssh-host-keys"] = true
	for _, name := range []string{filesMap, acctsMap} {
		w.restoreReference(name)
	}
	n := &v1beta1.NodeSet{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: nodeSet}}
	n.Spec.ControllerRef = &corev1.LocalObjectReference{Name: ctldName}
	w.api.put(n)
	w.addPartitionedNodeSet(partitionedNodeSets[0])
	image := pick(w, append(slices.Clone(slurmImages), siteImage)...)
	for _, kind := range kinds {
		w.images[kind] = image
		w.addObject(kind)
	}
}

// restoreReference creates a Secret or a ConfigMap of the users if it is missing.
func (w *simulation) restoreReference(name string) {
	meta := metav1.ObjectMeta{Namespace: team, Name: name}
	switch {
	case name == filesMap || name == acctsMap:
		if find[*corev1.ConfigMap](w.api, name) == nil {
			w.api.put(&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{name + ".conf": "AutoDetect=off"}})
		}
	case find[*corev1.Secret](w.api, name) == nil:
		data := map[string][]byte{}
		for _, key := range []string{keyFile, "jwt.key", "password", "sssd.conf"} {
			data[key] = []byte(secretText)
		}
		w.api.put(&corev1.Secret{ObjectMeta: meta, Data: data})
	}
}

// pick returns one of several.
func pick[T any](w *simulation, of ...T) T { return of[w.rand.IntN(len(of))] }

// kinds are the kinds that users create, in the order of their upgrades.
var kinds = []string{v1beta1.KindAccounting, v1beta1.KindController, v1beta1.KindRestApi, v1beta1.KindLoginSet}

// slurmImages are images whose releases can be looked up, the oldest first.
var slurmImages = []string{"slurm:24.11", "slurm:25.05", "slurm:25.11", "slurm:26.05"}

const (
	// siteImage has a release that cannot be looked up, and typoImage does not exist.
	siteImage = "site:26.05"
	typoImage = "typo:1"
)

// releaseIn returns the release in an image, or the zero value.
func releaseIn(image string) releases.Release {
	if image == siteImage || slices.Contains(slurmImages, image) {
		out, _ := releases.Parse(image[len(image)-len("00.00"):])
		return out
	}
	return releases.Release{}
}
