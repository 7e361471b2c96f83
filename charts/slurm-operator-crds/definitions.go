// Package definitions has the custom resource definitions of this chart, for the operator.
package definitions

import "embed"

// Files are the templates. Each is YAML without them being rendered, as their actions are in comments.
//
//go:embed templates/*.yaml
var Files embed.FS
