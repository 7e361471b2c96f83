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
	later.w = &nowhere{header: http.Header{}}
	later.r = k.r.Clone(k.r.Context())
	later.r.Body = io.NopCloser(bytes.NewReader(text))
	if k.fault == FaultControllerHung {
		later.route.serve(&later)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.late = append(k.late, func() { later.route.serve(&later) })
}

// discardWriter discards answers that nobody waits for.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n *nowhere) WriteHeader(int)             {}

// answerOutcome answers success, or the refusal.
func (k *call) settled(r *Refusal, about string) {
	if r != nil {
		k.refuse(r.Number, about)
		return
	}
	k.done()
}

// jsonNumber is a number in a request: bare, as text, or as an object with "set".
type number struct{ slurm.Number }

// UnmarshalJSON accepts 5, "5", {"set": true, "number": 5}, and null for absent.
func (n *number) UnmarshalJSON(text []byte) error {
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
type words []string

// UnmarshalJSON accepts "A,B" and ["A", "B"].
func (w *words) UnmarshalJSON(text []byte) error {
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
	State           words   `json:"state"`
	Reason, Comment *string `json:",omitempty"`
	Topology        *string `json:"topology_str"`
	Features        words   `json:"features"`
	Weight          number  `json:"weight"`
}

func (k *call) updateNode() {
	var u nodeUpdate
	if !k.body(&u) {
		return
	}
	about := "Failure to update node " + k.arg
	if !k.admin() {
		k.refuse(2010, about)
		return
	}
	k.mu.Lock()
	nodes, r := k.nodesOf(k.arg)
	for _, n := range nodes {
		if r == nil {
			r = k.changeNode(n, &u)
		}
	}
	k.mu.Unlock()
	k.settled(r, about)
}

// nodesOf returns the nodes of a hostlist. It is an error if one does not exist.
func (c *Cluster) nodesOf(list string) ([]*node, *Refusal) {
	names, err := hostlist.Expand(list)
	if err != nil || len(names) == 0 {
		return nil, refuse(2018)
	}
	nodes := make([]*node, len(names))
	for i, name := range names {
		if nodes[i] = c.nodeByName[name]; nodes[i] == nil {
			return nil, refuse(2018)
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
		n.edit(k.gen).Topology = *u.Topology
	}
	if u.Reason != nil && len(u.State) == 0 {
		k.setNodeReason(n, reason, k.user)
	}
	return nil
}

// editNode changes what is not part of the state.
func (c *Cluster) editNode(n *node, comment *string, features []string, weight slurm.Number) {
	r := n.edit(c.gen)
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
		c.dirty = true
	}
	c.touchNode(n)
}

func (k *call) deleteNode() {
	about := "Failure to delete node " + k.arg
	if !k.admin() {
		k.refuse(2010, about)
		return
	}
	k.mu.Lock()
	r := k.deleteNodes(k.arg)
	k.mu.Unlock()
	k.settled(r, about)
}

func (k *call) createNode() {
	var q struct {
		Conf string `json:"node_conf"`
	}
	if !k.body(&q) {
		return
	}
	if !k.admin() {
		k.refuse(2010, k.route.fails.text)
		return
	}
	k.mu.Lock()
	r := k.createNodes(q.Conf)
	k.mu.Unlock()
	k.settled(r, k.route.fails.text)
}
