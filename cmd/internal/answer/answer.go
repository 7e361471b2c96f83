// Package answer implements the command that the charts' tests run (helm test). Each program has the command. It waits until the release's
// program answers.
package answer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/slurmtide/slurmtide/cmd/internal/flags"
)

// Name is the first argument of a program that runs the command.
const Name = "await-answer"

// upMetric is 1 if the last polls of a Slurm cluster succeeded.
const upMetric = "slurm_up"

// The times of the command. A request that is not answered is repeated after a pause.
const (
	defaultTimeout = time.Minute
	requestTimeout = 5 * time.Second
	pause          = time.Second
)

// maxBytes is more than the metrics of 100,000 jobs and 10,000 nodes.
const maxBytes = 64 << 20

// Run waits until the metrics at a URL can be read and show no Slurm cluster that is down. It returns the exit status: 0 if this succeeds,
// 1 if it does not in time, 2 for invalid flags.
func Run(ctx context.Context, programName string, args []string, out io.Writer) int {
	program, url, timeout := newProgram(programName)
	err := program.Parse(args, out)
	if err == nil && *url == "" {
		err = errors.New("--url is required")
	}
	if err != nil {
		return flags.ReportError(os.Stderr, program.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	answer, err := awaitGoodAnswer(ctx, *url)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: no good answer within %v: %v\n", program.Name, *timeout, err)
		return 1
	}
	_, _ = fmt.Fprintln(out, answer)
	return 0
}

func newProgram(name string) (program *flags.Program, url *string, timeout *time.Duration) {
	program = flags.New(name+" "+Name, `Waits until the metrics at a URL are answered and say of no Slurm cluster that it is down. It is the test of the
chart. It sends no credentials, so that a server which asks for them has answered, too.

  `+name+" "+Name+" --url=http://"+name+".slurm:9341/metrics")
	url, timeout = new(string), new(time.Duration)
	set := program.Group("Request")
	set.StringVar(url, "url", "", "URL of the metrics. Its certificate is not verified. Required.")
	set.DurationVar(timeout, "timeout", defaultTimeout, "How long to wait.")
	return program, url, timeout
}

// awaitGoodAnswer sends requests until an answer is good, and returns its description. The error belongs to the last request that the
// deadline did not interrupt.
func awaitGoodAnswer(ctx context.Context, url string) (string, error) {
	client := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // nothing secret is sent or believed
	}}
	var last error
	for {
		answer, err := requestMetrics(ctx, client, url)
		if err == nil {
			return answer, nil
		}
		if last == nil || ctx.Err() == nil { // the earlier error says more than "deadline exceeded"
			last = err
		}
		select {
		case <-ctx.Done():
			return "", last
		case <-time.After(pause):
		}
	}
}

// requestMetrics returns what a good answer says.
func requestMetrics(ctx context.Context, client *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return url + " answers, and asks for credentials", nil
	default:
		return "", fmt.Errorf("%s answers %s", url, response.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(response.Body, maxBytes))
	if err != nil {
		return "", fmt.Errorf("reading the metrics of %s: %w", url, err)
	}
	up, down := countClusters(families[upMetric])
	if len(down) > 0 {
		return "", fmt.Errorf("the program gets no answer from Slurm (%s is 0): %s", upMetric, strings.Join(down, ", "))
	}
	return fmt.Sprintf("%s answers; Slurm clusters that answer: %d", url, up), nil
}

// countClusters returns how many Slurm clusters are up, and the names of the clusters that are down.
func countClusters(family *dto.MetricFamily) (up int, down []string) {
	for _, m := range family.GetMetric() {
		if m.GetGauge().GetValue() != 0 {
			up++
			continue
		}
		name := "the Slurm cluster"
		for _, label := range m.GetLabel() {
			name += fmt.Sprintf(" %s=%q", label.GetName(), label.GetValue())
		}
		down = append(down, name)
	}
	return up, down
}
