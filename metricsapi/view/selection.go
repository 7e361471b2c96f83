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
func labelled(key string) (attribute, bool) {
	a, ok := map[string]attribute{
		v1alpha1.LabelCluster: byCluster, v1alpha1.LabelPartition: byPartition, v1alpha1.LabelState: byState,
		v1alpha1.LabelUser: byUser, v1alpha1.LabelAccount: byAccount, v1alpha1.LabelNode: byNode,
	}[key]
	return a, ok
}

// criteria are what a request selects.
type criteria[T any] struct {
	namespace string // empty for all
	name      string // of one object, empty for any
	nothing   bool
	terms     []term[T]
	ofHomes   []term[T] // requirements that depend only on the cluster
}

// term is one requirement of a selector.
type term[T any] struct {
	get  values[T]
	op   selection.Operator
	want []string
	fold bool
}

// criteriaOf converts the selectors of a request. The scheme has already rejected unknown fields.
func criteriaOf[T any](n *noun[T], namespace string, opts *internalversion.ListOptions) (criteria[T], error) {
	c := criteria[T]{namespace: namespace}
	if opts == nil {
		return c, nil
	}
	if opts.LabelSelector != nil {
		requirements, selectable := opts.LabelSelector.Requirements()
		c.nothing = !selectable
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

func (c *criteria[T]) addLabel(n *noun[T], r labels.Requirement) {
	t := term[T]{op: r.Operator(), want: r.ValuesUnsorted(), get: func(Home, *T, func(string) bool) {}}
	a, ok := labelled(r.Key())
	if of, found := strings.CutPrefix(r.Key(), v1alpha1.PartitionPrefix); found {
		t.get = inPartition(n, of)
	} else if get := n.attributes[a]; ok && get != nil {
		t.get, t.fold = get, a == byState
	}
	c.add(t, a)
}

// inPartition yields "true" for records of the partition.
func inPartition[T any](n *noun[T], name string) values[T] {
	get := n.attributes[byPartition]
	return func(h Home, t *T, yield func(string) bool) {
		get(h, t, func(p string) bool { return p != name || yield("true") && false })
	}
}

func (c *criteria[T]) addField(n *noun[T], r fields.Requirement) error {
	t := term[T]{op: r.Operator, want: []string{r.Value}}
	switch r.Field {
	case "metadata.name":
		if r.Operator == selection.NotEquals {
			return apierrors.NewBadRequest("metadata.name supports only the operator =")
		}
		if c.nothing = c.nothing || c.name != "" && c.name != r.Value; r.Value == "" {
			c.nothing = true
		}
		c.name = r.Value
		return nil
	case "metadata.namespace":
		t.get = func(h Home, _ *T, yield func(string) bool) { yield(h.Namespace) }
		c.ofHomes = append(c.ofHomes, t)
		return nil
	}
	a, ok := n.fields[r.Field]
	if !ok {
		return apierrors.NewBadRequest(fmt.Sprintf("%q is not a field selector of %s", r.Field, n.resource))
	}
	t.get, t.fold = n.attributes[a], a == byState
	c.add(t, a)
	return nil
}

func (c *criteria[T]) add(t term[T], a attribute) {
	if a == byCluster {
		c.ofHomes = append(c.ofHomes, t)
		return
	}
	c.terms = append(c.terms, t)
}

// covers reports whether objects of the cluster may be selected.
func (c *criteria[T]) covers(h Home) bool {
	if c.nothing || c.namespace != "" && c.namespace != h.Namespace {
		return false
	}
	return all(c.ofHomes, h, nil)
}

// matches reports whether a record of a covered cluster is selected, apart from its name.
func (c *criteria[T]) matches(h Home, t *T) bool { return all(c.terms, h, t) }

func all[T any](terms []term[T], h Home, t *T) bool {
	for i := range terms {
		if !terms[i].matches(h, t) {
			return false
		}
	}
	return true
}

func (m *term[T]) matches(h Home, t *T) bool {
	switch m.op {
	case selection.Exists:
		return m.some(h, t, func(string) bool { return true })
	case selection.DoesNotExist:
		return !m.some(h, t, func(string) bool { return true })
	case selection.NotIn, selection.NotEquals:
		return !m.some(h, t, m.wanted)
	case selection.GreaterThan, selection.LessThan:
		return m.some(h, t, m.beyond)
	}
	return m.some(h, t, m.wanted)
}

// hasValue reports whether one of the values is accepted.
func (m *term[T]) some(h Home, t *T, good func(string) bool) bool {
	found := false
	m.get(h, t, func(v string) bool {
		found = good(v)
		return !found
	})
	return found
}

func (m *term[T]) wanted(v string) bool {
	for _, w := range m.want {
		if w == v || m.fold && strings.EqualFold(w, v) {
			return true
		}
	}
	return false
}

func (m *term[T]) beyond(v string) bool {
	n, err := strconv.ParseInt(v, 10, 64)
	limit, bad := strconv.ParseInt(m.want[0], 10, 64)
	if err != nil || bad != nil {
		return false
	}
	return m.op == selection.GreaterThan && n > limit || m.op == selection.LessThan && n < limit
}
