package accounts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

const (
	// maxReason is the number of bytes of sacctmgr's output in a condition, and maxOutput the number in the log.
	maxReason = 700
	maxOutput = 4096
)

// Summarize returns one line that lists the changes in sacctmgr load's output: "adds accounts physics; adds users
// alice, bob; Changed fairshare for Account physics 1 -> 5". It is empty without changes.
func Summarize(output string) string {
	var changes []string
	section := ""
	var names []string
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		switch {
		case isTableEnd(text):
			if section != "" && len(names) > 0 {
				changes = append(changes, section+" "+strings.Join(names, ", "))
			}
			section, names = "", nil
		case section == "" && tableSections[text] != "":
			section = tableSections[text]
		case section != "" && text != "" && !isTableHead(text):
			names = append(names, describeRow(section, strings.Fields(text)))
		case section == "" && isChange(text):
			changes = append(changes, strings.Join(strings.Fields(text), " "))
		}
	}
	return strings.Join(changes, "; ")
}

// tableSections maps the titles of sacctmgr's tables of new objects to their meaning. The table of account associations
// follows the table of accounts; the table of user associations follows the table of users.
var tableSections = map[string]string{
	"Accounts": "adds accounts", "Account Associations": "adds to the cluster accounts",
	"Users": "adds users", "User Associations": "adds to accounts users",
}

// isTableEnd reports whether a line ends a table.
func isTableEnd(text string) bool { return len(text) > 40 && strings.Trim(text, "-") == "" }

// isTableHead reports whether a line is one of the two header lines of a table.
func isTableHead(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return strings.Trim(text, "- ") == "" || first == "Name" || first == "Account" || first == "User"
}

// isChange reports whether a line describes a change.
func isChange(text string) bool {
	for _, prefix := range []string{"Changed ", "Added QOS", "Making User ", "Adding WCKey"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// describeRow returns the name of a row. A user of an account is named with it.
func describeRow(section string, cells []string) string {
	if section == tableSections["User Associations"] && len(cells) > 1 {
		return cells[0] + " (" + cells[1] + ")"
	}
	return cells[0]
}

// lineNumber finds the number of a line in sacctmgr's words.
var lineNumber = regexp.MustCompile(`line ?\((\d+)\)`)

// explain returns one line with the reason why sacctmgr refuses something. file is the text that sacctmgr read; the
// line named in the output is quoted from it.
func explain(output, file string) string {
	var words []string
	for line := range strings.Lines(output) {
		text := strings.TrimSpace(line)
		for _, prefix := range []string{"sacctmgr: ", "error: ", "fatal: "} {
			text = strings.TrimPrefix(text, prefix)
		}
		if text != "" && !isNoise(text) {
			words = append(words, text)
		}
	}
	out := strings.Join(words, "; ")
	if out == "" {
		out = "sacctmgr does not say why"
	}
	if match := lineNumber.FindStringSubmatch(out); match != nil {
		number, _ := strconv.Atoi(match[1]) // it is digits
		if lines := strings.Split(file, "\n"); number >= 1 && number <= len(lines) {
			out = fmt.Sprintf("line %d, %q: %s", number, strings.TrimSpace(lines[number-1]),
				strings.TrimLeft(strings.TrimPrefix(out, match[0]), "; "))
		}
	}
	return Truncate(out, maxReason)
}

// isNoise reports whether a line of sacctmgr contains no reason for a refusal.
func isNoise(text string) bool {
	for _, prefix := range []string{"For cluster ", "No parent given", "Would you like to commit", "(N/y)",
		"Changes Discarded", "Nothing new added", "Done adding cluster"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// Truncate returns the beginning of a text that is longer than size bytes, with an ellipsis.
func Truncate(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "") + "…"
}
