package view

import (
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

// The attributes of resources. An object's name is not an attribute, because it is looked up.
const (
	byCluster    attribute = "cluster"
	byPartition  attribute = "partition"
	byState      attribute = "state"
	byUser       attribute = "user"
	byAccount    attribute = "account"
	byNode       attribute = "node"
	byName       attribute = "name"
	byJobID      attribute = "job id"
	byArrayJobID attribute = "array job id"
)

// attributeOfLabel returns the attribute of a label, or false if the label has none.
func attributeOfLabel(key string) (attribute, bool) {
	a, ok := map[string]attribute{
		v1alpha1.LabelCluster: byCluster, v1alpha1.LabelPartition: byPartition, v1alpha1.LabelState: byState,
		v1alpha1.LabelUser: byUser, v1alpha1.LabelAccount: byAccount, v1alpha1.LabelNode: byNode,
	}[key]
	return a, ok
}

// criteria are what a request selects.
type criteria[T any] struct {
	namespace      string // empty for all
	name           string // of one object, empty for any
	selectsNothing bool
	terms          []term[T]
	clusterTerms   []term[T] // requirements that depend only on the cluster
}

// term is one requirement of a selector.
type term[T any] struct {
	get        attributeValues[T]
	op         selection.Operator
	want       []string
	ignoreCase bool
}

// criteriaOf converts the selectors of a request. The scheme has already rejected unknown fields.
func criteriaOf[T any](n *resource[T], namespace string, opts *internalversion.ListOptions) (criteria[T], error) {
	c := criteria[T]{namespace: namespace}
	if opts == nil {
		return c, nil
	}
	if opts.LabelSelector != nil {
		requirements, selectable := opts.LabelSelector.Requirements()
		c.selectsNothing = !selectable
		for _, r := range requirements {
			c.addLabel(n, r)
		}
	}
	if opts.FieldSelector != nil {
		for _, r := range opts.FieldSelector.Requirements() {
			if err := c.addField(n, r); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

func (c *criteria[T]) addLabel(n *resource[T], r labels.Requirement) {
	t := term[T]{op: r.Operator(), want: r.ValuesUnsorted(), get: func(ClusterRef, *T, func(string) bool) {}}
	a, ok := attributeOfLabel(r.Key())
	if of, found := strings.CutPrefix(r.Key(), v1alpha1.PartitionPrefix); found {
		t.get = inPartition(n, of)
	} else if get := n.attributes[a]; ok && get != nil {
		t.get, t.ignoreCase = get, a == byState
	}
	c.add(t, a)
}

// inPartition yields "true" for records of the partition.
func inPartition[T any](n *resource[T], name string) attributeValues[T] {
	get := n.attributes[byPartition]
	return func(h ClusterRef, t *T, yield func(string) bool) {
		get(h, t, func(p string) bool { return p != name || yield("true") && false })
	}
}

func (c *criteria[T]) addField(n *resource[T], r fields.Requirement) error {
	t := term[T]{op: r.Operator, want: []string{r.Value}}
	switch r.Field {
	case "metadata.name":
		if r.Operator == selection.NotEquals {
			return apierrors.NewBadRequest("metadata.name supports only the operator =")
		}
		if c.selectsNothing = c.selectsNothing || c.name != "" && c.name != r.Value; r.Value == "" {
			c.selectsNothing = true
		}
		c.name = r.Value
		return nil
	case "metadata.namespace":
		t.get = func(h ClusterRef, _ *T, yield func(string) bool) { yield(h.Namespace) }
		c.clusterTerms = append(c.clusterTerms, t)
		return nil
	}
	a, ok := n.fields[r.Field]
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a field selector of %s", r.Field, n.plural))
	}
	t.get, t.ignoreCase = n.attributes[a], a == byState
	c.add(t, a)
	return nil
}

func (c *criteria[T]) add(t term[T], a attribute) {
	if a == byCluster {
		c.clusterTerms = append(c.clusterTerms, t)
		return
	}
	c.terms = append(c.terms, t)
}

// covers reports whether objects of the cluster may be selected.
func (c *criteria[T]) covers(h ClusterRef) bool {
	if c.selectsNothing || c.namespace != "" && c.namespace != h.Namespace {
		return false
	}
	return matchesAll(c.clusterTerms, h, nil)
}

// matches reports whether a record of a covered cluster is selected, apart from its name.
func (c *criteria[T]) matches(h ClusterRef, t *T) bool { return matchesAll(c.terms, h, t) }

func matchesAll[T any](terms []term[T], h ClusterRef, t *T) bool {
	for i := range terms {
		if !terms[i].matches(h, t) {
			return false
		}
	}
	return true
}

func (m *term[T]) matches(h ClusterRef, t *T) bool {
	switch m.op {
	case selection.Exists:
		return m.hasValue(h, t, func(string) bool { return true })
	case selection.DoesNotExist:
		return !m.hasValue(h, t, func(string) bool { return true })
	case selection.NotIn, selection.NotEquals:
		return !m.hasValue(h, t, m.isWanted)
	case selection.GreaterThan, selection.LessThan:
		return m.hasValue(h, t, m.isBeyond)
	}
	return m.hasValue(h, t, m.isWanted)
}

// hasValue reports whether one of the values is accepted.
func (m *term[T]) hasValue(h ClusterRef, t *T, good func(string) bool) bool {
	found := false
	m.get(h, t, func(v string) bool {
		found = good(v)
		return !found
	})
	return found
}

func (m *term[T]) isWanted(v string) bool {
	for _, w := range m.want {
		if w == v || m.ignoreCase && strings.EqualFold(w, v) {
			return true
		}
	}
	return false
}

func (m *term[T]) isBeyond(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	limit, bad := strconv.ParseInt(m.want[0], 10, 64)
	if err != nil || bad != nil {
		return false
	}
	return m.op == selection.GreaterThan && n > limit || m.op == selection.LessThan && n < limit
}
