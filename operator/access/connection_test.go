package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient"
)

// keepCounts counts the actions of KeepConnected.
type keepCounts struct{ dialled, used, ended, failed int }

// runKeepConnected runs KeepConnected for the given time with a session whose polls all fail.
func runKeepConnected(t *testing.T, span time.Duration, link Session, dialErr error) keepCounts {
	t.Helper()
	client, err := slurmclient.New(slurmclient.Config{URL: "unix://" + t.TempDir() + "/nobody.sock"})
	if err != nil {
		t.Fatal(err)
	}
	link.Client = client
	var k keepCounts
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	KeepConnected(ctx, slurmclient.CacheConfig{Resources: []slurmclient.Resource{slurmclient.Nodes}},
		func(context.Context) (Session, error) { k.dialled++; return link, dialErr },
		func(error) { k.failed++ },
		func(ctx context.Context, _ Connection) { k.used++; <-ctx.Done(); k.ended++ })
	return k
}

func TestAConnectionIsKept(t *testing.T) {
	for _, tc := range []struct {
		name string
		link Session
		err  error
		want keepCounts
	}{
		{"a connection without certificates", Session{}, nil, keepCounts{1, 1, 1, 0}},
		{"unchanged certificates", Session{certificatesChanged: func(context.Context) bool { return false }}, nil,
			keepCounts{1, 1, 1, 0}},
		{"changed certificates, checked each minute while polls fail",
			Session{certificatesChanged: func(context.Context) bool { return true }}, nil, keepCounts{4, 4, 4, 0}},
		{"failed dials are retried each minute", Session{}, errors.New("no certificate"), keepCounts{4, 0, 0, 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := runKeepConnected(t, 3*time.Minute+30*time.Second, tc.link, tc.err); got != tc.want {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			})
		})
	}
}
