package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// The functions below convert between generated types and the types of package slurm. The type constraints list the
// fields of the generated types, which are the same in all versions.

type noValJSON interface {
	~struct {
		Infinite *bool  `json:"infinite,omitempty"`
		Number   *int64 `json:"number,omitempty"`
		Set      *bool  `json:"set,omitempty"`
	}
}

type floatNoValJSON interface {
	~struct {
		Infinite *bool    `json:"infinite,omitempty"`
		Number   *float64 `json:"number,omitempty"`
		Set      *bool    `json:"set,omitempty"`
	}
}

type tresJSON interface {
	~struct {
		Count *int64  `json:"count,omitempty"`
		ID    *int64  `json:"id,omitempty"`
		Name  *string `json:"name,omitempty"`
		Type  *string `json:"type,omitempty"`
	}
}

// or returns the value, or the zero value if the answer has none.
func or[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// confOf returns the configuration. The answer always has the list PrivateData, which may be empty. If
// the list is missing, the setting is unknown.
func confOf(conf slurm.Conf) (*slurm.Conf, error) {
	if conf.PrivateData == nil {
		return nil, errors.New("the configuration has no PrivateData")
	}
	return &conf, nil
}

// count returns a plain number that cannot be negative.
func count(p *int64) uint64 { return uint64(max(0, or(p))) }

func uint32Of(p *int64) uint32 { return uint32(min(count(p), 1<<32-1)) }

func plainNumber(p *int64) slurm.Number {
	if p == nil || *p < 0 {
		return slurm.Number{}
	}
	return slurm.Num(uint64(*p))
}

func numberOf[T noValJSON](p *T) slurm.Number {
	if p == nil {
		return slurm.Number{}
	}
	v := (struct {
		Infinite *bool
		Number   *int64
		Set      *bool
	})(*p)
	switch {
	case or(v.Infinite):
		return slurm.Infinite()
	case v.Set == nil:
		return slurm.Number{}
	case !*v.Set:
		return slurm.Unset()
	}
	return plainNumber(v.Number)
}

func isSet[T noValJSON](p *T) bool {
	_, set := numberOf(p).Value()
	return set
}

func timeOf[T noValJSON](p *T) slurm.Time {
	n := numberOf(p)
	if n.IsInfinite() {
		return slurm.Never
	}
	return slurm.Time(n.Or(0))
}

func floatOf[T floatNoValJSON](p *T) slurm.Float {
	if p == nil {
		return slurm.Float{}
	}
	v := (struct {
		Infinite *bool
		Number   *float64
		Set      *bool
	})(*p)
	switch {
	case or(v.Infinite):
		return slurm.InfiniteFloat()
	case v.Set == nil:
		return slurm.Float{}
	case !*v.Set:
		return slurm.UnsetFloat()
	}
	return plainFloat(v.Number)
}

// plainFloat converts a plain number. The largest unsigned 64-bit integer means infinity (API v0.0.42
// and later send an infinite LevelFS in this way), and Slurm's NO_VAL means unset.
func plainFloat(p *float64) slurm.Float {
	const noVal = 0xfffffffe
	switch {
	case p == nil:
		return slurm.Float{}
	case *p >= 1<<64-2048:
		return slurm.InfiniteFloat()
	case *p == noVal:
		return slurm.UnsetFloat()
	}
	return slurm.Flt(*p)
}

// tresMap returns counts by Slurm's name, such as "cpu" and "gres/gpu"; nil for an empty list.
func tresMap[T tresJSON](list []T) map[string]uint64 {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]uint64, len(list))
	for _, t := range list {
		v := (struct {
			Count *int64
			ID    *int64
			Name  *string
			Type  *string
		})(t)
		name := or(v.Type)
		if or(v.Name) != "" {
			name += "/" + *v.Name
		}
		out[name] = count(v.Count)
	}
	return out
}

func partitionState(states []string) slurm.PartitionState {
	if len(states) == 0 {
		return slurm.PartitionUnknown
	}
	return slurm.PartitionState(states[0])
}

// oversubscribeJobs parses how many jobs may share a core from the text that scontrol shows, such as
// "FORCE:2" or "NO".
func oversubscribeJobs(shown string) uint32 {
	_, count, _ := strings.Cut(shown, ":")
	jobs, err := strconv.ParseUint(count, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(jobs)
}

func hasWord(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// exitCounts returns the counters by name, without those that the answer lacks.
func exitCounts(pairs ...any) map[string]uint64 {
	out := make(map[string]uint64, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if p, ok := pairs[i+1].(*int64); ok && p != nil {
			out[pairs[i].(string)] = count(p)
		}
	}
	return out
}

// decodeAnswer decodes a complete answer into its generated type.
func decodeAnswer[T any](body []byte) (*T, error) {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, fmt.Errorf("decoding the answer: %w", err)
	}
	return &v, nil
}

// withoutInfinity replaces the bare word Infinity, which v0.0.40 and v0.0.41 print for an infinite
// number and encoding/json refuses. plainFloat converts the replacement to infinite.
func withoutInfinity(body []byte) []byte {
	if !bytes.Contains(body, []byte("Infinity")) {
		return body
	}
	body = bytes.ReplaceAll(body, []byte(": -Infinity"), []byte(": null"))
	return bytes.ReplaceAll(body, []byte(": Infinity"), []byte(": 1e300"))
}

// parseJobStatusID parses an id of jobs/state: "7", "7_3", "7_[2-9%2]", "8+1", or "7_*".
//
// "7_*" is the record of an array that no longer represents any task. The tasks that had not started
// were cancelled one by one or as a list ("scancel 7_[0-3]", "scancel --state=PENDING 7"), and the
// record remains, CANCELLED, until it is purged. slurmctld sends the tasks as a bitmap, and sends no
// bitmap if no bit is set (_job_state_array_bitmap in src/slurmctld/job_state.c). slurmrestd's data
// parsers print "%u_*" for the record of an array that has neither a task nor a bitmap. "scancel 7"
// does not change the bitmap. Seen on 24.11 and 26.05, recorded in jobs_state_no_tasks.json.
func parseJobStatusID(id string) (slurm.JobStatus, error) {
	var s slurm.JobStatus
	number, rest := id, ""
	if i := strings.IndexAny(id, "_+"); i >= 0 {
		number, rest = id[:i], id[i:]
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return s, fmt.Errorf("decoding the answer: %q is no job id", id)
	}
	s.ID = uint32(n)
	switch {
	case rest == "":
	case strings.HasPrefix(rest, "_["):
		s.Tasks = strings.TrimSuffix(rest[2:], "]")
	case rest == "_*":
		s.Tasks = "*"
	default:
		v, err := strconv.ParseUint(rest[1:], 10, 32)
		if err != nil {
			return s, fmt.Errorf("decoding the answer: %q is no job id", id)
		}
		if rest[0] == '_' {
			s.TaskID = slurm.Num(v)
		} else {
			s.HetOffset = slurm.Num(v)
		}
	}
	return s, nil
}

// updateTime formats update_time: plain seconds, or with the prefix uts for versions that refuse plain
// seconds. It returns nil if t is not set.
func updateTime(t slurm.Time, prefix string) *string {
	if t <= 0 {
		return nil
	}
	s := prefix + strconv.FormatInt(int64(t), 10)
	return &s
}

// optional returns a pointer to the value, or nil for the zero value, which the request leaves out.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// optionalInt is optional for the integers of the bindings.
func optionalInt(v uint32) *int64 { return optional(int64(v)) }

// noValOf returns the noVal object of a number for a request, or nil if the number is absent or unset.
func noValOf[T noValJSON](n slurm.Number) *T {
	v, ok := n.Value()
	if !ok && !n.IsInfinite() {
		return nil
	}
	yes, infinite, number := true, n.IsInfinite(), int64(v)
	out := T(struct {
		Infinite *bool
		Number   *int64
		Set      *bool
	}{Infinite: &infinite, Number: &number, Set: &yes})
	return &out
}

func noValOfTime[T noValJSON](t slurm.Time) *T {
	if t <= 0 {
		return nil
	}
	return noValOf[T](slurm.Num(uint64(t)))
}

// workingDirectoryOrDefault and environmentOrDefault return what Slurm requires of every job.
func workingDirectoryOrDefault(dir string) *string {
	if dir == "" {
		dir = "/"
	}
	return &dir
}

func environmentOrDefault(env []string) []string {
	if len(env) == 0 {
		return []string{"PATH=/bin:/usr/bin"}
	}
	return env
}

func exclusiveFlags(yes bool) []string {
	if yes {
		return []string{"none"}
	}
	return nil
}

func splitList(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// nodeFlags returns the flags of node queries: the default flags, and FUTURE to include FUTURE nodes.
// Flags in a query replace the default flags.
func nodeFlags() []string { return []string{"DETAIL", "MIXED", "FUTURE"} }
