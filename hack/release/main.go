// Command release makes a release of the repository: everything that is published, in one folder.
// docs/development/release.md describes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: release [FLAGS] [STEP...]

Makes a release of the repository in the folder dist/, all steps or the named ones:

  programs  programs for each platform, in archives and packages (deb, rpm), and krew's manifest
  images    images of the programs and of Slurm's daemons, as OCI layouts
  charts    charts that name the images by digest, as archives and as OCI layouts
  notes     notes of the version, from CHANGELOG.md

Each run ends with the SBOMs, the check that the release has what the repository names, and the checksums. Nothing
is published unless --push names a registry, and nothing is signed unless --key names a key of cosign.

FLAGS
`

// options are the flags.
type options struct {
	root, dist, cache string
	images            string
	architectures     string
	systems           string
	snapshot          string
	push, key         string
	plainHTTP         bool
	existing          bool
	incomplete        bool
	verbose           bool
	steps             []string
}

var allSteps = []string{"programs", "images", "charts", "notes"}

func main() {
	// Helm's loader logs each link among the charts.
	log.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// run returns the exit status: 0 for success, 1 when a step failed, 2 for invalid flags, 130 after Ctrl-C.
func run(ctx context.Context, args []string, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "release:", err)
		return 2
	}
	err = makeRelease(ctx, o, newProgress(stderr, time.Now))
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "release: interrupted; the next run uses what is compiled already")
		return 130
	case err != nil:
		fmt.Fprintln(stderr, "release:", err)
		return 1
	}
	return 0
}

// everyArchitecture are the architectures of Slurm's daemons.
const everyArchitecture = "amd64,arm64"

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	set := flag.NewFlagSet("release", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&o.root, "root", ".", "`folder` of the repository")
	set.StringVar(&o.dist, "dist", "dist", "`folder` of the release")
	set.StringVar(&o.cache, "cache", "", "`folder` of what is compiled; $XDG_CACHE_HOME/slurmtide/release without it")
	set.StringVar(&o.images, "images", "", "`names` of the images, such as slurm-operator,slurmd:26.05; all without it")
	set.StringVar(&o.architectures, "arch", everyArchitecture, "`architectures` of Slurm's daemons")
	set.StringVar(&o.systems, "os", "", "operating `systems` of programs, such as linux; all without it")
	set.StringVar(&o.snapshot, "snapshot", "", "`time` of Debian's archive for the images of daemons, or none for today's mirror;\n"+
		"without it that in images/snapshot, or today's mirror if the archive cannot be reached")
	set.StringVar(&o.push, "push", "", "`registry` that gets images and charts, such as ghcr.io/slurmtide")
	set.BoolVar(&o.plainHTTP, "plain-http", false, "the registry has no TLS")
	set.StringVar(&o.key, "key", "", "`key` with which cosign signs the checksums and what is pushed")
	set.BoolVar(&o.incomplete, "incomplete", false, "push the release although it lacks something, as to a registry for tests")
	set.BoolVar(&o.existing, "existing", false, "make nothing: sign and push the release that the folder has")
	set.BoolVar(&o.verbose, "v", false, "print what compilers and GoReleaser print")
	set.Usage = func() {
		fmt.Fprint(stderr, usage)
		set.PrintDefaults()
	}
	if err := set.Parse(args); err != nil {
		return o, err
	}
	return o, o.complete(set.Args())
}

// complete makes paths absolute and checks the steps.
func (o *options) complete(steps []string) error {
	if o.existing && len(steps) > 0 {
		return errors.New("--existing makes nothing, so it takes no steps")
	}
	for _, step := range steps {
		if !slices.Contains(allSteps, step) {
			return fmt.Errorf("no step %q, the steps are: %s", step, strings.Join(allSteps, " "))
		}
	}
	if slices.Contains(steps, "images") && !slices.Contains(steps, "programs") {
		return errors.New("the step images needs the step programs")
	}
	o.steps = steps
	if len(steps) == 0 {
		o.steps = allSteps
	}
	if o.cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		o.cache = filepath.Join(user, "slurmtide", "release")
	}
	for _, path := range []*string{&o.root, &o.dist, &o.cache} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return err
		}
		*path = absolute
	}
	return nil
}

// progress prints what happens, with the seconds since the start.
type progress struct {
	out   io.Writer
	now   func() time.Time
	start time.Time
}

func newProgress(out io.Writer, now func() time.Time) progress {
	return progress{out: out, now: now, start: now()}
}

func (p progress) say(format string, args ...any) {
	fmt.Fprintf(p.out, "[%4d s] %s\n", int(p.now().Sub(p.start).Seconds()), fmt.Sprintf(format, args...))
}
