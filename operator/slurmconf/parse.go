package slurmconf

import "strings"

// operators are what may stand before the sign ("CPUs+=4"). Slurm ignores them.
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

// splitWords splits a line at white space outside quotes.
func splitWords(line string) []string {
	var words []string
	start, quote := -1, rune(0)
	for i, r := range line {
		space := quote == 0 && strings.ContainsRune(" \t\r\n", r)
		switch {
		case space && start >= 0:
			words = append(words, line[start:i])
			start = -1
		case !space && start < 0:
			start = i
		}
		switch {
		case quote == r:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		}
	}
	if start >= 0 {
		words = append(words, line[start:])
	}
	return words
}
