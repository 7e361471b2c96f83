package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// namedFile is a file that could be read.
type namedFile struct {
	File
	// name is its key, and source the user's text.
	name, source string
}

// groupFiles returns the files of each cluster, in the order of the files' names, and why files are refused.
func groupFiles(texts map[string]string) (clusters [][]namedFile, refused []string) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		file, err := ParseFile(texts[name])
		if err != nil {
			refused = append(refused, name+": "+err.Error())
			continue
		}
		i := slices.IndexFunc(clusters, func(files []namedFile) bool { return files[0].Cluster == file.Cluster })
		if i < 0 {
			i, clusters = len(clusters), append(clusters, nil)
		}
		clusters[i] = append(clusters[i], namedFile{file, name, texts[name]})
	}
	return clusters, refused
}

// clusterLoad brings all files of one cluster into the database.
type clusterLoad struct {
	Loader
	sacctmgr
	dir, cluster string
	files        []namedFile
	wanted       slurmconf.Accounts
	// prune removes accounts and users that no file lists.
	prune bool
	// changes lists what changed or would change. refused lists the refused files and the reasons.
	changes, refused []string
}

// run applies the files, then removes what no file lists. Nothing is changed if too much would be removed, and
// nothing is removed if a file is refused. The error is nil if files are refused.
func (c *clusterLoad) run(ctx context.Context) error {
	planned, err := c.plan(ctx)
	if err != nil {
		return c.refuse(err)
	}
	why := planned.refusal(c.wanted.Removals)
	if why != "" && !c.wanted.DryRun {
		return c.refuse(&RefusedError{why})
	}
	for _, file := range c.files {
		if err := c.loadFile(ctx, file); err != nil {
			return err
		}
	}
	if why != "" {
		c.changes = append(c.changes, "would be refused: "+why)
	}
	if removes := planned.describe(); removes != "" {
		c.changes = append(c.changes, removes)
	}
	if len(c.refused) > 0 || c.wanted.DryRun {
		return nil
	}
	return c.refuse(c.remove(ctx, planned))
}

// refuse records an error caused by the files of the cluster, and returns any other error.
func (c *clusterLoad) refuse(err error) error {
	var fault *RefusedError
	if !errors.As(err, &fault) {
		return err
	}
	var names []string
	for _, file := range c.files {
		names = append(names, file.name)
	}
	c.refused = append(c.refused, strings.Join(names, ", ")+": "+fault.Reason)
	return nil
}

// plan connects to slurmdbd and decides what to remove.
func (c *clusterLoad) plan(ctx context.Context) (removal, error) {
	var err error
	if c.sacctmgr, err = c.connect(ctx, c.dir, c.cluster); err != nil || !c.prune {
		return removal{}, err
	}
	existing, err := c.associations(ctx, c.cluster)
	if err != nil {
		return removal{}, waiting(err)
	}
	planned := planRemoval(c.cluster, c.listing(), existing)
	if len(planned.unlisted) > 0 {
		c.Log.Info("what no file lists", "cluster", c.cluster, "associations", planned.unlisted, "removal", planned.name())
	}
	return planned, nil
}

func (c *clusterLoad) listing() listing {
	out := listing{needed: []string{c.User}}
	for _, file := range c.files {
		out.files = append(out.files, file.File)
	}
	return out
}

// loadFile tries a file and applies it. It records the changes, or the reason for a refusal.
func (c *clusterLoad) loadFile(ctx context.Context, file namedFile) error {
	path := filepath.Join(c.dir, "accounts.cfg")
	if err := os.WriteFile(path, []byte(file.Text), 0o600); err != nil {
		return fmt.Errorf("writing a file for sacctmgr: %w", err)
	}
	load := loading{sacctmgr: c.sacctmgr, file: file.File, path: path, text: file.source, log: c.Log.With("file", file.name)}
	change, err := load.try(ctx, c.wanted.DryRun)
	if err == nil && !c.wanted.DryRun {
		err = load.apply(ctx)
	}
	if err = c.faultOf(ctx, err, file.source); err == nil {
		if change != "" {
			c.changes = append(c.changes, change)
		}
		return nil
	}
	var fault *RefusedError
	if !errors.As(err, &fault) {
		return err
	}
	c.refused = append(c.refused, file.name+": "+fault.Reason)
	return nil
}

// remove removes the planned associations, if the database has not changed meanwhile. slurmdbd refuses to remove
// associations with unfinished jobs, and the default account of a user with other accounts. The rest is removed, and
// retried as long as that helps.
func (c *clusterLoad) remove(ctx context.Context, planned removal) error {
	if len(planned.unlisted) == 0 {
		return nil
	}
	existing, err := c.associations(ctx, c.cluster)
	if err != nil {
		return waiting(err)
	}
	now := planRemoval(c.cluster, c.listing(), existing)
	if !planned.contains(now) {
		return &WaitingError{"somebody else has changed the accounts of cluster " + c.cluster + "; nothing is removed yet", true}
	}
	for left := now.unlisted; len(left) > 0; {
		stay, err := c.removeEach(ctx, left)
		if len(stay) == len(left) || err == nil {
			return c.faultOf(ctx, err, "")
		}
		left = stay
	}
	return nil
}

// removeEach removes associations and returns those that stay, with the reason of the first one.
func (c *clusterLoad) removeEach(ctx context.Context, left []Association) (stay []Association, reason error) {
	for _, a := range left {
		_, err := c.sacctmgr.run(ctx, removeCommand(c.cluster, a)...)
		var failed *commandError
		switch {
		case err == nil:
			c.Log.Info("removed what is in no file", "cluster", c.cluster, "association", a.String())
		case errors.As(err, &failed):
			if stay = append(stay, a); reason == nil {
				reason = &commandError{a.String() + " stays: " + strings.TrimSpace(failed.output)}
			}
		default:
			return left, err
		}
	}
	return stay, reason
}

// removeCommand returns the command that removes an association.
func removeCommand(cluster string, a Association) []string {
	in := []string{"cluster=" + cluster}
	if a.User == "" {
		return append([]string{"-i", "delete", "account", "where", "name=" + a.Account}, in...)
	}
	if a.Partition != "" {
		in = append(in, "partition="+a.Partition)
	}
	return append([]string{"-i", "delete", "user", "where", "name=" + a.User, "account=" + a.Account}, in...)
}
