package transport

import (
	"fmt"
	"io"
	"net/http"
)

// Token is where the token comes from.
type Token interface {
	// Token returns the token to send now.
	Token() (string, error)
	// Reload looks again after a refusal and reports whether the token changed.
	Reload() (bool, error)
}

// statusAuthFailed is how slurmrestd answers a bad or expired token: 511, with
// Slurm error 1007. A missing token is 401.
const statusAuthFailed = http.StatusNetworkAuthenticationRequired

type auth struct {
	next     http.RoundTripper
	token    Token
	userName string
}

// RoundTrip adds the token. When the server refuses it, the token is looked up
// again and, if that gave another one, the request is made once more: a refused
// request was not carried out, so this is safe for writes too.
func (a *auth) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := a.send(req)
	if err != nil || a.token == nil {
		return resp, err
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != statusAuthFailed {
		return resp, nil
	}
	// Without another token the refusal is the answer.
	if changed, err := a.token.Reload(); err != nil || !changed {
		return resp, nil //nolint:nilerr // the refusal tells more
	}
	again, ok := rewind(req)
	if !ok {
		return resp, nil
	}
	drain(resp.Body)
	return a.send(again)
}

func (a *auth) send(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if a.userName != "" {
		req.Header.Set("X-SLURM-USER-NAME", a.userName)
	}
	if a.token != nil {
		token, err := a.token.Token()
		if err != nil {
			return nil, &TokenError{err}
		}
		req.Header.Set("X-SLURM-USER-TOKEN", token)
	}
	return a.next.RoundTrip(req)
}

// TokenError says that there is no token to send. It never holds one.
type TokenError struct{ Err error }

// Error tells what is wrong with the token's source.
func (e *TokenError) Error() string { return fmt.Sprintf("getting a token: %v", e.Err) }

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// rewind returns the request with its body at the start, or false when it has a
// body that cannot be read twice.
func rewind(req *http.Request) (*http.Request, bool) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, false
	}
	again := req.Clone(req.Context())
	again.Body = body
	return again, true
}

// drain reads what little is left of an answer nobody wants, so that its
// connection can be used again, and closes it.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}
