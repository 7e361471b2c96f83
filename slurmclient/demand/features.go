package demand

import (
	"strings"
)

// constraint is a feature expression of a job (sbatch(1), --constraint), true or
// false for one node. Counts ("a*2") and brackets ask for a mix of nodes or for
// nodes alike; here each node of the job must be one of those that they name.
type constraint struct {
	// terms are joined by any (|) or else all (&); a leaf has a feature.
	feature string
	any     bool
	terms   []constraint
}

// met reports whether nodes of the shape meet the constraint.
func (c *constraint) met(s *shape) bool {
	if len(c.terms) == 0 {
		return c.feature == "" || s.has(c.feature)
	}
	for i := range c.terms {
		if c.terms[i].met(s) == c.any {
			return c.any
		}
	}
	return !c.any
}

// maxNesting bounds the depth of brackets in an expression.
const maxNesting = 16

// readConstraint reads "a&b", "a|b", "(a&b)|c", "[r1|r2]", "[r1*2&r2*4]&x". As in
// Slurm both operators bind alike, from left to right. ok is false for text that it
// can not read.
func readConstraint(text string) (c constraint, ok bool) {
	p := constraintReader{rest: strings.ReplaceAll(text, " ", "")}
	if p.rest == "" {
		return constraint{}, true
	}
	c, ok = p.expression(0)
	return c, ok && p.rest == ""
}

type constraintReader struct{ rest string }

// expression reads terms up to a closing bracket or the end. Where one of them has
// a count, "&" joins kinds of nodes, and any kind will do.
func (p *constraintReader) expression(depth int) (c constraint, ok bool) {
	c, counted, ok := p.term(depth)
	for ok && p.rest != "" && (p.rest[0] == '&' || p.rest[0] == '|' || p.rest[0] == ',') {
		either := p.rest[0] == '|'
		p.rest = p.rest[1:]
		next, n, good := p.term(depth)
		if !good {
			return c, false
		}
		if n && counted {
			either = true
		}
		counted = counted || n
		c = join(c, next, either)
	}
	return c, ok
}

func join(a, b constraint, either bool) constraint {
	if len(a.terms) > 0 && a.any == either {
		a.terms = append(a.terms, b)
		return a
	}
	return constraint{any: either, terms: []constraint{a, b}}
}

func (p *constraintReader) term(depth int) (c constraint, counted, ok bool) {
	if p.rest == "" || depth > maxNesting {
		return c, false, false
	}
	if closing := strings.IndexByte("([", p.rest[0]); closing >= 0 {
		p.rest = p.rest[1:]
		c, ok = p.expression(depth + 1)
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
