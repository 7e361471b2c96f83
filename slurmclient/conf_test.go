package slurmclient_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

func TestConfPrivateData(t *testing.T) {
	whole := recordedReply(t, "26.05/v0.0.45/conf.json")
	with := func(old, text string) reply {
		changed := whole
		if changed.body = bytes.Replace(whole.body, []byte(old), []byte(text), 1); bytes.Equal(changed.body, whole.body) {
			t.Fatalf("%s was not recorded", old)
		}
		return changed
	}
	const words = "[\n      \"jobs\",\n      \"nodes\"\n    ]"
	for _, tc := range []struct {
		name string
		give reply
		want []string
		code slurmclient.Code
	}{
		{"jobs and nodes", whole, []string{"jobs", "nodes"}, ""},
		{"nothing is private", with(words, "[]"), []string{}, ""},
		{"PrivateData is null", with(words, "null"), nil, slurmclient.CodeUnavailable},
		{"PrivateData is missing", with(`"PrivateData"`, `"PublicData"`), nil, slurmclient.CodeUnavailable},
		{"PrivateData is not a list", with(words, `"jobs"`), nil, slurmclient.CodeUnavailable},
		{"an answer without a configuration", with(`"slurm_conf"`, `"slurm"`), nil, slurmclient.CodeUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conf, err := newTestClient(t, "v0.0.45", alwaysReply(tc.give)).Conf(t.Context())
			wantCode(t, "the configuration", err, tc.code)
			if err == nil && !slices.Equal(conf.PrivateData, tc.want) {
				t.Errorf("PrivateData is %q, want %q", conf.PrivateData, tc.want)
			}
		})
	}
}

// TestAnUnsupportedConfigurationIsNotRequested uses a server whose API version has no configuration: the
// reading is known and nil, and no request is made for it besides those that negotiate the version.
func TestAnUnsupportedConfigurationIsNotRequested(t *testing.T) {
	var asked atomic.Int32
	client := newTestClient(t, "", func(r *http.Request) (reply, error) {
		asked.Add(1)
		if r.URL.Path != "/slurm/v0.0.44/ping/" {
			return reply{http.StatusNotFound, "text/plain", nil}, nil
		}
		return recordedReply(t, "26.05/v0.0.44/ping.json"), nil
	})
	cache := slurmclient.NewCache(client, slurmclient.CacheConfig{Period: time.Hour, Resources: []slurmclient.Resource{slurmclient.Conf}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go cache.Run(ctx)
	for range 3 {
		if err := cache.Refresh(ctx, slurmclient.Conf); err != nil {
			t.Fatal(err)
		}
	}
	if conf := cache.Snapshot().Conf; !conf.Known || conf.Value != nil || conf.Err != nil {
		t.Errorf("the configuration is %+v", conf)
	}
	if n := asked.Load(); n > 2 {
		t.Errorf("%d requests were made; negotiating the version takes 2", n)
	}
}
