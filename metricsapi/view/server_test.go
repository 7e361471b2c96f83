package view

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"

	viewapi "github.com/slurmtide/slurmtide/metricsapi/view/openapi"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// authorizeRequest allows everybody to read, everybody but eve to act, and only root to see private records and to act on the
// jobs of others.
func authorizeRequest(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.GetVerb() == "create" && a.GetUser().GetName() == "eve" {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if (a.GetVerb() == "viewall" || a.GetVerb() == "actall") && a.GetUser().GetName() != "root" {
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionAllow, "", nil
}

// userFromHeader authenticates requests by the header User.
func userFromHeader(r *http.Request) (*authenticator.Response, bool, error) {
	return &authenticator.Response{User: &user.DefaultInfo{Name: r.Header.Get("User")}}, true, nil
}

// serverOf starts the library's API server with only a view.
func serverOf(t *testing.T, v *View) *httptest.Server {
	t.Helper()
	scheme, err := NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	cfg := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	cfg.ExternalAddress, cfg.LoopbackClientConfig = "localhost:443", &rest.Config{}
	cfg.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	cfg.LongRunningFunc = func(r *http.Request, _ *request.RequestInfo) bool { return r.URL.Query().Get("watch") != "" }
	names := openapinamer.NewDefinitionNamer(scheme)
	cfg.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(viewapi.GetOpenAPIDefinitions, names)
	cfg.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(viewapi.GetOpenAPIDefinitions, names)
	cfg.Authentication.Authenticator = authenticator.RequestFunc(userFromHeader)
	cfg.Authorization.Authorizer = authorizer.AuthorizerFunc(authorizeRequest)
	s, err := cfg.Complete(nil).New("test", genericapiserver.NewEmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Install(s, scheme, cfg.Authorization.Authorizer); err != nil {
		t.Fatal(err)
	}
	s.PrepareRun()
	server := httptest.NewServer(s.Handler)
	t.Cleanup(server.Close)
	return server
}

// askAs sends a request as a user and returns the status and the body.
func askAs(t *testing.T, server *httptest.Server, who, path string) (int, string) {
	t.Helper()
	resp := sendAs(t, server, who, path)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(body) {
		t.Fatalf("the response to %s is %s, %v: %s", path, resp.Status, err, body)
	}
	return resp.StatusCode, string(body)
}

// sendAs sends a request as a user. The caller closes the body.
func sendAs(t *testing.T, server *httptest.Server, who, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User", who)
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// objectNames returns the names of the objects in a list.
func objectNames(t *testing.T, body string) string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range list.Items {
		out = append(out, i.Metadata.Namespace+"/"+i.Metadata.Name)
	}
	return strings.Join(out, " ")
}

const groupPath = "/apis/view.slinky.slurm.net/v1alpha1"

// testDirectory contains a cluster whose jobs are private and one whose jobs are not.
func testDirectory() *fakeDirectory {
	return newDirectory(
		sourceOf(clusterRef("a", "red"), 1,
			newJob(7, slurm.JobRunning, onNodes("n[0-1]")),
			newJob(8, slurm.JobPending, inPartitions("cpu,gpu"), waitsFor("Resources")),
			newJob(10, slurm.JobPending, ofUser("bob@site"), inPartitions("cpu"), waitsFor("Priority")),
			newJob(9, slurm.JobCompleted,
				func(j *slurm.Job) {
					j.State.Flags = slurm.JobCompleting
					j.EditOwner(func(o *slurm.JobOwner) { o.Account = "bio" })
				}),
			newNode("n0", "IDLE", "DRAIN"), newNode("n1", "MIXED"), newPartition("gpu"), newPartition("cpu")),
		sourceOf(clusterRef("b", "blue"), 1, newJob(7, slurm.JobRunning, onNodes("m3")),
			newJob(8, slurm.JobRunning, ofUser("bob"), onNodes("m4")),
			newNode("m3", "IDLE")).withDefault(PrivateData{Jobs: true, Nodes: true}),
	)
}

func TestTheAPIOverHTTP(t *testing.T) {
	server := serverOf(t, New(testDirectory(), Config{Now: noon}))
	for _, tc := range []struct {
		name, who, path string
		status          int
		want            string
	}{
		{"all jobs, in the order of their ids", "root", "/slurmjobs", 200,
			"a/red.7 a/red.8 a/red.9 a/red.10 b/blue.7 b/blue.8"},
		{"jobs of a namespace", "root", "/namespaces/a/slurmjobs", 200, "a/red.7 a/red.8 a/red.9 a/red.10"},
		{"jobs of a namespace without a cluster", "root", "/namespaces/none/slurmjobs", 200, ""},
		{"jobs of a partition, also if it is not their first", "root", "/slurmjobs?labelSelector=partition%3Dgpu", 200,
			"a/red.7 a/red.8 a/red.9 b/blue.7 b/blue.8"},
		{"jobs outside of a partition", "root", "/slurmjobs?labelSelector=partition%21%3Dgpu", 200, "a/red.10"},
		{"jobs with the label of a partition", "root",
			"/slurmjobs?labelSelector=partition.view.slinky.slurm.net%2Fcpu%3Dtrue", 200, "a/red.8 a/red.10"},
		{"jobs without the label of a partition", "root",
			"/slurmjobs?labelSelector=%21partition.view.slinky.slurm.net%2Fcpu", 200,
			"a/red.7 a/red.9 b/blue.7 b/blue.8"},
		{"jobs in a state, in lower case", "root", "/slurmjobs?labelSelector=state%20in%20%28pending%2Ccompleting%29",
			200, "a/red.8 a/red.9 a/red.10"},
		{"jobs on a node, also if they have several", "root", "/slurmjobs?labelSelector=node%3Dn1", 200, "a/red.7"},
		{"jobs of an account", "root", "/slurmjobs?labelSelector=account%3Dbio", 200, "a/red.9"},
		{"jobs of a cluster", "root", "/slurmjobs?labelSelector=cluster%3Dblue", 200, "b/blue.7 b/blue.8"},
		{"jobs of a user whose name is not a valid label", "root", "/slurmjobs?fieldSelector=spec.user%3Dbob%40site",
			200, "a/red.10"},
		{"jobs with an unknown label", "root", "/slurmjobs?labelSelector=tier%3Dgold", 200, ""},
		{"jobs without an unknown label", "root", "/namespaces/b/slurmjobs?labelSelector=tier%21%3Dgold", 200,
			"b/blue.7 b/blue.8"},
		{"jobs by name", "root", "/slurmjobs?fieldSelector=metadata.name%3Dred.10", 200, "a/red.10"},
		{"jobs by the field of the namespace", "root", "/slurmjobs?fieldSelector=metadata.namespace%3Db", 200,
			"b/blue.7 b/blue.8"},
		{"jobs by job id and state", "root", "/slurmjobs?fieldSelector=spec.jobID%3D8%2Cstatus.state%3DRUNNING", 200,
			"b/blue.8"},
		{"jobs by an unknown field", "root", "/slurmjobs?fieldSelector=spec.color%3Dred", 400,
			"is not a field selector"},
		{"only the user's own jobs if jobs are private", "bob", "/slurmjobs", 200,
			"a/red.7 a/red.8 a/red.9 a/red.10 b/blue.8"},
		{"no private jobs without a Slurm user", "system:serviceaccount:x:y", "/namespaces/b/slurmjobs", 200, ""},
		{"a private job of another user", "bob", "/namespaces/b/slurmjobs/blue.7", 404,
			`slurmjobs.view.slinky.slurm.net \"blue.7\" not found`},
		{"the user's own private job", "bob", "/namespaces/b/slurmjobs/blue.8", 200, `"user":"bob"`},
		{"a job that does not exist", "root", "/namespaces/a/slurmjobs/red.007", 404, "not found"},
		{"a job of a cluster that does not exist", "root", "/namespaces/a/slurmjobs/green.7", 404, "not found"},
		{"nodes by the state that sinfo shows", "root", "/slurmnodes?labelSelector=state%3Ddrained", 200, "a/red.n0"},
		{"nodes by a flag", "root", "/slurmnodes?fieldSelector=status.state%3DDRAIN", 200, "a/red.n0"},
		{"private nodes", "bob", "/slurmnodes", 403, "PrivateData of the Slurm cluster b/blue"},
		{"nodes that are not private", "bob", "/namespaces/a/slurmnodes?labelSelector=partition%3Dall", 200,
			"a/red.n0 a/red.n1"},
		{"a private node", "bob", "/namespaces/b/slurmnodes/blue.m3", 403, "PrivateData"},
		{"partitions in the order of their names", "bob", "/slurmpartitions", 200, "a/red.cpu a/red.gpu"},
		{"a partition", "bob", "/namespaces/a/slurmpartitions/red.gpu", 200, `"maxTimeMinutes":"unlimited"`},
		{"discovery", "bob", "", 200,
			`"name":"slurmjobs","singularName":"slurmjob","namespaced":true,"kind":"SlurmJob","verbs":["get","list","watch"],"shortNames":["sjob"],"categories":["slurm"]`},
		{"an invalid continue token", "root", "/namespaces/a/slurmjobs?limit=1&continue=nonsense", 400,
			"not from this server"},
		{"a resourceVersion that is not a number", "root", "/slurmjobs?resourceVersion=x", 400, "x"},
		{"an unknown resourceVersion of the past", "root", "/slurmjobs?resourceVersion=5&resourceVersionMatch=Exact",
			410, "Expired"},
		{"a resourceVersion of the future", "root", "/slurmjobs?resourceVersion=" + newVersion(noon().Add(time.Hour), 0, 0).String(), 504,
			"Too large resource version"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := askAs(t, server, tc.who, groupPath+tc.path)
			if status != tc.status {
				t.Fatalf("the response is %d: %s", status, body)
			}
			if tc.status == http.StatusOK && strings.Contains(body, `"items":`) {
				if got := objectNames(t, body); got != tc.want {
					t.Errorf("the list is %q, want %q", got, tc.want)
				}
				return
			}
			if !strings.Contains(body, tc.want) {
				t.Errorf("%s is missing in %s", tc.want, body)
			}
		})
	}
}

func TestClientsAreWarnedOfHiddenJobs(t *testing.T) {
	server := serverOf(t, New(testDirectory(), Config{Now: noon}))
	const own = "PrivateData hides jobs of the Slurm cluster b/blue: only those of bob are shown"
	more := continueToken{Ref: clusterRef("b", "blue"), Key: "1"}.encode()
	for _, tc := range []struct{ name, who, path, want string }{
		{"a list", "bob", "/slurmjobs", own},
		{"a list with any selector, because a missing warning would reveal something about other users' jobs", "bob",
			"/slurmjobs?labelSelector=user%3Dnobody", own},
		{"the user's own job", "bob", "/namespaces/b/slurmjobs/blue.8", ""},
		{"a job of another user", "bob", "/namespaces/b/slurmjobs/blue.7", own},
		{"a job that does not exist", "bob", "/namespaces/b/slurmjobs/blue.9", own},
		{"a watch from the beginning", "bob", "/slurmjobs?watch=1&timeoutSeconds=1", own},
		{"the next page", "bob", "/slurmjobs?continue=" + more, ""},
		{"a user who may see all jobs", "root", "/slurmjobs", ""},
		{"a cluster without private jobs", "bob", "/namespaces/a/slurmjobs", ""},
		{"a user who is not a Slurm user", "system:serviceaccount:x:y", "/slurmjobs",
			"system:serviceaccount:x:y is not a Slurm user"},
		{"a forbidden list", "bob", "/slurmnodes", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp := sendAs(t, server, tc.who, groupPath+tc.path)
			resp.Body.Close()
			got := strings.Join(resp.Header.Values("Warning"), "; ")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("the warning is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestUnknownJobsAreNoEmptyList(t *testing.T) {
	dir := newDirectory(sourceOf(clusterRef("a", "red"), 1, newJob(7, slurm.JobRunning)),
		unreadSource(clusterRef("b", "blue")),
		sourceOf(clusterRef("c", "green"), 1, newJob(7, slurm.JobRunning)).withUnreadConf())
	now := noon()
	server := serverOf(t, New(dir, Config{Now: func() time.Time { return now }}))
	for _, tc := range []struct {
		name, path string
		after      time.Duration
		status     int
		want       string
	}{
		{"one of several clusters cannot be read", "/slurmjobs", 0, 503, "Slurm cluster b/blue: it does not answer"},
		{"the PrivateData of a cluster was not read", "/namespaces/c/slurmjobs", 0, 503,
			"c/green: its PrivateData has not been read yet"},
		{"a job of the cluster that cannot be read", "/namespaces/b/slurmjobs/blue.7", 0, 503, "it does not answer"},
		{"the namespace of another cluster", "/namespaces/a/slurmjobs", 0, 200, "red.7"},
		{"another cluster by a selector", "/slurmjobs?labelSelector=cluster%3Dred", 0, 200, "red.7"},
		{"a list that is too old", "/namespaces/a/slurmjobs", time.Hour, 503, "its jobs were last read 1h0m0s ago"},
		{"an object that is too old", "/namespaces/a/slurmjobs/red.7", time.Hour, 503,
			"its jobs were last read 1h0m0s ago"},
		{"a watch of jobs that are too old", "/namespaces/a/slurmjobs?watch=1", time.Hour, 503,
			"its jobs were last read 1h0m0s ago"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now = noon().Add(tc.after)
			if status, body := askAs(t, server, "root", groupPath+tc.path); status != tc.status ||
				!strings.Contains(body, tc.want) {
				t.Errorf("the response is %d: %s", status, body)
			}
		})
	}
}

func TestOpenAPIDescribesTheKinds(t *testing.T) {
	server := serverOf(t, New(testDirectory(), Config{Now: noon}))
	_, body := askAs(t, server, "root", "/openapi/v2")
	var doc struct {
		Definitions map[string]struct {
			GVK []struct{ Group, Kind, Version string } `json:"x-kubernetes-group-version-kind"`
		}
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	kinds := sets.New[string]()
	for _, d := range doc.Definitions {
		for _, k := range d.GVK {
			if k.Group == "view.slinky.slurm.net" {
				kinds.Insert(k.Kind)
			}
		}
	}
	if want := sets.New("SlurmJob", "SlurmJobList", "SlurmNode", "SlurmNodeList", "SlurmPartition",
		"SlurmPartitionList"); !kinds.IsSuperset(want) {
		t.Errorf("the document has the kinds %v", sets.List(kinds))
	}
}
