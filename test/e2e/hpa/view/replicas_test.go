//go:build e2e

package view

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest"
	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/restd"
)

var (
	replicasFor  = flag.Duration("replicas-for", 40*time.Second, "how long clients watch two replicas")
	replicasJobs = flag.Int("replicas-jobs", 2000, "the number of jobs that two replicas show")
)

// replicasPoll is how often each replica reads Slurm. Each record is read again within 128 polls. Until then a replica may not know the
// reason of a job that changed without a trace.
const replicasPoll = 3 * time.Second

// testReplicas lets kubectl and an informer list and watch jobs while they change. Their requests go through a server that sends each one
// to one of two replicas at random, as the aggregator of most clusters does.
func (s *env) testReplicas(t *testing.T) {
	c := slurmtest.New(slurmtest.Config{ClusterName: "twice", Key: []byte(restd.Key), Compact: true})
	c.Populate(100, *replicasJobs, 1)
	s.applyManifest(t, fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-t}\n---\n"+
		"apiVersion: slinky.slurm.net/v1beta1\nkind: Cluster\nmetadata: {name: twice, namespace: team-t}\nspec: {server: %q, token: {secretRef: {name: slurm-token, key: SLURM_JWT}}}\n",
		restd.Start(t, c).URL()))
	defer s.mustRun(t, "kubectl", "delete", "clusters.slinky.slurm.net", "-n", "team-t", "twice")
	s.setToken(t, "team-t")
	ports := []int{process.FreePort(t), process.FreePort(t)}
	var peers []string
	for _, port := range ports {
		peers = append(peers, fmt.Sprintf("--view.peers=127.0.0.1:%d", port))
	}
	var replicas []adapter
	for _, port := range ports {
		replicas = append(replicas, s.startAdapterAt(t, port, append(peers, "--slurm.poll-interval="+replicasPoll.String())...))
	}
	front := s.startFront(t, ports)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	work, endWork := context.WithCancel(ctx)
	wg.Go(func() { c.Run(work) })
	wg.Go(func() { changeJobs(work, t, c) })

	process.Await(t, func() error { // the API server discovers the group with a delay
		_, err := s.kubectl(t, "get", "slurmjobs", "-n", "team-t", "--field-selector=metadata.name=none")
		return err
	})
	kubectl := s.startKubectlWatch(ctx, t, front.URL)
	informer := startInformer(ctx, t, &wg, front.URL)
	time.Sleep(*replicasFor)
	endWork()
	s.checkAgainstReplicas(t, ports, informer, kubectl)
	t.Logf("%d jobs: kubectl got %d events, %d equal; the informer got %d, %d equal, with %d lists and %d watches", *replicasJobs,
		kubectl.events.Load(), kubectl.equal.Load(), informer.events.Load(), informer.equal.Load(), front.lists.Load(), front.watches.Load())
	if kubectl.equal.Load()+informer.equal.Load() != 0 || kubectl.events.Load() == 0 || informer.events.Load() == 0 {
		t.Error("there are equal events, or none at all")
	}
	if front.watches.Load() < 3 {
		t.Error("the informer never moved to another replica")
	}
	for i, r := range replicas {
		if strings.Contains(r.Log(), "no replica tells") {
			t.Errorf("replica %d: %s", i, r.Log())
		}
	}
	// A replica stops: its clients continue at the other one without a new list.
	listed := front.lists.Load()
	front.remove(ports[0])
	replicas[0].stop(t)
	id, err := c.Submit(slurmtest.JobSpec{User: "bob", JobRequest: slurm.JobRequest{Name: "late", Tasks: 1}, Forever: true})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(time.Second)
	process.Await(t, func() error {
		if _, ok, _ := informer.GetStore().GetByKey(fmt.Sprintf("team-t/twice.%d", id)); !ok {
			return fmt.Errorf("the informer does not have job %d", id)
		}
		return nil
	})
	if n := front.lists.Load(); n != listed {
		t.Errorf("clients listed again %d times after a replica went", n-listed)
	}
	for _, e := range informer.errors() {
		t.Error("the informer: ", e)
	}
	cancel()
	replicas[1].stop(t)
}

// changeJobs submits and cancels jobs.
func changeJobs(ctx context.Context, t *testing.T, c *slurmtest.Cluster) {
	var mine []uint32
	for ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
		if len(mine) > 50 && rand.IntN(2) == 0 {
			_ = c.Cancel(fmt.Sprint(mine[0])) // it may have ended
			mine = mine[1:]
			continue
		}
		id, err := c.Submit(slurmtest.JobSpec{User: "bob", JobRequest: slurm.JobRequest{Name: "change", Tasks: 1},
			RunFor: time.Duration(1+rand.IntN(20)) * time.Second})
		if err != nil {
			t.Error(err)
			return
		}
		mine = append(mine, id)
	}
}

// front sends each request for the view to one of the replicas at random, and ends watches of informers after a few seconds. Other
// requests go to the API server.
type front struct {
	*httptest.Server
	lists, watches atomic.Int32

	mu    sync.Mutex
	ports []int
}

func (f *front) remove(port int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ports = []int{f.ports[0] + f.ports[1] - port}
}

func (f *front) pick() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ports[rand.IntN(len(f.ports))]
}

const informerAgent = "replicas-informer"

func (s *kubeEnv) startFront(t *testing.T, ports []int) *front {
	t.Helper()
	config, err := s.kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	toKube := transportOf(t, config)
	config.Insecure, config.CAData, config.CAFile = true, nil, ""
	for _, port := range ports { // a server requests no certificate before it has read which CAs it trusts
		process.Await(t, func() error { return s.checkListed(t, config, port) })
	}
	toReplicas := transportOf(t, config)
	f := &front{ports: ports}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Host == strings.TrimPrefix(config.Host, "https://") {
			return toKube.RoundTrip(r)
		}
		return toReplicas.RoundTrip(r)
	}), Rewrite: func(r *httputil.ProxyRequest) {
		target := config.Host
		if strings.HasPrefix(r.In.URL.Path, "/apis/view.slinky.slurm.net/v1alpha1/") {
			target = fmt.Sprintf("https://127.0.0.1:%d", f.pick())
			f.count(r.Out)
		}
		to, err := url.Parse(target)
		if err != nil {
			panic(err)
		}
		r.SetURL(to)
	}, ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}}
	f.Server = httptest.NewServer(proxy)
	t.Cleanup(f.Close)
	return f
}

// checkListed returns an error unless a replica lists jobs for a new connection.
func (s *kubeEnv) checkListed(t *testing.T, config *rest.Config, port int) error {
	t.Helper()
	fresh := rest.CopyConfig(config)
	fresh.Wrap(func(of http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { r.Close = true; return of.RoundTrip(r) })
	})
	client := &http.Client{Transport: transportOf(t, fresh)}
	resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-t/slurmjobs?limit=1", port))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// count counts the requests of the informer and shortens its watches.
func (f *front) count(r *http.Request) {
	if r.UserAgent() != informerAgent {
		return
	}
	query := r.URL.Query()
	if query.Get("watch") == "" {
		if query.Get("continue") == "" {
			f.lists.Add(1)
		}
		return
	}
	f.watches.Add(1)
	seconds := 3 + rand.IntN(6)
	if query.Get("sendInitialEvents") == "true" {
		seconds += *replicasJobs / 1000 // all jobs take longer
	}
	query.Set("timeoutSeconds", fmt.Sprint(seconds))
	r.URL.RawQuery = query.Encode()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func transportOf(t *testing.T, config *rest.Config) http.RoundTripper {
	t.Helper()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

// follower is a client's view of jobs.
type follower struct {
	events, equal atomic.Int32

	mu   sync.Mutex
	jobs map[string]string
	errs []string
}

// see records an object that the client got.
func (f *follower) see(o *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events.Add(1)
	text := contentOf(o)
	if f.jobs[o.GetName()] == text {
		f.equal.Add(1)
	}
	f.jobs[o.GetName()] = text
}

func (f *follower) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events.Add(1)
	delete(f.jobs, name)
}

func (f *follower) errors() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errs
}

// contentOf returns an object's fields about its job.
func contentOf(o *unstructured.Unstructured) string {
	c := o.DeepCopy()
	c.SetResourceVersion("")
	unstructured.RemoveNestedField(c.Object, "status", "lastSchedulerEvaluation")
	text, _ := json.Marshal(c.Object)
	return string(text)
}

type informer struct {
	cache.SharedIndexInformer
	follower
}

func startInformer(ctx context.Context, t *testing.T, wg *sync.WaitGroup, server string) *informer {
	t.Helper()
	client, err := dynamic.NewForConfig(&rest.Config{Host: server, UserAgent: informerAgent})
	if err != nil {
		t.Fatal(err)
	}
	f := &informer{SharedIndexInformer: dynamicinformer.NewFilteredDynamicInformer(client,
		v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.Jobs), "team-t", 0, cache.Indexers{}, nil).Informer()}
	f.jobs = map[string]string{}
	err = f.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if errors.Is(err, io.EOF) { // the end of a watch
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, err.Error())
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { f.see(o.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, o any) { f.see(o.(*unstructured.Unstructured)) },
		DeleteFunc: func(o any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o); err == nil {
				f.forget(strings.TrimPrefix(key, "team-t/"))
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { f.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), f.HasSynced) {
		t.Fatal("the informer does not sync")
	}
	return f
}

// startKubectlWatch runs kubectl get slurmjobs --watch.
func (s *kubeEnv) startKubectlWatch(ctx context.Context, t *testing.T, server string) *follower {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["front"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["front"], config.CurrentContext = &clientcmdapi.Context{Cluster: "front"}, "front"
	file := filepath.Join(s.dir, "front.kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.kube.Dir, "bin", "kubectl"), "get", "slurmjobs", "-n", "team-t", "--watch",
		"--output-watch-events", "-o", "json", "-l", "user=bob", "--chunk-size=0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "KUBECACHEDIR="+s.dir)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &follower{jobs: map[string]string{}}
	go func() {
		for d := json.NewDecoder(pipe); ; {
			var e struct {
				Type   string
				Object unstructured.Unstructured
			}
			if err := d.Decode(&e); err != nil {
				break
			}
			if e.Type == "DELETED" {
				f.forget(e.Object.GetName())
			} else {
				f.see(&e.Object)
			}
		}
		err := cmd.Wait()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.errs = append(f.errs, fmt.Sprint(err, " ", stderr.String()))
	}()
	return f
}

// checkAgainstReplicas checks that clients have what each replica lists.
func (s *kubeEnv) checkAgainstReplicas(t *testing.T, ports []int, in *informer, kubectl *follower) {
	t.Helper()
	config, err := s.kube.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Insecure, config.CAData, config.CAFile = true, nil, ""
	client := &http.Client{Transport: transportOf(t, config)}
	for _, port := range ports {
		err := process.Retry(t.Context(), 128*replicasPoll+process.Patience, func(context.Context) error {
			resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-t/slurmjobs", port))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			var list unstructured.UnstructuredList
			if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
				return err
			}
			if len(list.Items) < *replicasJobs*9/10 {
				return fmt.Errorf("the list has %d jobs", len(list.Items))
			}
			return errors.Join(compareJobs("the informer", &in.follower, list.Items, ""), compareJobs("kubectl", kubectl, list.Items, "bob"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range append(in.errors(), kubectl.errors()...) {
		t.Error("a client: ", e)
	}
}

// compareJobs returns an error unless a client has exactly the jobs of a user, or all.
func compareJobs(who string, f *follower, listed []unstructured.Unstructured, user string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := map[string]string{}
	for i := range listed {
		if user == "" || listed[i].GetLabels()["user"] == user {
			want[listed[i].GetName()] = contentOf(&listed[i])
		}
	}
	var wrong []string
	for name, text := range want {
		if f.jobs[name] != text {
			wrong = append(wrong, fmt.Sprintf("%s has %q of %s, want %q", who, f.jobs[name], name, text))
		}
	}
	for name := range f.jobs {
		if want[name] == "" {
			wrong = append(wrong, fmt.Sprintf("%s has %s, which does not exist", who, name))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d differences, such as %s; errors: %q", len(wrong), wrong[0], f.errs)
	}
	return nil
}
