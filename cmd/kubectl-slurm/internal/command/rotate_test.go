package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeServer is an API server with one Controller, hpc/blue. Each read of it shows the next condition, the last one
// again and again.
type fakeServer struct {
	// annotation and condition are those of the key that is replaced, slurm.key's if they are empty.
	annotation, condition string

	mu         sync.Mutex
	request    string
	conditions []string
	reads      int
	// onRead is called at each read if it is not nil.
	onRead func(reads int)
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	const path = "/apis/slinky.slurm.net/v1beta1/namespaces/hpc/controllers"
	switch {
	case r.Method == http.MethodPatch && r.URL.Path == path+"/blue":
		body, _ := io.ReadAll(r.Body)
		var patch struct {
			Metadata struct{ Annotations map[string]string }
		}
		if json.Unmarshal(body, &patch) == nil {
			f.request = patch.Metadata.Annotations["slinky.slurm.net/"+cmp.Or(f.annotation, "rotate-keys")]
		}
		fmt.Fprint(w, f.controller(0))
	case r.URL.Path == path+"/blue":
		f.reads++
		if f.onRead != nil {
			f.onRead(f.reads)
		}
		fmt.Fprint(w, f.controller(min(f.reads, len(f.conditions)-1)))
	case r.URL.Path == path:
		fmt.Fprintf(w, `{"items":[%s]}`, f.controller(0))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// controller returns the Controller with one of the conditions, "STATUS REASON MESSAGE".
func (f *fakeServer) controller(condition int) string {
	words := strings.SplitN(f.conditions[condition], " ", 3)
	return fmt.Sprintf(`{"metadata":{"name":"blue","annotations":{"slinky.slurm.net/%s":%q}},"status":{`+
		`"conditions":[{"type":%q,"status":%q,"reason":%q,"message":%q}]}}`, cmp.Or(f.annotation, "rotate-keys"), f.request,
		cmp.Or(f.condition, "KeysRotated"), words[0], words[1], words[2])
}

// runRotate runs kubectl slurm rotate against the server.
func runRotate(ctx context.Context, t *testing.T, f *fakeServer, args ...string) (out, problems string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	var stdout, stderr strings.Builder
	noon := func() time.Time { return time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) }
	root := New(Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, noon, "test")
	root.SetArgs(append([]string{"rotate", "--server=" + server.URL, "--namespace=hpc"}, args...))
	err = root.ExecuteContext(ctx)
	return stdout.String(), stderr.String(), err
}

func newSteps() []string {
	const before = "True Rotated all daemons have the key old alone"
	return []string{before, before, "False DistributingKey given the key new",
		"True Rotated all daemons have the key new alone"}
}

func TestRotatePrintsEachStep(t *testing.T) {
	f := &fakeServer{conditions: newSteps()}
	out, _, err := runRotate(t.Context(), t, f, "--wait")
	want := "controller hpc/blue: given the key new\ncontroller hpc/blue: all daemons have the key new alone\n"
	if err != nil || out != want || f.request != "2030-01-01T12:00:00Z" {
		t.Errorf("request %q, error %v, output:\n%s", f.request, err, out)
	}
}

func TestRotatePrintsAnObject(t *testing.T) {
	f := &fakeServer{conditions: newSteps()}
	out, progress, err := runRotate(t.Context(), t, f, "blue", "--wait", "--output=json")
	var got rotation
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || !got.Done || got.Step != "Rotated" ||
		!strings.Contains(progress, "given the key new") {
		t.Errorf("error %v, output:\n%s\n%s", err, out, progress)
	}
}

// TestRotatePrintsWhatHostsOutsideNeed: the operator's message has the way out.
func TestRotatePrintsWhatHostsOutsideNeed(t *testing.T) {
	steps := newSteps()
	const message = "hosts outside of Kubernetes may have the key, since there is slurm node n1. Confirm it: kubectl annotate"
	f := &fakeServer{conditions: append(steps[:3:3], "False WaitingForHostsOutside "+message, steps[3])}
	out, _, err := runRotate(t.Context(), t, f, "--wait")
	if err != nil || !strings.Contains(out, "controller hpc/blue: "+message+"\n") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

func TestRotateWithoutWaiting(t *testing.T) {
	f := &fakeServer{conditions: newSteps()}
	out, _, err := runRotate(t.Context(), t, f)
	if err != nil || !strings.Contains(out, "asked for a new key") || f.reads != 0 {
		t.Errorf("%d reads, error %v, output:\n%s", f.reads, err, out)
	}
}

func TestAnInterruptedRotateSaysThatTheRotationGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeServer{conditions: newSteps()[:3], onRead: func(reads int) {
		if reads == 3 {
			cancel()
		}
	}}
	_, progress, err := runRotate(ctx, t, f, "--wait")
	if !errors.Is(err, context.Canceled) || !strings.Contains(progress, "the rotation goes on") {
		t.Errorf("error %v, output:\n%s", err, progress)
	}
}

func TestRotateOfAControllerThatDoesNotExist(t *testing.T) {
	if _, _, err := runRotate(t.Context(), t, &fakeServer{conditions: newSteps()}, "green"); err == nil ||
		!strings.Contains(err.Error(), "Controller green") {
		t.Errorf("the error is %v", err)
	}
}

func TestRotateTheKeyOfTokens(t *testing.T) {
	f := &fakeServer{annotation: "rotate-jwt-keys", condition: "JWTKeysRotated", conditions: newSteps()}
	out, _, err := runRotate(t.Context(), t, f, "--key=jwt", "--wait")
	if err != nil || f.request == "" || !strings.Contains(out, f.conditions[len(f.conditions)-1][len("True Rotated "):]) {
		t.Errorf("the request is %q, the output %q: %v", f.request, out, err)
	}
	if _, _, err := runRotate(t.Context(), t, f, "--key=munge"); err == nil ||
		!strings.Contains(err.Error(), "must be slurm or jwt") {
		t.Errorf("with an unknown key: %v", err)
	}
}
