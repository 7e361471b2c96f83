package trial

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/hostlist"
)

// gresNode collects the lines of gres.conf with a NodeName for one node.
type gresNode struct {
	// options are the options of its lines, without NodeName. Nodes with the same options need one trial.
	options strings.Builder
	// autoDetect are its values of AutoDetect, in lower case.
	autoDetect string
	// lines are the places of its lines.
	lines []place
}

// place is the place of a line: its file, empty for gres.conf, and its number.
type place struct {
	file string
	line int
}

// nodeCopies are nodes of a trial with the lines of other nodes in gres.conf.
type nodeCopies struct {
	// byAutoDetect are their names by the AutoDetect of their lines, which is empty for most.
	byAutoDetect map[string][]string
	// byLine are the names of those that a line gets.
	byLine map[place][]string
}

// copyGresNodes returns a copy of one node of each distinct set of lines.
func copyGresNodes(settings []slurmconf.Setting) nodeCopies {
	out := nodeCopies{map[string][]string{}, map[place][]string{}}
	nodes, isCopied, count := readGresNodes(settings), map[string]bool{}, 0
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		node := nodes[name]
		if isCopied[node.options.String()] {
			continue
		}
		isCopied[node.options.String()] = true
		count++
		copied := fmt.Sprintf("%s-%d", trialNode, count)
		out.byAutoDetect[node.autoDetect] = append(out.byAutoDetect[node.autoDetect], copied)
		for _, at := range node.lines {
			out.byLine[at] = append(out.byLine[at], copied)
		}
	}
	return out
}

// readGresNodes returns the nodes that lines of gres.conf name. An unreadable list of nodes names none.
func readGresNodes(settings []slurmconf.Setting) map[string]*gresNode {
	out := map[string]*gresNode{}
	for _, setting := range settings {
		var names []string
		options, autoDetect := "", ""
		for _, field := range setting.Fields() {
			switch name := strings.ToLower(field.Name); name {
			case "nodename":
				names, _ = hostlist.Expand(field.Value)
			case "autodetect":
				autoDetect += strings.ToLower(field.Value) + " "
				fallthrough
			default:
				options += fmt.Sprintf("%s=%q ", name, field.Value)
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			node := out[name]
			if node == nil {
				node = &gresNode{}
				out[name] = node
			}
			node.options.WriteString(options + "\n")
			node.autoDetect += autoDetect
			node.lines = append(node.lines, place{setting.File, setting.Line})
		}
	}
	return out
}

// nodeName is where the value of a NodeName begins.
var nodeName = regexp.MustCompile(`(?i)(^|\s)NodeName\s*[-+*/]?=\s*"?`)

// texts returns gres.conf and the files that it includes, by name. The copies have the lines of their nodes.
func (c nodeCopies) texts(files map[string]string) map[string]string {
	out := map[string]string{}
	for at := range c.byLine {
		name := at.file
		if name == "" {
			name = gresConf
		}
		if _, has := out[name]; has {
			continue
		}
		var lines []string
		for _, setting := range slurmconf.ParseSettings(files[name]) {
			for len(lines) < setting.Line-1 {
				lines = append(lines, "")
			}
			text := setting.Text
			if copies := c.byLine[place{at.file, setting.Line}]; len(copies) > 0 {
				begin := nodeName.FindString(text)
				text = strings.Replace(text, begin, begin+strings.Join(copies, ",")+",", 1)
			}
			lines = append(lines, text)
		}
		out[name] = joinLines(lines)
	}
	return out
}
