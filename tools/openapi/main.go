// Openapi prunes an OpenAPI document that slurmrestd printed to the operations that slurmtide calls, and
// normalises the rest so that the Go packages generated from different API versions resemble each other:
//
//   - The names of types and operations have no version ("v0.0.44_node" is "node").
//   - Every object has a name, including inline objects. A document in which nearly all objects are
//     inline (v0.0.41) takes the names from other documents (-like) that have the same object in the
//     same place.
//   - Arrays and scalars have no names: enumerations are strings, integers have 64 bits (the documents
//     say 32 bits for unsigned numbers), and floats are double.
//   - Nothing is required, since slurmrestd leaves out required members whenever an answer is an error.
//   - A query parameter that may be repeated is an array.
//   - Errors in the documents are corrected (see correct).
//
// The program does not change its own output. The following command prints a full document:
//
//	slurmrestd -d v0.0.44 -s slurmctld,slurmdbd --generate-openapi-spec
//
// and this one prunes it (v0.0.40 needs -like with the document of v0.0.42, v0.0.41 needs both):
//
//	go run ./tools/openapi -o slurmclient/api/v0044/openapi.json full.json
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("openapi", flag.ContinueOnError)
	output := flags.String("o", "", "file to write instead of standard output")
	var like []document
	flags.Func("like", "pruned document to take the names of inline objects from (repeatable)",
		func(path string) error {
			doc, err := readDocument(path)
			like = append(like, doc)
			return err
		})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("exactly one OpenAPI document is required")
	}
	full, err := readDocument(flags.Arg(0))
	if err != nil {
		return err
	}
	pruned, err := normaliseDocument(full, like)
	if err != nil {
		return fmt.Errorf("normalising %s: %w", flags.Arg(0), err)
	}
	text, err := marshalDocument(pruned)
	if err != nil {
		return err
	}
	if *output == "" {
		_, err = stdout.Write(text)
		return err
	}
	return os.WriteFile(*output, text, 0o644)
}

func readDocument(path string) (document, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return document{}, err
	}
	doc, err := parseDocument(text)
	if err != nil {
		return document{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return doc, nil
}

func parseDocument(text []byte) (document, error) {
	var root object
	if err := json.Unmarshal(text, &root); err != nil {
		return document{}, err
	}
	return newDocument(root)
}

// marshalDocument encodes a document with sorted keys, so that the same document always has the same
// bytes.
func marshalDocument(root object) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	return out.Bytes(), nil
}
