// Package dockerfile reads what the repository's Dockerfiles say about images, which are assembled without Docker.
package dockerfile

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// Image is an image's configuration in a Dockerfile.
type Image struct {
	User       string
	Entrypoint []string
	Ports      []string
	Labels     map[string]string
}

// Read returns the images of a Dockerfile by name: its stages with an entry point, including what they inherit. It replaces arguments such
// as ${VERSION} in labels by the given values.
func Read(file string, arguments map[string]string) (map[string]Image, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	all, out := map[string]Image{}, map[string]Image{}
	for _, stage := range stages {
		image := readStage(all[stage.BaseName], stage, arguments)
		all[stage.Name] = image
		if len(image.Entrypoint) > 0 {
			out[stage.Name] = image
		}
	}
	return out, nil
}

// readStage returns an image that inherits from another one.
func readStage(from Image, stage instructions.Stage, arguments map[string]string) Image {
	out := from
	out.Labels = map[string]string{}
	maps.Copy(out.Labels, from.Labels)
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			out.User = c.User
		case *instructions.EntrypointCommand:
			out.Entrypoint = c.CmdLine
		case *instructions.ExposeCommand:
			out.Ports = append(out.Ports, c.Ports...)
		case *instructions.LabelCommand:
			for _, label := range c.Labels {
				out.Labels[unquote(label.Key)] = expand(unquote(label.Value), arguments)
			}
		}
	}
	return out
}

func unquote(word string) string { return strings.Trim(word, `"`) }

// expand replaces ${NAME} by the argument, and keeps unknown names.
func expand(text string, arguments map[string]string) string {
	for name, value := range arguments {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}
