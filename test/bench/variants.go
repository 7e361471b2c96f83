package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/buger/jsonparser"
	"github.com/bytedance/sonic/decoder"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/slurmtide/slurmtide/slurmclient"
	api "github.com/slurmtide/slurmtide/slurmclient/api/v0045"
)

// variants read the lists of jobs and nodes in three ways: ours, through the generated structs, and by scans that keep
// nothing.
var variants = []struct {
	name    string
	prepare func(url string) (pollFunc, error)
}{
	{"ours", prepareOurs},
	{"generated", prepareRead(decodeGenerated)},
	{"scan_sonic", scanSonic},
	{"skip_sonic", prepareRead(skipSonic)},
	{"skip_jsonparser", prepareRead(skipJSONParser)},
	{"skip_jsontext", prepareRead(skipJSONText)},
	{"tokens_jsontext", prepareRead(tokensJSONText)},
}

// pollFunc polls once and returns the number of bytes and records read.
type pollFunc func(ctx context.Context) (bytes int64, records int, err error)

// prepareOurs polls as the exporter does: into a published snapshot.
func prepareOurs(url string) (pollFunc, error) {
	seen := &byteCounter{}
	client, err := slurmclient.New(slurmclient.Config{URL: url, Version: "v0.0.45", Token: fixedToken("t"),
		Observer: seen})
	if err != nil {
		return nil, err
	}
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{
		Period: time.Hour, JobsReader: slurmclient.ReadList,
		Resources: []slurmclient.Resource{slurmclient.Nodes, slurmclient.Jobs},
	})
	return func(ctx context.Context) (int64, int, error) {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() { cache.Run(ctx); close(done) }()
		defer func() { cancel(); <-done }()
		var s *slurmclient.Snapshot
		for after := uint64(0); s == nil || !s.Jobs.Known || !s.Nodes.Known; after = s.Sequence {
			var err error
			if s, err = cache.Next(ctx, after); err != nil {
				return 0, 0, err
			}
			if err := errors.Join(s.Jobs.Err, s.Nodes.Err); err != nil {
				return 0, 0, err
			}
		}
		return seen.bytes.Load(), len(s.Jobs.Value) + len(s.Nodes.Value), nil
	}, nil
}

type byteCounter struct{ bytes atomic.Int64 }

func (c *byteCounter) Request(_ string, _ int, _ time.Duration, bytes int64) { c.bytes.Add(bytes) }
func (c *byteCounter) Polled(slurmclient.Resource, time.Duration, error)     {}

type fixedToken string

func (f fixedToken) Token() (string, error) { return string(f), nil }
func (fixedToken) Reload() (bool, error)    { return false, nil }
func (fixedToken) Expiry() time.Time        { return time.Time{} }

// scanSonic skips over answers that are in memory already. Unlike a poll, it reads from no connection.
func scanSonic(url string) (pollFunc, error) {
	var bodies [][]byte
	fetch, err := prepareRead(func(_ string, body *countingReader) (int, error) {
		raw, err := readBody(body)
		bodies = append(bodies, raw)
		return 0, err
	})(url)
	if err != nil {
		return nil, err
	}
	if _, _, err := fetch(context.Background()); err != nil {
		return nil, err
	}
	return func(context.Context) (int64, int, error) {
		n := int64(0)
		for _, raw := range bodies {
			if start, _ := decoder.Skip(raw); start < 0 {
				return 0, 0, errors.New("sonic cannot skip the answer")
			}
			n += int64(len(raw))
		}
		return n, 0, nil
	}, nil
}

// prepareRead reads both lists, one after the other, with a function for each answer.
func prepareRead(read func(key string, body *countingReader) (int, error)) func(url string) (pollFunc, error) {
	return func(url string) (pollFunc, error) {
		return func(ctx context.Context) (int64, int, error) {
			bytes, records := int64(0), 0
			for _, key := range []string{"nodes", "jobs"} {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/slurm/v0.0.45/"+key+"/", nil)
				if err != nil {
					return 0, 0, err
				}
				req.Header.Set("X-SLURM-USER-TOKEN", "t")
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return 0, 0, err
				}
				body := &countingReader{r: resp.Body}
				n, err := read(key, body)
				_ = resp.Body.Close()
				if err != nil {
					return 0, 0, fmt.Errorf("%s: %w", key, err)
				}
				bytes, records = bytes+body.n, records+n
			}
			return bytes, records, nil
		}, nil
	}
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func decodeGenerated(key string, body *countingReader) (int, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return 0, err
	}
	if key == "nodes" {
		var v api.OpenapiNodesResp
		err := json.Unmarshal(raw, &v)
		retained = v
		return len(v.Nodes), err
	}
	var v api.OpenapiJobInfoResp
	err = json.Unmarshal(raw, &v)
	retained = v
	return len(v.Jobs), err
}

// retained keeps the last decoded list from being collected too early.
var retained any

// readBody reads a whole answer, with room that grows by doubling.
func readBody(body *countingReader) ([]byte, error) {
	raw := make([]byte, 0, 1<<20)
	for {
		if len(raw) == cap(raw) {
			raw = append(make([]byte, 0, 2*cap(raw)), raw...)
		}
		n, err := body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		if errors.Is(err, io.EOF) {
			return raw, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func skipSonic(_ string, body *countingReader) (int, error) {
	raw, err := readBody(body)
	if err != nil {
		return 0, err
	}
	if start, _ := decoder.Skip(raw); start < 0 {
		return 0, errors.New("sonic cannot skip the answer")
	}
	return 0, nil
}

func skipJSONParser(key string, body *countingReader) (int, error) {
	raw, err := readBody(body)
	if err != nil {
		return 0, err
	}
	n := 0
	_, err = jsonparser.ArrayEach(raw, func([]byte, jsonparser.ValueType, int, error) { n++ }, key)
	return n, err
}

func skipJSONText(key string, body *countingReader) (int, error) {
	d := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return 0, err
	}
	n := 0
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return 0, err
		}
		if name.String() != key {
			if err := d.SkipValue(); err != nil {
				return 0, err
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			return 0, err
		}
		for ; d.PeekKind() != ']'; n++ {
			if err := d.SkipValue(); err != nil {
				return 0, err
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func tokensJSONText(_ string, body *countingReader) (int, error) {
	d := jsontext.NewDecoder(body, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
	}
}
