package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"mime"
	"net/http"
	"time"
)

// maxAttempts is how often a read is sent at most if its connection breaks.
const maxAttempts = 3

type retryTransport struct{ next http.RoundTripper }

// RoundTrip repeats a GET request if its connection broke before an answer began or if slurmrestd
// misread it. It returns any other answer, including errors, and leaves further attempts to the
// caller. It never repeats a write, since slurmctld may have carried it out.
func (r *retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := r.next.RoundTrip(req)
		if req.Method != http.MethodGet || try == maxAttempts ||
			err == nil && !isMisread(resp) || err != nil && !isBroken(err) {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close() // the body contains nothing new
		}
		if err := waitBeforeRetry(req.Context(), try); err != nil {
			return nil, err
		}
	}
}

// isMisread reports whether slurmrestd received the request in pieces (see MaxQueryBytes). Its other errors are JSON.
func isMisread(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/plain" && resp.StatusCode == http.StatusInternalServerError
}

func isBroken(err error) bool {
	var token *TokenError
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
		!errors.As(err, &token)
}

func waitBeforeRetry(ctx context.Context, try int) error {
	most := time.Duration(try) * 100 * time.Millisecond
	timer := time.NewTimer(most/2 + rand.N(most/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
