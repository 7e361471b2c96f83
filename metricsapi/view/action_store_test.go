package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// postAs sends an action as a user and returns the status and the body.
func postAs(t *testing.T, server *httptest.Server, who, path, spec string) (int, string) {
	t.Helper()
	return postBodyAs(t, server, who, path, `{"apiVersion": "view.slinky.slurm.net/v1alpha1", "kind": "SlurmAction", "spec": `+spec+`}`)
}

// postBodyAs sends a body as a user and returns the status and the body of the answer.
func postBodyAs(t *testing.T, server *httptest.Server, who, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		server.URL+"/apis/view.slinky.slurm.net/v1alpha1/namespaces/team-a/"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User", who)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// actionServer serves the actions of a cluster with a private queue, and notes what slurmctld would be asked.
func actionServer(t *testing.T, answer error) (server *httptest.Server, asked *[]string) {
	t.Helper()
	source := sourceOf(clusterRef("team-a", "alpha"), 1,
		newNode("n1", "MIXED"), newNode("n2", "IDLE", "DRAIN"),
		newJob(7, slurm.JobPending), newJob(8, slurm.JobPending, func(j *slurm.Job) { j.Hold = true }),
		newJob(9, slurm.JobRunning, ofUser("bob"), onNodes("n1"))).withConf("jobs")
	asked = &[]string{}
	act := func(_ context.Context, a Action) error {
		*asked = append(*asked, fmt.Sprintf("%s: %s of %s %s", a.User, a.Message(), a.Cluster, a.Reason))
		return answer
	}
	return serverOf(t, New(newDirectory(source), Config{Now: noon, Act: act})), asked
}

func TestActions(t *testing.T) {
	for _, tc := range []struct {
		name, who, path, spec string
		status                int
		asked, text           string
	}{
		{"a drain", "root", "slurmnodes/alpha.n1/drain", `{"reason": "disk"}`, 201, "root: drain node n1 of team-a/alpha disk [root]", "drain node n1"},
		{"a resume", "root", "slurmnodes/alpha.n2/resume", `{}`, 201, "root: resume node n2 of team-a/alpha ", ""},
		{"one's own job", "alice", "slurmjobs/alpha.7/cancel", `{}`, 201, "alice: cancel job 7 of team-a/alpha ", ""},
		{"a hold", "root", "slurmjobs/alpha.7/hold", `{}`, 201, "root: hold job 7 of team-a/alpha ", ""},
		{"a release", "root", "slurmjobs/alpha.8/release", `{}`, 201, "root: release job 8 of team-a/alpha ", ""},
		{"a hold of one's own job, which only an administrator could release", "alice", "slurmjobs/alpha.7/hold", `{}`, 403, "", "use scontrol hold"},
		{"a release of one's own job, which an administrator may have held", "alice", "slurmjobs/alpha.8/release", `{}`, 403, "", "use scontrol release"},
		{"the job of another user", "root", "slurmjobs/alpha.9/cancel", `{}`, 201, "root: cancel job 9 of team-a/alpha ", ""},
		{"only tried", "alice", "slurmjobs/alpha.7/cancel?dryRun=All", `{}`, 201, "", "cancel job 7"},
		{"a hidden job", "alice", "slurmjobs/alpha.9/cancel", `{}`, 404, "", "not found"},
		{"a node that does not exist", "root", "slurmnodes/alpha.n9/drain", `{"reason": "x"}`, 404, "", "not found"},
		{"a node that is drained already", "root", "slurmnodes/alpha.n2/drain", `{"reason": "x"}`, 409, "", "is drained already"},
		{"a running job", "root", "slurmjobs/alpha.9/hold", `{}`, 409, "", "only a pending job can be held"},
		{"drain without the right", "eve", "slurmnodes/alpha.n1/drain", `{"reason": "x"}`, 403, "", "forbidden"},
		{"resume without the right", "eve", "slurmnodes/alpha.n2/resume", `{}`, 403, "", "forbidden"},
		{"cancel without the right", "eve", "slurmjobs/alpha.7/cancel", `{}`, 403, "", "forbidden"},
		{"hold without the right", "eve", "slurmjobs/alpha.7/hold", `{}`, 403, "", "forbidden"},
		{"release without the right", "eve", "slurmjobs/alpha.8/release", `{}`, 403, "", "forbidden"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, asked := actionServer(t, nil)
			status, body := postAs(t, server, tc.who, tc.path, tc.spec)
			if got := strings.Join(*asked, "; "); status != tc.status || got != tc.asked || !strings.Contains(body, tc.text) {
				t.Errorf("it is %d, asks %q and says %s, want %d and %q", status, got, body, tc.status, tc.asked)
			}
		})
	}
}

func TestJobsOfOthersThatAreNotPrivateNeedARightToActOn(t *testing.T) {
	source := sourceOf(clusterRef("team-a", "alpha"), 1, newJob(9, slurm.JobRunning, ofUser("bob"), onNodes("n1"))).withConf()
	server := serverOf(t, New(newDirectory(source), Config{Now: noon, Act: func(context.Context, Action) error {
		t.Error("slurmctld is asked")
		return nil
	}}))
	if status, body := postAs(t, server, "alice", "slurmjobs/alpha.9/cancel", `{}`); status != 403 || !strings.Contains(body, "actall") {
		t.Errorf("it is %d: %s", status, body)
	}
}

func TestErrorsOfActions(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer error
		status int
	}{
		{"slurmctld refuses it", &slurmclient.Error{Code: slurmclient.CodeInvalid, Op: "updating", Message: "no"}, 422},
		{"slurmctld is away", &slurmclient.Error{Code: slurmclient.CodeUnavailable, Op: "updating"}, 503},
		{"there is no connection", errors.New("no connection"), 503},
		{"somebody else was faster", refusal("it is drained already"), 409},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, _ := actionServer(t, tc.answer)
			if status, body := postAs(t, server, "root", "slurmnodes/alpha.n1/drain", `{"reason": "disk"}`); status != tc.status {
				t.Errorf("it is %d: %s, want %d", status, body, tc.status)
			}
		})
	}
}

func TestActionsAreOffByDefault(t *testing.T) {
	server := serverOf(t, New(newDirectory(sourceOf(clusterRef("team-a", "alpha"), 1, newNode("n1", "IDLE"))), Config{Now: noon}))
	if status, body := postAs(t, server, "root", "slurmnodes/alpha.n1/drain", `{"reason": "disk"}`); status != 404 {
		t.Errorf("it is %d: %s", status, body)
	}
}

// TestANameOfSeveralObjects: Kubernetes allows dots in the names of clusters, and Slurm in those of nodes.
func TestANameOfSeveralObjects(t *testing.T) {
	asked := ""
	server := serverOf(t, New(newDirectory(sourceOf(clusterRef("team-a", "a"), 1, newNode("b.c", "IDLE")),
		sourceOf(clusterRef("team-a", "a.b"), 1, newNode("c", "IDLE"), newNode("d", "IDLE"))),
		Config{Now: noon, Act: func(_ context.Context, a Action) error {
			asked += a.Message() + " of " + a.Cluster.String()
			return nil
		}}))
	uid := func(cluster, node string) string {
		return string(uidOf("Cluster", "team-a", cluster, "SlurmNode", node, "0"))
	}
	for _, tc := range []struct {
		name, object, meta string
		status             int
		asked, text        string
	}{
		{"without a UID", "a.b.c", ``, 409, "", "the clusters team-a/a and team-a/a.b have this name: set metadata.uid"},
		{"of the first cluster", "a.b.c", uid("a", "b.c"), 201, "drain node b.c of team-a/a", ""},
		{"of the second cluster", "a.b.c", uid("a.b", "c"), 201, "drain node c of team-a/a.b", ""},
		{"of neither", "a.b.c", uid("a.b", "d"), 409, "", "any more: look again"},
		{"a name of one object", "a.b.d", ``, 201, "drain node d of team-a/a.b", ""},
		{"one object with another UID", "a.b.d", uid("a.b", "c"), 409, "", "any more: look again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asked = ""
			status, body := postBodyAs(t, server, "root", "slurmnodes/"+tc.object+"/drain", fmt.Sprintf(
				`{"apiVersion": "view.slinky.slurm.net/v1alpha1", "kind": "SlurmAction", "metadata": {"uid": %q}, "spec": {"reason": "disk"}}`, tc.meta))
			if status != tc.status || asked != tc.asked || !strings.Contains(body, tc.text) {
				t.Errorf("it is %d, asks %q and says %s, want %d and %q", status, asked, body, tc.status, tc.asked)
			}
		})
	}
}

func TestOddBodiesOfActions(t *testing.T) {
	const head = `{"apiVersion": "view.slinky.slurm.net/v1alpha1", "kind": "SlurmAction"`
	for _, tc := range []struct {
		name, path, body string
		status           int
	}{
		{"another name than the path", "slurmnodes/alpha.n1/drain", head + `, "metadata": {"name": "alpha.n2"}, "spec": {"reason": "x"}}`, 400},
		{"another namespace than the path", "slurmnodes/alpha.n1/drain", head + `, "metadata": {"namespace": "b"}, "spec": {"reason": "x"}}`, 400},
		{"the name of the path", "slurmnodes/alpha.n1/drain", head + `, "metadata": {"name": "alpha.n1"}, "spec": {"reason": "x"}}`, 201},
		{"another kind", "slurmnodes/alpha.n1/drain", `{"apiVersion": "view.slinky.slurm.net/v1alpha1", "kind": "SlurmNode"}`, 400},
		{"no JSON", "slurmnodes/alpha.n1/drain", `reason=disk`, 400},
		{"nothing", "slurmjobs/alpha.7/cancel", ``, 400},
		{"a list", "slurmjobs/alpha.7/cancel", `[]`, 400},
		{"an unknown field, strictly", "slurmjobs/alpha.7/cancel?fieldValidation=Strict", head + `, "spec": {"task": 3}}`, 400},
		{"a task that is no number", "slurmjobs/alpha.7/cancel", head + `, "spec": {"arrayTaskID": "3"}}`, 400},
		{"a task of a node", "slurmnodes/alpha.n1/drain", head + `, "spec": {"reason": "x", "arrayTaskID": 3}}`, 409},
		{"a task of a job that is no array", "slurmjobs/alpha.7/cancel", head + `, "spec": {"arrayTaskID": 3}}`, 409},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, asked := actionServer(t, nil)
			status, body := postBodyAs(t, server, "root", tc.path, tc.body)
			if status != tc.status || (len(*asked) > 0) != (tc.status == 201) {
				t.Errorf("it is %d, asks %q and says %s, want %d", status, *asked, body, tc.status)
			}
		})
	}
}
