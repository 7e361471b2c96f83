package accounts

import (
	"fmt"
	"slices"
	"strings"
)

// File is a file of accounts.
type File struct {
	// Cluster is the name of the cluster in Slurm.
	Cluster string
	// QOS lists the QOS of the file, in its order.
	QOS []QOS
	// Accounts are the names of its accounts, Parents those that it names as parents of others, and Users its users with
	// their accounts.
	Accounts, Parents []string
	Users             []Association
	// Text is the text for sacctmgr load: the file, with lines of QOS as comments.
	Text string
}

// QOS is a quality of service.
type QOS struct {
	Name string
	// Options are the arguments of "sacctmgr add qos" behind the name, such as "Priority=100".
	Options []string
	// Line is its number in the file.
	Line int
}

// ParseFile reads a file. It checks only what sacctmgr load does not check: the lines of QOS, and that the file names
// exactly one cluster, before any account.
func ParseFile(text string) (File, error) {
	out := File{}
	parent := "root"
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		number, line := i+1, lines[i]
		first := i
		for isContinued(line) && i+1 < len(lines) {
			i++
			line = strings.TrimRight(line, " \t\r\\") + lines[i]
		}
		object, options, err := splitLine(line)
		if err != nil {
			return out, fmt.Errorf("line %d: %w", number, err)
		}
		if object == "" {
			continue
		}
		if len(options) == 0 {
			return out, fmt.Errorf("line %d: %s has no name", number, object)
		}
		switch name := options[0]; object {
		case "qos":
			if err := checkQOS(options); err != nil {
				return out, fmt.Errorf("line %d: %w", number, err)
			}
			out.QOS = append(out.QOS, QOS{Name: strings.ToLower(name), Options: options[1:], Line: number})
			for j := first; j <= i; j++ {
				lines[j] = "#"
			}
		case "cluster", "machine":
			if out.Cluster != "" {
				return out, fmt.Errorf("line %d: a file has one cluster; give each its own file", number)
			}
			out.Cluster = strings.ToLower(name)
		case "parent":
			parent = strings.ToLower(name)
			out.Parents = append(out.Parents, parent)
		case "account", "project":
			out.Accounts = append(out.Accounts, strings.ToLower(name))
		case "user":
			out.Users = append(out.Users, Association{Account: parent, User: name, Partition: findPartition(options)})
		}
	}
	if out.Cluster == "" {
		return out, fmt.Errorf("it has no line Cluster - 'NAME'")
	}
	out.Text = strings.Join(lines, "\n")
	return out, nil
}

// checkQOS checks that sacctmgr reads each option of a QOS as an option.
func checkQOS(options []string) error {
	for i, option := range options {
		if strings.HasPrefix(option, "-") || i > 0 && !strings.Contains(option, "=") {
			return fmt.Errorf("%q is not an option of the form NAME=VALUE; values with a colon need quotation marks", option)
		}
	}
	return nil
}

// isContinued reports whether the next line continues a line, by a backslash at its end.
func isContinued(line string) bool {
	line = strings.TrimRight(line, " \t\r")
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// splitLine returns the object of a line in lower case, such as "account", and its options; the first option is a name.
// A comment and an empty line have no object. Neither does a line without a hyphen, which sacctmgr skips.
func splitLine(line string) (object string, options []string, err error) {
	line = stripComment(line)
	object, rest, found := strings.Cut(line, "-")
	if !found {
		return "", nil, nil
	}
	options, err = splitOptions(strings.TrimSpace(rest))
	return strings.ToLower(strings.TrimSpace(object)), options, err
}

// stripComment returns a line up to its comment. A hash after a backslash does not begin a comment.
func stripComment(line string) string {
	escaped := false
	for i := range len(line) {
		switch {
		case escaped:
			escaped = false
		case line[i] == '\\':
			escaped = true
		case line[i] == '#':
			return line[:i]
		}
	}
	return line
}

// splitOptions splits at the colons outside of quotation marks, which it leaves out.
func splitOptions(text string) ([]string, error) {
	var out []string
	var option strings.Builder
	quote := byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == ':':
			out = append(out, strings.TrimSpace(option.String()))
			option.Reset()
		case c < ' ' && c != '\t' && c != '\r':
			return nil, fmt.Errorf("control characters are not allowed")
		default:
			option.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quotation mark is not closed")
	}
	out = append(out, strings.TrimSpace(option.String()))
	return slices.DeleteFunc(out, func(s string) bool { return s == "" }), nil
}

// findPartition returns the partition among the options of a user.
func findPartition(options []string) string {
	for _, option := range options {
		name, value, found := strings.Cut(option, "=")
		// sacctmgr takes every beginning of the word.
		if found && name != "" && strings.HasPrefix("partition", strings.ToLower(name)) { //nolint:gocritic // an abbreviation
			return strings.ToLower(value)
		}
	}
	return ""
}
