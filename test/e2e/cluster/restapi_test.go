//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slurmtide/slurmtide/operator/names"
)

// restdClient returns a function that asks slurmrestd without TLS (see restdClientAt).
func (e *env) restdClient() func(ctx context.Context, path string) (string, error) {
	e.Helper()
	return e.restdClientAt(fmt.Sprintf("%s:%d", names.RestAPIService("slurm"), names.SlurmrestdPort), e.newToken())
}

// newToken returns a function that returns a token of slurmctld, the same one each time.
func (e *env) newToken() func() string {
	e.Helper()
	token := strings.TrimPrefix(e.slurm("scontrol", "token", "lifespan=3600"), "SLURM_JWT=")
	return func() string { return token }
}

// restdClientAt returns a function that sends requests to slurmrestd through the API server, since the test is not in
// the network of Services. For a service such as "https:slurm-restapi:6821" it uses TLS without verification.
func (e *env) restdClientAt(service string, token func() string) func(ctx context.Context, path string) (string, error) {
	e.Helper()
	config, err := e.kube.RESTConfig()
	must(e.T, err)
	client, err := rest.HTTPClientFor(config)
	must(e.T, err)
	url := fmt.Sprintf("%s/api/v1/namespaces/%s/services/%s/proxy", config.Host, e.namespace, service)
	return func(ctx context.Context, path string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("X-Slurm-User-Token", token())
		res, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close() //nolint:errcheck // nothing depends on it
		text, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", res.Status, text)
		}
		return string(text), err
	}
}

// testRestAPI requests jobs from slurmrestd all the time while its pods are replaced. No request fails.
func (e *env) testRestAPI(job string) {
	ask := e.restdClient()
	text, err := ask(e.Context(), "/slurm/v0.0.42/job/"+job)
	must(e.T, err)
	if !strings.Contains(text, "RUNNING") {
		e.Errorf("slurmrestd says of the running job:\n%s", text)
	}
	e.replaceRestAPI("again", ask)
}

// replaceRestAPI replaces the pods of slurmrestd, by a new value of an annotation, while a client sends requests all
// the time. No request fails.
func (e *env) replaceRestAPI(annotation string, ask func(ctx context.Context, path string) (string, error)) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.Context())
	var wg sync.WaitGroup
	answers, failures := 0, []string{}
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := ask(ctx, "/slurm/v0.0.42/jobs/"); err == nil {
				answers++
			} else if ctx.Err() == nil {
				failures = append(failures, err.Error())
			}
		}
	})
	begin := time.Now()
	e.kubectl("patch", "restapi", "slurm", "--type=merge", "-p",
		`{"spec":{"template":{"metadata":{"annotations":{"`+annotation+`":"1"}}}}}`)
	deployment := "deployment/" + names.RestAPIDeployment("slurm")
	e.kubectl("wait", deployment, "--for=jsonpath={.spec.template.metadata.annotations."+annotation+"}=1", "--timeout=180s")
	e.kubectl("rollout", "status", deployment, "--timeout=180s")
	cancel()
	wg.Wait()
	e.Logf("slurmrestd replaced in %.1f s: %d answers, %d failures", time.Since(begin).Seconds(), answers, len(failures))
	if len(failures) > 0 || answers == 0 {
		e.Errorf("%d of %d requests failed: %s", len(failures), answers+len(failures), strings.Join(failures, "; "))
	}
}
