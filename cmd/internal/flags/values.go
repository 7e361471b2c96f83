package flags

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// ChoiceVar declares a flag whose value is one of the choices. The first one is the default.
func ChoiceVar[S ~string](set *pflag.FlagSet, target *S, name, usage string, choices ...S) {
	*target = choices[0]
	set.Var(&choice[S]{target, choices}, name, usage)
}

// choice is the value of a flag of ChoiceVar.
type choice[S ~string] struct {
	target  *S
	choices []S
}

// Set implements pflag.Value.
func (c *choice[S]) Set(text string) error {
	if !slices.Contains(c.choices, S(text)) {
		return fmt.Errorf("must be one of %s", JoinNames(c.choices))
	}
	*c.target = S(text)
	return nil
}

// String implements pflag.Value.
func (c *choice[S]) String() string { return string(*c.target) }

// Type implements pflag.Value.
func (c *choice[S]) Type() string { return "string" }

// ListVar declares a flag whose value is a list of nouns, separated by commas. The flag may be repeated. Empty names
// and duplicates are dropped. If allowed is empty, every name is allowed.
func ListVar[S ~string](set *pflag.FlagSet, target *[]S, name, noun, usage string, allowed ...S) {
	set.Var(&list[S]{target, noun, allowed}, name, usage)
}

// listSuffix ends the types of lists. It is ASCII, because pflag aligns by bytes.
const listSuffix = ",..."

// list is the value of a flag of ListVar.
type list[S ~string] struct {
	target  *[]S
	noun    string
	allowed []S
}

// Set implements pflag.Value. It adds names to the list.
func (l *list[S]) Set(text string) error {
	for field := range strings.SplitSeq(text, ",") {
		name := S(strings.TrimSpace(field))
		if name == "" || slices.Contains(*l.target, name) {
			continue
		}
		if len(l.allowed) > 0 && !slices.Contains(l.allowed, name) {
			return fmt.Errorf("there is no %s %q, only %s", l.noun, name, JoinNames(l.allowed))
		}
		*l.target = append(*l.target, name)
	}
	return nil
}

// String implements pflag.Value.
func (l *list[S]) String() string { return strings.Join(textsOf(*l.target), ",") }

// Type implements pflag.Value. --help shows it as the value.
func (l *list[S]) Type() string { return strings.ToUpper(l.noun) + listSuffix }

// IsList reports whether the flag may be repeated.
func IsList(f *pflag.Flag) bool {
	return f.Value.Type() == "stringArray" || strings.HasSuffix(f.Value.Type(), listSuffix)
}

// IsSwitch reports whether the flag is turned off by --no-NAME.
func IsSwitch(f *pflag.Flag) bool {
	return f.Value.Type() == "bool" && f.Name != helpFlag && f.Name != versionFlag
}

// AddNegations adds a hidden flag --no-x for each switch --x.
func AddNegations(set *pflag.FlagSet) {
	var switches []*pflag.Flag
	set.VisitAll(func(f *pflag.Flag) {
		if IsSwitch(f) {
			switches = append(switches, f)
		}
	})
	for _, f := range switches {
		off := set.VarPF(&negation{f}, "no-"+f.Name, "", "Turn off --"+f.Name+".")
		off.NoOptDefVal, off.Hidden = "true", true
	}
}

// negation is the value of --no-x.
type negation struct{ negated *pflag.Flag }

// Set implements pflag.Value.
func (n *negation) Set(text string) error {
	off, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("parsing %q as a boolean", text)
	}
	n.negated.Changed = true
	return n.negated.Value.Set(strconv.FormatBool(!off))
}

// String implements pflag.Value.
func (n *negation) String() string { return "false" }

// Type implements pflag.Value. It is not bool, so that --no-x itself is no switch.
func (n *negation) Type() string { return "negation" }

// DefaultOf returns the default as --help and the pages show it, "" if the flag has no default.
func DefaultOf(f *pflag.Flag) string {
	text := strings.TrimSuffix(strings.TrimPrefix(f.DefValue, "["), "]")
	if f.Value.Type() != "duration" {
		return text
	}
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// JoinNames returns the names with commas between them.
func JoinNames[S ~string](names []S) string { return strings.Join(textsOf(names), ", ") }

func textsOf[S ~string](names []S) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = string(name)
	}
	return out
}
