package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// keepCounts counts what KeepConnected did.
type kept struct{ dialled, used, ended, failed int }

// runKeepConnected runs KeepConnected for the given time with a session whose polls all fail.
func keep(t *testing.T, span time.Duration, link Link, dialErr error) kept {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: "unix://" + t.TempDir() + "/nobody.sock"})
	if err != nil {
		t.Fatal(err)
	}
	link.Client = client
	var k kept
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	Keep(ctx, slurmclient.CacheConfig{Resources: []slurmclient.Resource{slurmclient.Nodes}},
		func(context.Context) (Link, error) { k.dialled++; return link, dialErr },
		func(error) { k.failed++ },
		func(ctx context.Context, _ Connection) { k.used++; <-ctx.Done(); k.ended++ })
	return k
}

func TestAConnectionIsKept(t *testing.T) {
	for _, tc := range []struct {
		name string
		link Link
		err  error
		want kept
	}{
		{"a connection without certificates", Link{}, nil, kept{1, 1, 1, 0}},
		{"unchanged certificates", Link{changed: func(context.Context) bool { return false }}, nil, kept{1, 1, 1, 0}},
		{"changed certificates, checked each minute while polls fail", Link{changed: func(context.Context) bool { return true }}, nil, kept{4, 4, 4, 0}},
		{"failed dials are retried each minute", Link{}, errors.New("no certificate"), kept{4, 0, 0, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := keep(t, 3*time.Minute+30*time.Second, tc.link, tc.err); got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			})
		})
	}
}
