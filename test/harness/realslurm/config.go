package realslurm

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Config configures a cluster. The zero value is a Slurm 26.05 cluster of four nodes with
// accounting.
type Config struct {
	// Version is the Slurm version, one of [Versions]. Empty means 26.05.
	Version string
	// Name is the cluster's name in Slurm. Empty means "dev".
	Name string
	// Nodes is the number of slurmds, named n1, n2 and so on, with 16 CPUs, 64 GB and four GPUs
	// each. The maximum is 180. Zero means 4.
	Nodes int
	// NodeConfs replaces those slurmds: each is a name and its line of slurm.conf, such as
	// "a1 CPUs=4 RealMemory=1000". The only partition is then batch, with all nodes.
	NodeConfs []string
	// Gres replaces the lines of gres.conf. The files /inst/gpu/h100-[0-7] serve as GPU devices.
	Gres []string
	// Files are additional files of /etc/slurm, their content by name.
	Files map[string]string
	// AccountingOf is a cluster whose slurmdbd and keys this cluster shares. Nil means its own.
	AccountingOf *Cluster
	// WithoutAccounting leaves out slurmdbd, MariaDB, accounts and QOS.
	WithoutAccounting bool
	// Munge makes the daemons authenticate with MUNGE instead of auth/slurm.
	Munge bool
	// Conf is appended to slurm.conf; a later setting overrides an earlier one. @N1_PORT@ is
	// replaced by the port of the first slurmd.
	Conf []string
	// MaxJobs is MaxJobCount. Zero means 100,000.
	MaxJobs int
	// MinJobAge is how long slurmctld keeps finished jobs, in whole seconds.
	// Zero means 300 s.
	MinJobAge time.Duration
	// RestdEnv is additional environment of slurmrestd, as KEY=VALUE.
	RestdEnv []string
	// RestdArgs are additional arguments of slurmrestd.
	RestdArgs []string
	// RestdWithoutUsers hides the names of alice, bob and carol from slurmrestd, as if only the other daemons read a directory.
	RestdWithoutUsers bool
	// ArenaMax is MALLOC_ARENA_MAX of slurmrestd. Zero leaves it unset.
	ArenaMax int
	// WithoutJemalloc runs slurmrestd with glibc's malloc.
	WithoutJemalloc bool
}

// Versions lists the Slurm versions that can be started, oldest first.
func Versions() []string { return []string{"24.11", "26.05"} }

// flags returns the arguments of hack/slurm/up.
func (c Config) flags() []string {
	var flags []string
	add := func(name, value string) { flags = append(flags, name, value) }
	addInt := func(name string, value int) {
		if value != 0 {
			add(name, strconv.Itoa(value))
		}
	}
	if c.Version != "" {
		add("--slurm", c.Version)
	}
	if c.Name != "" {
		add("--name", c.Name)
	}
	addInt("--nodes", c.Nodes)
	addInt("--max-jobs", c.MaxJobs)
	addInt("--min-job-age", int(c.MinJobAge/time.Second))
	addInt("--arena-max", c.ArenaMax)
	if c.WithoutAccounting {
		flags = append(flags, "--no-accounting")
	}
	if c.Munge {
		flags = append(flags, "--munge")
	}
	if c.RestdWithoutUsers {
		flags = append(flags, "--restd-no-users")
	}
	if c.WithoutJemalloc {
		flags = append(flags, "--no-jemalloc")
	}
	if c.AccountingOf != nil {
		add("--accounting-of", c.AccountingOf.Dir)
	}
	for _, node := range c.NodeConfs {
		add("--node", node)
	}
	for _, line := range c.Conf {
		add("--conf", line)
	}
	for _, line := range c.Gres {
		add("--gres", line)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		add("--etc-file", name+"="+c.Files[name])
	}
	for _, variable := range c.RestdEnv {
		add("--restd-env", variable)
	}
	for _, arg := range c.RestdArgs {
		add("--restd-arg", arg)
	}
	return flags
}
