// Package constraint evaluates the feature expressions of jobs.
package constraint

import (
	"slices"
	"strings"
)

// Constraint is a feature expression of a job (sbatch(1), --constraint), evaluated for one node.
// Counts ("a*2") and brackets request a mix of nodes or alike nodes; here each node of the job must
// be one of the nodes that they describe. The zero value is the empty expression, which every node meets.
type Constraint struct {
	// any is whether one of the terms is enough (|); otherwise all are required (&). A leaf has a
	// feature and no terms.
	feature string
	any     bool
	terms   []Constraint
}

// Features are the features of one node.
type Features interface{ HasFeature(feature string) bool }

// FeatureList lists the features of a node.
type FeatureList []string

// HasFeature reports whether the list contains the feature.
func (l FeatureList) HasFeature(feature string) bool { return slices.Contains(l, feature) }

// IsMetBy reports whether a node with the features meets the constraint.
func (c *Constraint) IsMetBy(features Features) bool {
	if len(c.terms) == 0 {
		return c.feature == "" || features.HasFeature(c.feature)
	}
	for i := range c.terms {
		if c.terms[i].IsMetBy(features) == c.any {
			return c.any
		}
	}
	return !c.any
}

// maxNesting bounds the nesting of brackets in an expression.
const maxNesting = 16

// Parse parses "a&b", "a|b", "(a&b)|c", "[r1|r2]", "[r1*2&r2*4]&x". As in Slurm, both
// operators have the same precedence and associate to the left. ok is false for malformed text.
func Parse(text string) (c Constraint, ok bool) {
	p := parser{rest: strings.ReplaceAll(text, " ", "")}
	if p.rest == "" {
		return Constraint{}, true
	}
	c, ok = p.parseExpression(0)
	return c, ok && p.rest == ""
}

type parser struct{ rest string }

// parseExpression parses terms up to a closing bracket or the end. Where a term has a count, "&"
// joins kinds of nodes, and a node of any kind meets the expression.
func (p *parser) parseExpression(depth int) (c Constraint, ok bool) {
	c, counted, ok := p.parseTerm(depth)
	for ok && p.rest != "" && (p.rest[0] == '&' || p.rest[0] == '|' || p.rest[0] == ',') {
		either := p.rest[0] == '|'
		p.rest = p.rest[1:]
		next, n, good := p.parseTerm(depth)
		if !good {
			return c, false
		}
		if n && counted {
			either = true
		}
		counted = counted || n
		c = joinConstraints(c, next, either)
	}
	return c, ok
}

func joinConstraints(a, b Constraint, either bool) Constraint {
	if len(a.terms) > 0 && a.any == either {
		a.terms = append(a.terms, b)
		return a
	}
	return Constraint{any: either, terms: []Constraint{a, b}}
}

func (p *parser) parseTerm(depth int) (c Constraint, counted, ok bool) {
	if p.rest == "" || depth > maxNesting {
		return c, false, false
	}
	if closing := strings.IndexByte("([", p.rest[0]); closing >= 0 {
		p.rest = p.rest[1:]
		c, ok = p.parseExpression(depth + 1)
		if !ok || p.rest == "" || p.rest[0] != ")]"[closing] {
			return c, false, false
		}
		p.rest = p.rest[1:]
	} else {
		end := strings.IndexAny(p.rest, "&|,()[]*")
		if end < 0 {
			end = len(p.rest)
		}
		c.feature, p.rest = p.rest[:end], p.rest[end:]
		if c.feature == "" {
			return c, false, false
		}
	}
	if !strings.HasPrefix(p.rest, "*") {
		return c, false, true
	}
	digits := strings.TrimLeft(p.rest[1:], "0123456789")
	if len(digits) == len(p.rest)-1 {
		return c, false, false
	}
	p.rest = digits
	return c, true, true
}
