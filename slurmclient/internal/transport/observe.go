package transport

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

type opKey struct{}

// WithOp returns a context whose requests belong to the named operation.
func WithOp(ctx context.Context, op string) context.Context {
	return context.WithValue(ctx, opKey{}, op)
}

func opOf(ctx context.Context) string {
	op, _ := ctx.Value(opKey{}).(string)
	return op
}

type observeTransport struct {
	next   http.RoundTripper
	report func(op string, status int, took time.Duration, bytes int64)
}

// RoundTrip reports the request once: immediately if there was no answer, otherwise when the body of
// the answer has been read to the end or closed.
func (o *observeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	begin := time.Now()
	resp, err := o.next.RoundTrip(req)
	if err != nil {
		o.report(opOf(req.Context()), 0, time.Since(begin), 0)
		return nil, err
	}
	body := &countingBody{ReadCloser: resp.Body}
	body.done = sync.OnceFunc(func() {
		o.report(opOf(req.Context()), resp.StatusCode, time.Since(begin), body.bytes)
	})
	resp.Body = body
	return resp, nil
}

type countingBody struct {
	io.ReadCloser
	bytes int64
	done  func()
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes += int64(n)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *countingBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}
