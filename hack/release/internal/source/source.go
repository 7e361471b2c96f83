// Package source reads what a release is made of: the repository, its commit and its version.
package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
	"sigs.k8s.io/yaml"
)

// Source is a commit of the repository that becomes a release.
type Source struct {
	// Root is the folder of the repository.
	Root string
	// Version is the release's, such as 0.1.0.
	Version string
	Commit  string
	// Time is the commit's. All files of the release carry it.
	Time time.Time
	// Modified is whether files differ from the commit.
	Modified bool
}

// Tag is the name of the release's tag.
func (s Source) Tag() string { return "v" + s.Version }

// Read reads the repository in folder root. The version is the charts' version.
func Read(ctx context.Context, root string) (Source, error) {
	version, err := chartsVersion(root)
	if err != nil {
		return Source{}, err
	}
	commit, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return Source{}, err
	}
	hash, seconds, _ := strings.Cut(commit, " ")
	at, err := commitTime(os.Getenv("SOURCE_DATE_EPOCH"), seconds)
	if err != nil {
		return Source{}, err
	}
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return Source{}, err
	}
	tags, err := git(ctx, root, "tag", "--points-at", "HEAD", "v*")
	if err != nil {
		return Source{}, err
	}
	s := Source{Root: root, Version: version, Commit: hash, Time: at, Modified: changes != ""}
	return s, checkTags(s.Tag(), strings.Fields(tags))
}

// commitTime returns the time in SOURCE_DATE_EPOCH, if it is set, or the commit's.
func commitTime(epoch, committed string) (time.Time, error) {
	if epoch == "" {
		epoch = committed
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is not a number of seconds: %q", epoch)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// checkTags refuses a tagged commit whose charts have another version.
func checkTags(want string, tags []string) error {
	for _, tag := range tags {
		if semver.IsValid(tag) && tag != want {
			return fmt.Errorf("the commit is tagged %s, but its charts have version %s: change version and appVersion in "+
				"charts/*/Chart.yaml, or the tag", tag, strings.TrimPrefix(want, "v"))
		}
	}
	return nil
}

// chartsVersion returns the version that all charts have.
func chartsVersion(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "charts", "*", "Chart.yaml"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("%s has no charts", root)
	}
	version := ""
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var chart struct{ Version string }
		if err := yaml.Unmarshal(text, &chart); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		if version != "" && chart.Version != version {
			return "", fmt.Errorf("%s has version %s, other charts have %s", file, chart.Version, version)
		}
		version = chart.Version
	}
	if !semver.IsValid("v" + version) {
		return "", fmt.Errorf("the charts have version %q, which is not a version such as 0.1.0", version)
	}
	return version, nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %s", args[0], bytes.TrimSpace(failed.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}
