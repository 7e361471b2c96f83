package realslurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/slurmtide/slurmtide/test/harness/instance"
)

// Cluster is a running Slurm cluster. Its methods are safe for concurrent use, except Close, which
// must be called last. Dir is mounted as /inst inside the cluster; everybody may write to its folder
// scratch. The daemons are mariadbd, slurmdbd, slurmctld, slurmrestd and slurmd-NODE. A dynamic node
// is Start(ctx, "slurmd-dyn1", "-Z", "--conf", "CPUs=4 …").
type Cluster struct {
	instance.Instance
	// URL is the URL of slurmrestd, http://127.0.0.1:PORT.
	URL string
	// Socket is the path of the unix socket that slurmrestd listens on too.
	Socket string
	// TokenFile contains a token of user slurm that is valid for 30 days.
	TokenFile string
	// KeyFile contains the HS256 key that signs the tokens.
	KeyFile string
	// Version is the Slurm version, such as 26.05.
	Version string

	config Config
}

// Start starts a cluster and returns within seconds, when all its nodes are idle. Each cluster has
// its own ports and its own folder, so several may run at once. The cluster ends at Close, or with
// this process.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	prepared, err := instance.Prepare("slurm")
	if err != nil {
		return nil, err
	}
	config.Version = cmp.Or(config.Version, "26.05")
	config.Nodes = cmp.Or(config.Nodes, 4)
	c := &Cluster{
		Instance:  prepared,
		Version:   config.Version,
		Socket:    filepath.Join(prepared.Dir, "sock", "slurmrestd.sock"),
		TokenFile: filepath.Join(prepared.Dir, "token"),
		KeyFile:   filepath.Join(prepared.Dir, "etc", "jwt_hs256.key"),
		config:    config,
	}
	env, err := c.Up(ctx, config.flags()...)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if c.URL = env["SLURM_URL"]; c.URL == "" {
		return nil, errors.Join(fmt.Errorf("hack/slurm/up did not say where slurmrestd listens: %v", env), c.Close())
	}
	return c, nil
}

// Run runs a Slurm command inside the cluster, as a user in the user's home, and as root if user is empty. The users
// are alice (account ml, QOS high allowed), bob (account hpc, operator) and carol (both accounts). It returns the
// command's output; an error contains its standard error. Pass a batch script with --wrap. If a command failed to
// create its auth token, which happens on a busy machine, it has sent no request and is run again.
func (c *Cluster) Run(ctx context.Context, user string, argv ...string) (string, error) {
	args := append([]string{"--dir", c.Dir, "--as", cmp.Or(user, "root")}, argv...)
	const attempts = 3
	for i := 1; ; i++ {
		out, err := c.RunScript(ctx, "run", args...)
		if err == nil || i == attempts || !strings.Contains(err.Error(), "failed to create token") {
			return out, err
		}
	}
}

// Accounting reports whether the cluster has a slurmdbd, its own or another cluster's.
func (c *Cluster) Accounting() bool { return !c.config.WithoutAccounting }
