package docs

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// ListPages lists the pages that are in Git, by their paths from the root of the repository.
// An error means that this is no clone, or that there is no Git.
func Pages(ctx context.Context, root string) ([]string, error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "*.md")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the pages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
