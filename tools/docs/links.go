// Package docs checks the project's pages.
package docs

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Link is a link of a page to another file of the repository, or to a heading.
type Link struct {
	// Page is the path of the page that contains the link, Line its line number, from 1.
	Page string
	Line int
	// Target is the link's target, such as "../README.md#try-it".
	Target string
}

var (
	inlinePattern  = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	definedPattern = regexp.MustCompile(`^\[[^\]]+\]:\s+(\S+)`)
	sourcePattern  = regexp.MustCompile(`<img[^>]*\ssrc="([^"]+)"`)
	codePattern    = regexp.MustCompile("`[^`]*`")
	schemePattern  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

// ParseLinks returns the links of a page to files and headings of the repository, in order. It
// ignores code.
func ParseLinks(page, text string) []Link {
	var out []Link
	eachLine(text, func(number int, line string) {
		line = codePattern.ReplaceAllString(line, "")
		for _, pattern := range []*regexp.Regexp{inlinePattern, definedPattern, sourcePattern} {
			for _, m := range pattern.FindAllStringSubmatch(line, -1) {
				if !schemePattern.MatchString(m[1]) {
					out = append(out, Link{page, number, m[1]})
				}
			}
		}
	})
	return out
}

// eachLine calls f for the lines that are not in a fenced block of code.
func eachLine(text string, f func(number int, line string)) {
	fence := ""
	number := 0
	for line := range strings.Lines(text) {
		number++
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		default:
			f(number, strings.TrimRight(line, "\r\n"))
		}
	}
}

// Anchors returns the anchors of a page's headings, as GitHub generates them.
func Anchors(text string) []string {
	var out []string
	count := map[string]int{}
	eachLine(text, func(_ int, line string) {
		level := len(line) - len(strings.TrimLeft(line, "#"))
		if level == 0 || level > 6 || !strings.HasPrefix(line[level:], " ") {
			return
		}
		anchor := anchorOf(strings.TrimSpace(line[level:]))
		if n := count[anchor]; n > 0 {
			out = append(out, anchor+"-"+strconv.Itoa(n))
		} else {
			out = append(out, anchor)
		}
		count[anchor]++
	})
	return out
}

func anchorOf(heading string) string {
	if m := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`); m.MatchString(heading) {
		heading = m.ReplaceAllString(heading, "$1")
	}
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// BrokenLinks returns the links whose target does not exist in the tree, whose root is the root of
// the repository.
func BrokenLinks(tree fs.FS, links []Link) ([]Link, error) {
	var out []Link
	for _, l := range links {
		ok, err := linkResolves(tree, l)
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, l)
		}
	}
	return out, nil
}

func linkResolves(tree fs.FS, l Link) (bool, error) {
	file, anchor, _ := strings.Cut(l.Target, "#")
	to := l.Page
	if file != "" {
		to = path.Join(path.Dir(l.Page), file)
	}
	if !fs.ValidPath(to) {
		return false, nil
	}
	info, err := fs.Stat(tree, to)
	if err != nil {
		return false, nil //nolint:nilerr // an unreadable target counts as missing
	}
	if anchor == "" || info.IsDir() || path.Ext(to) != ".md" {
		return true, nil
	}
	text, err := fs.ReadFile(tree, to)
	return slices.Contains(Anchors(string(text)), anchor), err
}
