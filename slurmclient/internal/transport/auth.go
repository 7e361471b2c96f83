package transport

import (
	"fmt"
	"io"
	"net/http"
)

// TokenSource returns the token to send.
type TokenSource interface {
	// Token returns the current token.
	Token() (string, error)
	// Reload gets the token again after the server refused it and reports whether it changed.
	Reload() (bool, error)
}

// statusAuthFailed is slurmrestd's answer to a bad or expired token: 511, with Slurm error 1007. The
// answer to a missing token is 401.
const statusAuthFailed = http.StatusNetworkAuthenticationRequired

type authTransport struct {
	next     http.RoundTripper
	token    TokenSource
	userName string
}

// RoundTrip adds the token. If the server refuses it, RoundTrip sends the request again once with another one: that which
// another request has got meanwhile, or else the reloaded one. The server did not carry out a request that it refused, so
// this is safe for writes too.
func (a *authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	token, err := a.currentToken()
	if err != nil {
		return nil, err
	}
	resp, err := a.send(req, token)
	if err != nil || a.token == nil {
		return resp, err
	}
	if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != statusAuthFailed {
		return resp, nil
	}
	another, ok := a.anotherToken(token)
	if !ok {
		return resp, nil
	}
	again, ok := rewindBody(req)
	if !ok {
		return resp, nil
	}
	drainBody(resp.Body)
	return a.send(again, another)
}

// currentToken returns the token to send, empty if there is no source.
func (a *authTransport) currentToken() (string, error) {
	if a.token == nil {
		return "", nil
	}
	token, err := a.token.Token()
	if err != nil {
		return "", &TokenError{err}
	}
	return token, nil
}

// anotherToken returns a token that replaces a refused one, and reports whether it has one.
func (a *authTransport) anotherToken(refused string) (string, bool) {
	if current, err := a.currentToken(); err == nil && current != refused {
		return current, true
	}
	if changed, err := a.token.Reload(); err != nil || !changed {
		return "", false
	}
	current, err := a.currentToken()
	return current, err == nil
}

func (a *authTransport) send(req *http.Request, token string) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Cache-Control", "no-cache") // a proxy may keep answers (RFC 9111, 5.2.1.4)
	if a.userName != "" {
		req.Header.Set("X-SLURM-USER-NAME", a.userName)
	}
	if a.token != nil {
		req.Header.Set("X-SLURM-USER-TOKEN", token)
	}
	return a.next.RoundTrip(req)
}

// TokenError reports why no token can be sent. It never contains one.
type TokenError struct{ Err error }

// Error returns the error of the token's source.
func (e *TokenError) Error() string { return fmt.Sprintf("getting a token: %v", e.Err) }

// Unwrap returns the cause.
func (e *TokenError) Unwrap() error { return e.Err }

// rewindBody returns the request with its body at the start, or false if the body cannot be read
// twice.
func rewindBody(req *http.Request) (*http.Request, bool) {
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

// drainBody reads the rest of an answer that is not needed and closes it, so that its connection can be
// reused.
func drainBody(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}
