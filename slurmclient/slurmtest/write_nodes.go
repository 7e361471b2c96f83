package slurmtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
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

// discardWriter discards answers that nobody waits for.
type discardWriter struct{ header http.Header }

func (n *discardWriter) Header() http.Header         { return n.header }
func (n *discardWriter) Write(p []byte) (int, error) { return len(p), nil }
func (n *discardWriter) WriteHeader(int)             {}

// answerOutcome answers success, or the refusal.
func (k *call) answerOutcome(r *Refusal, about string) {
	if r != nil {
		k.refuse(r.Number, about)
		return
	}
	k.answerDone()
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
	k.mu.Lock()
	nodes, r := k.nodesOf(k.pathValue)
	for _, n := range nodes {
		if r == nil {
			r = k.changeNode(n, &u)
		}
	}
	k.mu.Unlock()
	k.answerOutcome(r, about)
}

// nodesOf returns the nodes of a hostlist. It is an error if one does not exist.
func (c *Cluster) nodesOf(list string) ([]*node, *Refusal) {
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return nil, newRefusal(2018)
	}
	nodes := make([]*node, len(names))
	for i, name := range names {
		if nodes[i] = c.nodeByName[name]; nodes[i] == nil {
			return nil, newRefusal(2018)
		}
	}
	return nodes, nil
}

// changeNode applies an update to one node.
func (k *call) changeNode(n *node, u *nodeUpdate) *Refusal {
	reason := ""
	if u.Reason != nil {
		reason = *u.Reason
	}
	for _, s := range u.State {
		if r := k.setNodeState(n, s, reason, k.user); r != nil {
			return r
		}
	}
	k.editNode(n, u.Comment, u.Features, u.Weight.Number)
	if u.Topology != nil {
		n.edit(k.generation).Topology = *u.Topology
	}
	if u.Reason != nil && len(u.State) == 0 {
		k.setNodeReason(n, reason, k.user)
	}
	return nil
}

// editNode changes what is not part of the state.
func (c *Cluster) editNode(n *node, comment *string, features []string, weight slurm.Number) {
	r := n.edit(c.generation)
	if comment != nil {
		r.Comment = *comment
	}
	if v, ok := weight.Value(); ok {
		r.Weight = uint32(v)
	}
	if features != nil {
		n.features = features
		r.Features, r.ActiveFeatures = features, features
		c.refreshPartitions()
		c.needsScheduling = true
	}
	c.updateNodeRecord(n)
}

func (k *call) deleteNode() {
	about := "Failure to delete node " + k.pathValue
	if !k.isAdmin() {
		k.refuse(2010, about)
		return
	}
	k.mu.Lock()
	r := k.deleteNodes(k.pathValue)
	k.mu.Unlock()
	k.answerOutcome(r, about)
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
	k.mu.Lock()
	r := k.createNodes(q.Conf)
	k.mu.Unlock()
	k.answerOutcome(r, k.route.failure.description)
}
