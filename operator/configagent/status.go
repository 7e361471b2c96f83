package configagent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/slurmtide/slurmtide/operator/names"
)

// maxStatusSize is how much of an answer is read.
const maxStatusSize = 64 << 10

// StatusReader asks agents for their status. NewStatusReader returns one.
type StatusReader struct{ client *http.Client }

// NewStatusReader returns a reader that waits for an answer up to the timeout. It follows no redirect: otherwise the
// owner of a pod could choose what the operator reads.
func NewStatusReader(timeout time.Duration) *StatusReader {
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &StatusReader{&http.Client{Timeout: timeout, CheckRedirect: noRedirect}}
}

// Read returns the status of the agent in the pod with an address.
func (r *StatusReader) Read(ctx context.Context, podIP string) (Status, error) {
	url := "http://" + net.JoinHostPort(podIP, strconv.Itoa(names.SlurmAgentPort)) + "/status"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return Status{}, fmt.Errorf("asking the agent: %w", err)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return Status{}, fmt.Errorf("asking the agent: %w", err)
	}
	defer res.Body.Close() //nolint:errcheck // nothing depends on it
	if res.StatusCode != http.StatusOK {
		return Status{}, fmt.Errorf("asking the agent: %s", res.Status)
	}
	var out Status
	if err := json.NewDecoder(io.LimitReader(res.Body, maxStatusSize)).Decode(&out); err != nil {
		return Status{}, fmt.Errorf("reading what the agent says: %w", err)
	}
	return out, nil
}
