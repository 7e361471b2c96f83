package slurmrestd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
)

// postpone keeps a write for the time when a hung slurmctld is up again. If only this request meets
// a hung slurmctld (FaultControllerHung), the write is done at once.
func (k *call) postpone() {
	if k.r.Method == http.MethodGet {
		return
	}
	text, err := io.ReadAll(io.LimitReader(k.r.Body, 64<<20))
	if err != nil {
		return
	}
	later := *k
	later.w = &discardWriter{header: http.Header{}}
	later.r = k.r.Clone(k.r.Context())
	later.r.Body = io.NopCloser(bytes.NewReader(text))
	if k.fault == FaultControllerHung {
		later.route.serve(&later)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.postponed = append(k.postponed, func() { later.route.serve(&later) })
}

// discardWriter discards answers without a reader.
type discardWriter struct{ header http.Header }

func (n *discardWriter) Header() http.Header         { return n.header }
func (n *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (n *discardWriter) WriteHeader(int)             {}

// answerOutcome answers success, or the refusal.
func (k *call) answerOutcome(r *slurmctld.Refusal, about string) {
	if r != nil {
		k.refuse(r.Number, about)
		return
	}
	k.answerDone()
}

// asRefusal returns the refusal that an error of the cluster is; nil for no error.
func asRefusal(err error) *slurmctld.Refusal {
	var r *slurmctld.Refusal
	errors.As(err, &r)
	return r
}

// jsonNumber is a number in a request: bare, as text, or as an object with "set".
type jsonNumber struct{ slurm.Number }

// UnmarshalJSON accepts 5, "5", {"set": true, "number": 5}, and null for absent.
func (n *jsonNumber) UnmarshalJSON(text []byte) error {
	var v struct {
		Set, Infinite bool
		Number        uint64
	}
	if string(text) == "null" {
		return nil
	}
	if len(text) > 0 && text[0] == '{' {
		if err := json.Unmarshal(text, &v); err != nil {
			return err
		}
		switch {
		case v.Infinite:
			n.Number = slurm.Infinite()
		case v.Set:
			n.Number = slurm.Num(v.Number)
		}
		return nil
	}
	if err := json.Unmarshal(bytes.Trim(text, `"`), &v.Number); err != nil {
		return err
	}
	n.Number = slurm.Num(v.Number)
	return nil
}

// jsonWords is a list of words in a request.
type jsonWords []string

// UnmarshalJSON accepts "A,B" and ["A", "B"].
func (w *jsonWords) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		var s string
		err := json.Unmarshal(text, &s)
		*w = strings.Split(s, ",")
		return err
	}
	return json.Unmarshal(text, (*[]string)(w))
}

// nodeUpdate is the body of an update of nodes.
type nodeUpdate struct {
	State           jsonWords  `json:"state"`
	Reason, Comment *string    `json:",omitempty"`
	Topology        *string    `json:"topology_str"`
	Features        jsonWords  `json:"features"`
	Weight          jsonNumber `json:"weight"`
}

func (k *call) updateNode() {
	var u nodeUpdate
	if !k.decodeBody(&u) {
		return
	}
	about := "Failure to update node " + k.pathValue
	if !k.isAdmin() {
		k.refuse(2010, about)
		return
	}
	update := slurmctld.NodeUpdate{States: u.State, Reason: u.Reason, Comment: u.Comment, Topology: u.Topology,
		Features: u.Features, Weight: u.Weight.Number}
	k.answerOutcome(k.cluster.UpdateNodesAs(k.user, k.pathValue, update), about)
}

func (k *call) deleteNode() {
	about := "Failure to delete node " + k.pathValue
	if !k.isAdmin() {
		k.refuse(2010, about)
		return
	}
	k.answerOutcome(asRefusal(k.cluster.DeleteNode(k.pathValue)), about)
}

func (k *call) createNode() {
	var q struct {
		Conf string `json:"node_conf"`
	}
	if !k.decodeBody(&q) {
		return
	}
	if !k.isAdmin() {
		k.refuse(2010, k.route.failure.description)
		return
	}
	k.answerOutcome(asRefusal(k.cluster.CreateNodes(q.Conf)), k.route.failure.description)
}
