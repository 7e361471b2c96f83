// Openapi prunes an OpenAPI document as slurmrestd prints it to the operations
// that slurmtide calls, and normalises what is left so that the Go packages
// generated from different API versions look alike:
//
//   - type and operation names carry no version ("v0.0.44_node" is "node");
//   - every object has a name, also those that a document has inline; a document
//     that has nearly all of them inline (v0.0.41) takes the names from others
//     (-like) that have the same object in the same place;
//   - arrays and scalars have none: enumerations are strings, integers 64 bit
//     (the documents promise 32 for numbers that are unsigned), floats double;
//   - nothing is required, since slurmrestd leaves out what it promised whenever
//     an answer is an error;
//   - a query parameter that may be repeated is an array;
//   - what the documents say wrong is corrected (see correct).
//
// Running it on its own output changes nothing. How to get a full document:
//
//	slurmrestd -d v0.0.44 -s slurmctld,slurmdbd --generate-openapi-spec
//
// and how to prune it (v0.0.40 with -like v0.0.42's, v0.0.41 with -like of both):
//
//	go run ./hack/openapi -o slurmclient/api/v0044/openapi.json full.json
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
	flags.Func("like", "pruned document to take the names of inline objects from (repeatable)", func(path string) error {
		doc, err := readDocument(path)
		like = append(like, doc)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New("name one OpenAPI document")
	}
	full, err := readDocument(flags.Arg(0))
	if err != nil {
		return err
	}
	pruned, err := normalise(full, like)
	if err != nil {
		return fmt.Errorf("normalising %s: %w", flags.Arg(0), err)
	}
	text, err := marshal(pruned)
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
	doc, err := parse(text)
	if err != nil {
		return document{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return doc, nil
}

func parse(text []byte) (document, error) {
	var root object
	if err := json.Unmarshal(text, &root); err != nil {
		return document{}, err
	}
	return newDocument(root)
}

// marshal writes keys in order of the alphabet, so that the same document is
// always the same bytes.
func marshal(root object) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("writing the document: %w", err)
	}
	return out.Bytes(), nil
}
