package transport

import (
	"context"
	"errors"
	"math/rand/v2"
	"mime"
	"net/http"
	"time"
)

// tries is how often a read is sent at the most when its connection breaks.
const tries = 3

type retry struct{ next http.RoundTripper }

// RoundTrip repeats a GET whose connection broke before an answer began, or whose
// request slurmrestd misread. Any other answer, also an error, is returned as it
// is: the caller's backoff decides. A write is never repeated, since slurmctld may
// have carried it out.
func (r *retry) RoundTrip(req *http.Request) (*http.Response, error) {
	for try := 1; ; try++ {
		resp, err := r.next.RoundTrip(req)
		if req.Method != http.MethodGet || try == tries || err == nil && !misread(resp) || err != nil && !broken(err) {
			return resp, err
		}
		if err == nil {
			_ = resp.Body.Close() // it says what we know
		}
		if err := pause(req.Context(), try); err != nil {
			return nil, err
		}
	}
}

// misread reports slurmrestd's answer to a request that came in pieces (see Room).
// Its own errors are JSON.
func misread(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "text/plain" && resp.StatusCode == http.StatusInternalServerError
}

func broken(err error) bool {
	var token *TokenError
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) &&
		!errors.As(err, &token)
}

func pause(ctx context.Context, try int) error {
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
