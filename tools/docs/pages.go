package docs

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// ListPages returns the pages that are tracked in Git, as paths relative to the root of the
// repository. It returns an error outside a clone or if Git is not installed.
func ListPages(ctx context.Context, root string) ([]string, error) {
	list := exec.CommandContext(ctx, "git", "ls-files", "*.md")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the pages: %w", err)
	}
	return strings.Fields(string(out)), nil
}
