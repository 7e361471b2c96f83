package slurmconf

import (
	"regexp"
	"strings"
)

// operators are the characters that may precede the equals sign ("CPUs+=4"). Slurm ignores them.
const operators = "-+*/"

// ParseOptions parses a line of options ("Weight=10 Gres=gpu:1"). Values may be quoted, contain
// quotes, and be separated from the sign ("Weight = 10").
func ParseOptions(line string) Options {
	var o Options
	for words := splitWords(line); len(words) > 0; {
		name, value, ok := strings.Cut(words[0], "=")
		words = words[1:]
		if !ok && len(words) > 0 {
			if next := strings.TrimLeft(words[0], operators); strings.HasPrefix(next, "=") {
				value, ok, words = next[1:], true, words[1:]
			}
		}
		if ok {
			name = strings.TrimRight(name, operators)
		}
		if ok && value == "" && len(words) > 0 && !strings.Contains(words[0], "=") {
			value, words = words[0], words[1:]
		}
		switch {
		case !ok || name == "":
			o.Add(Option{Value: name + value})
		case trimQuotes(value) != "":
			o.Add(Option{name, value})
		}
	}
	return o
}

// splitWords splits a line at white space. As in Slurm, a value in double quotes is one word if the quotes end in the line; a quote
// inside a word and a single quote are ordinary characters.
func splitWords(line string) []string {
	var words []string
	for {
		line = strings.TrimLeft(line, whiteSpace)
		if line == "" {
			return words
		}
		end := endOfWord(line)
		words, line = append(words, line[:end]), line[end:]
	}
}

// whiteSpace are the characters that separate options, which may be on several lines.
const whiteSpace = spaces + "\n"

// endOfWord returns the length of the first word of a line.
func endOfWord(line string) int {
	end := len(line)
	if i := strings.IndexAny(line, whiteSpace); i >= 0 {
		end = i
	}
	quote := strings.IndexByte(line[:end], '"')
	if quote < 0 || quote > 0 && strings.IndexByte(line, '=') != quote-1 {
		return end
	}
	length := strings.IndexByte(line[quote+1:], '"')
	if length < 0 {
		return end
	}
	if after := line[quote+length+2:]; after != "" && !strings.ContainsAny(after[:1], whiteSpace) {
		return end
	}
	return quote + length + 2
}

// nodeName matches an option that names a node. slurmd refuses it in --conf even in quotes, but not if space or an operator follows.
var nodeName = regexp.MustCompile(`(?i)(^|[\s\v])NodeName[\s\v]*[-+*/]*=`)

// NamesNode reports whether a line of options has the option NodeName, including in quotes.
func NamesNode(line string) bool { return nodeName.MatchString(line) }
