//go:build e2e

package config

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// randomLines makes random lines of slurm.conf.
type randomLines struct {
	rand *rand.Rand
	// options are all options that this release knows. fields maps the first option of each record to the record's options.
	options []string
	fields  map[string][]string
	// plugins are the existing plugins, such as jobcomp/filetxt. current are the values that slurmctld shows, and words are the words in
	// Slurm's library.
	plugins []string
	current map[string]string
	words   []string
}

// recordKinds are the options that begin a record.
var recordKinds = []string{"NodeName", "PartitionName", "NodeSet", "DownNodes"}

// newRandomLines finds the options by passing each word in Slurm's library to Slurm's parser. A slurmctld with the base configuration must
// be running.
func newRandomLines(ctx context.Context, base string, random *rand.Rand) (*randomLines, error) {
	libraries, err := filepath.Glob("/usr/lib/*/slurm-wlm/libslurmfull.so")
	if err != nil || len(libraries) != 1 {
		return nil, fmt.Errorf("looking for Slurm's library: %v %w", libraries, err)
	}
	content, err := os.ReadFile(libraries[0])
	if err != nil {
		return nil, err
	}
	out := &randomLines{rand: random, fields: map[string][]string{}, current: map[string]string{}}
	out.words = libraryWords(string(content))
	if out.options, err = askParser(ctx, base, out.words, ""); err != nil {
		return nil, err
	}
	for _, kind := range recordKinds {
		if out.fields[kind], err = askParser(ctx, base, out.words, kind); err != nil {
			return nil, err
		}
	}
	plugins, err := filepath.Glob(filepath.Join(filepath.Dir(libraries[0]), "*_*.so"))
	for _, plugin := range plugins {
		out.plugins = append(out.plugins, strings.TrimSuffix(filepath.Base(plugin), ".so"))
	}
	shown, _ := exec.CommandContext(ctx, "scontrol", "show", "config").Output()
	for _, m := range regexp.MustCompile(`(?m)^(\w+) += (.*\S)`).FindAllStringSubmatch(string(shown), -1) {
		out.current[strings.ToLower(m[1])] = m[2]
	}
	return out, err
}

func (r *randomLines) optionCount() int {
	count := len(r.options)
	for _, fields := range r.fields {
		count += len(fields)
	}
	return count
}

// libraryWords returns the words in a library. The linker keeps one string for all words with the same ending, so Prolog is stored in
// TaskProlog.
func libraryWords(content string) []string {
	known := map[string]bool{}
	for _, word := range regexp.MustCompile(`[A-Za-z][A-Za-z_]{2,40}`).FindAllString(content, -1) {
		for i := range word {
			if len(word)-i >= 3 && (i == 0 || word[i] >= 'A' && word[i] <= 'Z') {
				known[word[i:]] = true
			}
		}
	}
	var out []string
	for word := range known {
		// A Slurm without front ends ends at once with FrontendName.
		if !strings.HasPrefix(strings.ToLower(word), "frontend") {
			out = append(out, word)
		}
	}
	slices.Sort(out)
	return out
}

var unrecognized = regexp.MustCompile(`unrecognized key: (\w+)`)

// askParser returns the words that Slurm's parser knows as options, or as fields of a kind of record.
func askParser(ctx context.Context, base string, words []string, kind string) ([]string, error) {
	dir, err := os.MkdirTemp("", "options-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder for the test
	var text strings.Builder
	text.WriteString(base)
	for i, word := range words {
		if kind != "" {
			fmt.Fprintf(&text, "%s=zz%d ", kind, i)
		}
		text.WriteString(word + "=1\n")
	}
	file := filepath.Join(dir, "slurm.conf")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "scontrol", "show", "hostnames", "x")
	cmd.Env = append(os.Environ(), "SLURM_CONF="+file)
	said, _ := cmd.CombinedOutput() // it refuses the file
	unknown := map[string]bool{}
	for _, m := range unrecognized.FindAllStringSubmatch(string(said), -1) {
		unknown[strings.ToLower(m[1])] = true
	}
	var out []string
	for _, word := range words {
		if key := strings.ToLower(word); !unknown[key] {
			unknown[key] = true // only once
			out = append(out, word)
		}
	}
	if len(out) < 2 || len(out) > 500 {
		return nil, fmt.Errorf("the parser knows %d of %d words after %q", len(out), len(words), kind)
	}
	return out, nil
}

// next returns one or two lines.
func (r *randomLines) next() string {
	out := r.line()
	for r.rand.IntN(5) == 0 {
		out += r.line()
	}
	return out
}

func (r *randomLines) line() string {
	if r.rand.IntN(4) > 0 {
		return r.assignment(pick(r.rand, r.options)) + "\n"
	}
	kind := pick(r.rand, recordKinds)
	out := kind + "=" + pick(r.rand, []string{"n1", "n2", "x[1-3]", "p", "cpu", "DEFAULT", "default", "a,b", "y[", "ALL"})
	for range r.rand.IntN(3) + 1 {
		out += " " + r.assignment(pick(r.rand, r.fields[kind]))
	}
	return out + "\n"
}

// assignment returns an option with a value, sometimes written in an unusual way.
func (r *randomLines) assignment(option string) string {
	value := r.value(option)
	if r.rand.IntN(12) == 0 {
		option = strings.ToUpper(option)
	}
	switch r.rand.IntN(30) {
	case 0:
		return option + "+=" + value
	case 1:
		return option + ` = "` + value + `"`
	case 2:
		return option + "=\\ \n" + value
	case 3:
		return option + "=" + value + "," + r.value(option)
	}
	return option + "=" + value
}

// usualValues are values that many options take, and values that many do not take.
var usualValues = [][]string{
	{"0", "1", "2", "5", "60", "1000", "65533", "65534", "65535", "65536", "4294967294", "4294967295", "4294967296",
		"99999999999999999999", "-1", "-2", "1.5", "0x10", "10k", "1G", "50%"},
	{"YES", "NO", "true", "NONE", "ALL", "INFINITE", "UNLIMITED", "DEFAULT", "UP", "DOWN", "OFF", "FORCE", "FORCE:4", "ANY",
		"soon", "-", ",", "a,,b", "EXCLUSIVE"},
	{"1:00", "1-0", "00:10:00", "1m", "12hours", "now", "1-00:00:00"},
	{"/bin/true", "/nonexistent/x", "/etc/slurm/missing", "/etc/slurm/slurm.conf", "missing.sh", "/tmp", "/dev/null", "/"},
	{"n1", "nosuch", "n[1-3]", "n[1-", "cpu", "root", "slurm", "nobody", "ctl", "gpu:2", "gpu", "matlab:5", "cpu=2",
		"billing=1.0", "normal", "6000-6010", "6000", "127.0.0.1", "%h-%n", "(null)", "x=y", "nosuch:9"},
}

// value returns a value for an option: the value that slurmctld shows, a plugin of its kind, a word of Slurm's library, or one of the usual
// values.
func (r *randomLines) value(option string) string {
	if plugins := r.pluginsOf(option); len(plugins) > 0 && r.rand.IntN(2) == 0 {
		return pick(r.rand, plugins)
	}
	switch n := r.rand.IntN(10); {
	case n == 0 && r.current[strings.ToLower(option)] != "":
		return strings.Fields(r.current[strings.ToLower(option)])[0]
	case n < 2:
		return pick(r.rand, r.words)
	case n == 2:
		return pick(r.rand, r.words) + "=" + pick(r.rand, pick(r.rand, usualValues))
	case n == 3:
		return strings.ToLower(pick(r.rand, r.words)) + "/" + pick(r.rand, r.words)
	}
	return pick(r.rand, pick(r.rand, usualValues))
}

// pluginsOf returns the plugins of an option such as JobCompType.
func (r *randomLines) pluginsOf(option string) []string {
	var out []string
	for _, file := range r.plugins {
		for i := range file {
			kind := strings.ReplaceAll(file[:i], "_", "")
			if file[i] == '_' && len(kind) > 2 && strings.HasPrefix(strings.ToLower(option), kind) {
				out = append(out, file[:i]+"/"+file[i+1:], file[i+1:])
			}
		}
	}
	return out
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }
