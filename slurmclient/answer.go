package slurmclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/internal/transport"
	"github.com/slurmtide/slurmtide/slurmclient/internal/wire"
)

// maxAnswerBytes limits answers other than lists of nodes and jobs: they may need a quarter of the memory of the process
// (GOMEMLIMIT), which reads other servers, too.
func maxAnswerBytes(memoryLimit int64) int64 { return min(memoryLimit/4, 256<<20) }

// Slurm's error numbers that have a Code of their own (slurm/slurm_errno.h).
const (
	errProtocolAuth   = 1007
	errCtldConnection = 1800
	errBadPartition   = 2000
	errAccessDenied   = 2002
	errInvalidUser    = 2010
	errNodesBusy      = 2016
	errBadJob         = 2017
	errBadNode        = 2018
	errAlreadyDone    = 2021
	errInvalidState   = 2028
	errReservation    = 2053
	errInTransition   = 2180
	errTimeout        = 5004
	errDBConnection   = 7000
)

// slurmctld's refusals of a request lie in this range. Those that codeOfNumber does not list are
// mistakes in the request.
const (
	firstRefusal = 2000
	lastRefusal  = 2999
	// The errors of slurmrestd's request parser lie in this range.
	firstParseError = 9200
	lastParseError  = 9299
)

// codeOfNumber maps Slurm's error numbers to codes. The HTTP status of the same error differs
// between releases, so it decides only where there is no number.
var codeOfNumber = map[int]Code{
	errProtocolAuth: CodeUnauthorized, errAccessDenied: CodeUnauthorized, errInvalidUser: CodeUnauthorized,
	errCtldConnection: CodeUnavailable, errTimeout: CodeUnavailable, errDBConnection: CodeUnavailable,
	errBadPartition: CodeNotFound, errBadJob: CodeNotFound, errBadNode: CodeNotFound,
	errNodesBusy: CodeConflict, errInvalidState: CodeConflict, errAlreadyDone: CodeConflict,
	errInTransition: CodeConflict,
	errReservation:  CodeNotFound,
}

// answer is one complete answer.
type answer struct {
	status  int
	json    bool
	body    []byte
	outline wire.Outline
	// redirect is where the server redirects to, without a path, empty for nowhere. retryAfter is how long it asks to wait.
	redirect   string
	retryAfter time.Duration
}

// newAnswer returns the answer with the body. Its outline is not read yet.
func newAnswer(resp *http.Response, body []byte) *answer {
	a := &answer{status: resp.StatusCode, body: body, retryAfter: retryAfterOf(resp, time.Now())}
	if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
		a.redirect = to.Scheme + "://" + to.Host
	}
	return a
}

// retryAfterOf returns how long an overloaded server asks to wait (RFC 9110, 10.2.3), 0 for no time.
func retryAfterOf(resp *http.Response, now time.Time) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second //nolint:gosec // 31 bits
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	return max(0, at.Sub(now))
}

// errTooLarge is the error of an answer with more than maxAnswerBytes bytes.
var errTooLarge = errors.New("a quarter of the memory limit, and 256 MiB, is the most")

// exchange sends one request and reads its whole answer. It returns an error if no usable answer arrived.
func (c *Client) exchange(
	ctx context.Context, op string, timeout time.Duration, send func(context.Context) (*http.Response, error),
) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errDeadline)
	defer cancel()
	resp, err := send(ctx)
	if err != nil {
		return nil, requestError(ctx, op, err)
	}
	defer resp.Body.Close()
	most := maxAnswerBytes(debug.SetMemoryLimit(-1))
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err != nil {
		return nil, requestError(ctx, op, err)
	}
	if int64(len(body)) > most {
		return nil, &Error{Code: CodeUnavailable, Op: op, Status: resp.StatusCode,
			Message: fmt.Sprintf("the answer is larger than %d MiB", most>>20), Err: errTooLarge}
	}
	ans := newAnswer(resp, body)
	if isJSON(resp) && len(body) > 0 {
		ans.outline, ans.json = wire.ReadOutline(body)
		c.recordServer(ans.outline.Server)
		if err := checkCluster(ctx, op, ans.outline.Server); err != nil {
			return nil, err
		}
	}
	return ans, nil
}

var errDeadline = errors.New("no answer within the request timeout")

// requestError explains why there is no answer. It keeps the URL that net/http puts into its
// errors, since the URL contains no secret.
func requestError(ctx context.Context, op string, err error) error {
	var token *transport.TokenError
	switch {
	case errors.As(err, &token):
		return &Error{Code: CodeUnauthorized, Op: op, Err: token}
	case errors.Is(err, wire.ErrUnsupported):
		return &Error{Code: CodeUnsupported, Op: op, Err: err}
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errDeadline):
		return &Error{Code: CodeUnavailable, Op: op, Err: errDeadline}
	}
	return &Error{Code: CodeUnavailable, Op: op, Err: err}
}

func isJSON(resp *http.Response) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// problem returns the error that the answer reports, or nil.
func (a *answer) problem(op string) error {
	if a.status == http.StatusNotModified {
		return &Error{Code: CodeUnchanged, Op: op, Status: a.status}
	}
	if a.json {
		if err := outlineProblem(op, a.status, a.outline); err != nil {
			return err
		}
	}
	switch {
	case a.status == http.StatusOK && a.json:
		return nil
	case a.status == http.StatusOK:
		return &Error{Code: CodeUnavailable, Op: op, Status: a.status,
			Message: "the answer is not JSON: is this a slurmrestd?"}
	case a.redirect != "":
		return &Error{Code: CodeUnavailable, Op: op, Status: a.status,
			Message: "the server redirects to " + a.redirect + ", where no token is sent: use the URL of slurmrestd itself"}
	}
	// The error quotes nothing of the answer: the server may be anything, and readers of the error may lack the right to see its answers.
	code := codeOfStatus(a.status)
	if a.isMissingPath() {
		code = CodeUnsupported
	}
	return &Error{Code: code, Op: op, Status: a.status, RetryAfter: a.retryAfter}
}

// isMissingPath reports whether slurmrestd itself answered that the path is missing: "Unable find requested URL" (24.11), or "Unable to
// find requested URL endpoint" (26.05). The status alone is not enough, because a proxy may have sent it.
func (a *answer) isMissingPath() bool {
	return a.status == http.StatusNotFound && !a.json && bytes.Contains(a.body, []byte("find requested URL"))
}

func outlineProblem(op string, status int, out wire.Outline) error {
	if len(out.Errors) == 0 {
		return nil
	}
	p := out.Errors[0]
	for _, q := range out.Errors {
		if q.Number > 0 {
			p = q
			break
		}
	}
	code, ok := codeOfNumber[p.Number]
	switch {
	case ok:
	case p.Number >= firstRefusal && p.Number <= lastRefusal, p.Number >= firstParseError && p.Number <= lastParseError:
		code = CodeInvalid
	default:
		code = codeOfStatus(status)
	}
	text := "the answer does not name the Slurm release that sent it"
	if out.Server.Release != "" {
		text = problemText(p)
	}
	return &Error{Code: code, Op: op, Status: status, Number: p.Number, Message: text}
}

func problemText(p wire.Problem) string {
	parts := make([]string, 0, 2)
	for _, s := range []string{p.Description, p.Text} {
		if s != "" && s != "No error" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// codeOfStatus returns the code of an answer whose error has no known number.
func codeOfStatus(status int) Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNetworkAuthenticationRequired:
		return CodeUnauthorized
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusOK:
		return CodeInvalid
	case http.StatusConflict:
		return CodeConflict
	}
	return CodeUnavailable
}
