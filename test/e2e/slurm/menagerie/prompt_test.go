//go:build e2e

package menagerie

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// comparePrompt compares the rows of kubectl slurm queue and info with the rows of squeue and sinfo.
func comparePrompt(t *testing.T, s *observation) ([]string, int) {
	c := &comparison{}
	node, partition := anyKey(s.slurm.nodes), anyKey(s.slurm.partitions)
	for _, args := range [][]string{nil, {"-t", "all"}, {"-t", "PD,configuring"}, {"--start"}, {"-u", "alice"},
		{"-u", "bob", "--start"}, {"-p", partition}, {"-w", node}} {
		c.compareQueue(t, s, args)
	}
	for _, args := range [][]string{nil, {"-s"}, {"-N"}, {"-R"}, {"-p", partition}, {"-N", "-p", partition}} {
		c.compareInfo(t, s, args)
	}
	return c.differences, c.compared
}

// anyKey returns the first name.
func anyKey(records map[string]commandRecord) string {
	var names []string
	for name := range records {
		names = append(names, name)
	}
	return slices.Min(names)
}

// commandLines runs a command in the cluster and returns its lines without spaces at their ends.
func (s *observation) commandLines(t *testing.T, argv ...string) []string {
	t.Helper()
	out, err := s.cluster.Run(t.Context(), "", argv...)
	if err != nil {
		t.Fatal(err)
	}
	return trimmedLines(out)
}

// pluginLines runs the plugin and returns its lines.
func (c *comparison) pluginLines(t *testing.T, s *observation, args ...string) []string {
	out, err := s.adapter.runPlugin(t, args...)
	if err != nil {
		c.differences = append(c.differences, err.Error())
	}
	return trimmedLines(string(out))
}

func trimmedLines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return out
}

// squeueColumns are where the columns of squeue begin, and TIME of squeue, or START_TIME of squeue --start, ends.
var squeueColumns, startColumns = []int{0, 19, 29, 38, 47, 50, 61, 68}, []int{0, 19, 29, 38, 47, 50, 70, 77, 98}

const timeColumn, scheduledColumn = 5, 7

// isPlan reports whether START_TIME is within a day, so that the scheduler may have changed it since.
func isPlan(text string) bool {
	at, err := time.Parse("2006-01-02T15:04:05", text)
	return err == nil && time.Until(at) < 24*time.Hour
}

// sortedByID sorts the lines after the heading.
func sortedByID(lines []string) []string {
	out := slices.Clone(lines)
	slices.Sort(out[1:])
	return out
}

// cells cuts a line into columns, whose widths count the given units: bytes, or letters in the output of the plugin.
func cells(line []string, begins []int) []string {
	var out []string
	for i, begin := range begins {
		end := len(line)
		if i+1 < len(begins) {
			end = min(end, begins[i+1]-1)
		}
		out = append(out, strings.TrimSpace(strings.Join(line[min(begin, len(line)):end], "")))
	}
	return out
}

func bytesOf(text string) []string {
	var out []string
	for i := range len(text) {
		out = append(out, text[i:i+1])
	}
	return out
}

// compareQueue compares every cell. TIME is compared with what squeue prints before and after.
func (c *comparison) compareQueue(t *testing.T, s *observation, args []string) {
	start := slices.Contains(args, "--start")
	begins := squeueColumns
	if start {
		begins = startColumns
	}
	before := s.squeueLines(t, args, start)
	got := c.pluginLines(t, s, append([]string{"queue"}, args...)...)
	after := s.squeueLines(t, args, start)
	what := strings.Join(append([]string{"queue"}, args...), " ")
	c.compare(what, "the number of lines", fmt.Sprint(len(before)), fmt.Sprint(len(got)))
	if len(before) != len(got) || len(before) != len(after) {
		return
	}
	if start {
		// slurmctld replans every few seconds, and does not report each plan as a change.
		before, after, got = sortedByID(before), sortedByID(after), sortedByID(got)
	}
	for i := range got {
		want, until, have := cells(bytesOf(before[i]), begins), cells(bytesOf(after[i]), begins), cells(strings.Split(got[i], ""), begins)
		for k := range want {
			switch {
			case i > 0 && k == timeColumn && !start:
				c.compareTimes(what, have[k], want[k], until[k])
				continue
			case i > 0 && start && isPlan(want[timeColumn]) && (k == timeColumn || k == scheduledColumn):
				continue
			}
			c.compareCell(what, before[0], want[k], have[k])
		}
		if isASCII(before[i]) && want[timeColumn] == have[timeColumn] && !(i > 0 && start && isPlan(want[timeColumn])) {
			c.compare(what, "line "+strconv.Itoa(i), before[i], got[i])
		}
	}
}

// compareCell compares a cell. squeue cuts texts after a number of bytes, the plugin after the same number of letters.
func (c *comparison) compareCell(what, heading, want, got string) {
	if !isASCII(want) {
		want = strings.ToValidUTF8(want, "")
		if cut := []rune(got); len(cut) >= utf8.RuneCountInString(want) {
			got = string(cut[:utf8.RuneCountInString(want)])
		}
	}
	c.compare(what, "a cell below "+strings.Join(strings.Fields(heading), " "), want, got)
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf })
}

func (c *comparison) compareTimes(what, got, from, until string) {
	c.compared++
	if n := secondsOf(got); n < secondsOf(from) || n > secondsOf(until) {
		c.differences = append(c.differences, fmt.Sprintf("%s: TIME is %s, but squeue says %s to %s", what, got, from, until))
	}
}

// secondsOf parses 1:02 and 1:02:03.
func secondsOf(text string) (seconds int) {
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return -1
		}
		seconds = 60*seconds + n
	}
	return seconds
}

// squeueLines returns the lines of squeue with its heading. It sorts rows that squeue's order leaves equal by ID.
func (s *observation) squeueLines(t *testing.T, args []string, start bool) []string {
	t.Helper()
	run := append([]string{"squeue", "--local"}, args...)
	lines := s.commandLines(t, run...)
	keys := s.commandLines(t, append(run, "-h", "-o", "%A %P|%t|%Q")...)
	if start || len(keys) != len(lines)-1 {
		return lines // a job came or went
	}
	type row struct {
		id        int
		key, line string
	}
	rows := make([]row, len(keys))
	for i, k := range keys {
		id, key, _ := strings.Cut(strings.TrimSpace(k), " ")
		rows[i] = row{key: strings.TrimSpace(key), line: lines[i+1]}
		rows[i].id, _ = strconv.Atoi(id)
	}
	for i := 0; i < len(rows); {
		end := i
		for end < len(rows) && rows[end].key == rows[i].key {
			end++
		}
		slices.SortFunc(rows[i:end], func(a, b row) int { return a.id - b.id })
		i = end
	}
	for i := range rows {
		lines[i+1] = rows[i].line
	}
	return lines
}

// compareInfo compares every line. sinfo shows the partitions of a node (-N) and rows with equal states (-R) in any order.
func (c *comparison) compareInfo(t *testing.T, s *observation, args []string) {
	want := s.commandLines(t, append([]string{"sinfo", "--local"}, args...)...)
	got := c.pluginLines(t, s, append([]string{"info"}, args...)...)
	if !s.reportsDefault() {
		want = withoutStars(want)
		got = withoutStars(got)
	}
	if slices.Contains(args, "-N") || slices.Contains(args, "-R") {
		slices.Sort(want)
		slices.Sort(got)
	}
	c.compare(strings.Join(append([]string{"info"}, args...), " "), "the output", "\n"+strings.Join(want, "\n")+"\n",
		"\n"+strings.Join(got, "\n")+"\n")
}

// reportsDefault reports whether slurmrestd reports the default partition, as it does from API v0.0.43 on.
func (s *observation) reportsDefault() bool { return s.cluster.Version != "24.11" }

// withoutStars removes the star of the default partition and the width of the columns, which depends on it.
func withoutStars(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.Join(strings.Fields(strings.Replace(line, "batch*", "batch", 1)), " ")
	}
	return out
}
