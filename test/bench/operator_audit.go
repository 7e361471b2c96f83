package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// auditPolicy has the API server log every write, without its contents.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted, Panic]
rules:
- {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
- {level: None}
`

// auditLog is the API server's log of writes and their authors.
type auditLog struct {
	path   string
	agent  string // that is counted
	offset int64
}

// writeCounts counts requests that write, refused ones too, by verb and resource.
type writeCounts map[[2]string]int

// count counts those to the resources that match, such as pods/status.
func (w writeCounts) count(match func(resource string) bool) (n int) {
	for what, c := range w {
		if match(what[1]) {
			n += c
		}
	}
	return n
}

func (w writeCounts) String() string {
	var parts []string
	byMost := func(a, b [2]string) int { return w[b] - w[a] }
	for _, what := range slices.SortedFunc(maps.Keys(w), byMost) {
		parts = append(parts, fmt.Sprintf("%s %s %d", what[0], what[1], w[what]))
	}
	return strings.Join(parts, ", ")
}

// reset skips all earlier writes.
func (a *auditLog) reset() {
	if info, err := os.Stat(a.path); err == nil {
		a.offset = info.Size()
	}
}

// read counts the writes since the last call of read or reset.
func (a *auditLog) read() (writeCounts, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, err
	}
	out := writeCounts{}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil // the rest of an incomplete line is read the next time
		}
		if err != nil {
			return nil, err
		}
		a.offset += int64(len(line))
		if err := out.add(line, a.agent); err != nil {
			return nil, err
		}
	}
}

func (w writeCounts) add(line []byte, agent string) error {
	var e struct {
		Verb, UserAgent string
		ObjectRef       struct{ Resource, Subresource string }
		ResponseStatus  struct{ Code int }
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	if !strings.HasPrefix(e.UserAgent, agent) {
		return nil
	}
	what := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		what += "/" + e.ObjectRef.Subresource
	}
	verb := e.Verb
	if e.ResponseStatus.Code >= 400 {
		verb = fmt.Sprintf("%s (%d)", verb, e.ResponseStatus.Code)
	}
	w[[2]string{verb, what}]++
	return nil
}
