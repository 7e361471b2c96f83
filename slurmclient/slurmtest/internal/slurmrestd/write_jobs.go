package slurmrestd

import (
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/errno"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/slurmctld"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// jobBody is the job description in a request.
type jobBody struct {
	Script        string     `json:"script"`
	Name          string     `json:"name"`
	Partition     string     `json:"partition"`
	Account       string     `json:"account"`
	QOS           string     `json:"qos"`
	Environment   jsonWords  `json:"environment"`
	Directory     string     `json:"current_working_directory"`
	Array         string     `json:"array"`
	Nodes         jsonNumber `json:"minimum_nodes"`
	NodesText     string     `json:"nodes"`
	Tasks         jsonNumber `json:"tasks"`
	CPUsPerTask   jsonNumber `json:"cpus_per_task"`
	MinCPUs       jsonNumber `json:"minimum_cpus"`
	MemoryPerNode jsonNumber `json:"memory_per_node"`
	MemoryPerCPU  jsonNumber `json:"memory_per_cpu"`
	TimeLimit     jsonNumber `json:"time_limit"`
	Constraints   string     `json:"constraints"`
	TRESPerNode   string     `json:"tres_per_node"`
	TRESPerJob    string     `json:"tres_per_job"`
	RequiredNodes jsonWords  `json:"required_nodes"`
	ExcludedNodes jsonWords  `json:"excluded_nodes"`
	Dependency    string     `json:"dependency"`
	Licenses      string     `json:"licenses"`
	BeginTime     jsonNumber `json:"begin_time"`
	Hold          *bool      `json:"hold"`
	Shared        jsonWords  `json:"shared"`
	Comment       *string
	Reservation   string     `json:"reservation"`
	Nice          *int32     `json:"nice"`
	Priority      jsonNumber `json:"priority"`
	Requeue       *bool      `json:"requeue"`
}

func (b *jobBody) spec(user string) slurmctld.JobSpec {
	small := func(n jsonNumber) uint32 { return uint32(n.Or(0)) }
	s := slurmctld.JobSpec{User: user, Priority: small(b.Priority), ExcludedNodes: strings.Join(b.ExcludedNodes, ",")}
	s.JobRequest = slurm.JobRequest{
		Name: b.Name, Partition: b.Partition, Account: b.Account, QOS: b.QOS, Script: b.Script,
		Environment: b.Environment, WorkingDirectory: b.Directory, Array: b.Array,
		Nodes: small(b.Nodes), Tasks: max(small(b.Tasks), small(b.MinCPUs)), CPUsPerTask: small(b.CPUsPerTask),
		MemoryPerNode: b.MemoryPerNode.Number, MemoryPerCPU: b.MemoryPerCPU.Number, TimeLimit: b.TimeLimit.Number,
		Constraints: b.Constraints, TRESPerNode: b.TRESPerNode, TRESPerJob: b.TRESPerJob,
		RequiredNodes: strings.Join(b.RequiredNodes, ","), Dependency: b.Dependency, Licenses: b.Licenses,
		BeginTime: slurm.Time(b.BeginTime.Or(0)), Exclusive: len(b.Shared) > 0 && b.Shared[0] == "none",
		Reservation: b.Reservation,
	}
	if b.Hold != nil {
		s.Hold = *b.Hold
	}
	if b.Comment != nil {
		s.Comment = *b.Comment
	}
	if b.Nice != nil {
		s.Nice = *b.Nice
	}
	s.NoRequeue = b.Requeue != nil && !*b.Requeue
	return s
}

func (k *call) submitJob() {
	var q struct {
		Script string     `json:"script"`
		Job    *jobBody   `json:"job"`
		Jobs   []*jobBody `json:"jobs"`
	}
	if !k.decodeBody(&q) {
		return
	}
	if q.Job != nil {
		q.Jobs = []*jobBody{q.Job}
	}
	if number := k.validateSubmission(q.Script, q.Jobs); number != 0 {
		status := k.refusalStatus()
		if number == 6010 {
			status = http.StatusInternalServerError
		}
		k.fail(status, number)
		return
	}
	s := q.Jobs[0].spec(k.user)
	if s.Script == "" {
		s.Script = q.Script
	}
	for _, b := range q.Jobs[1:] {
		s.Components = append(s.Components, b.spec(k.user))
	}
	id, err := k.cluster.Submit(s)
	if r := asRefusal(err); r != nil {
		k.fail(k.refusalStatus(), r.Number)
		return
	}
	k.answerSubmitted(id)
}

// validateSubmission returns the error number of what slurmrestd itself refuses, else 0.
func (k *call) validateSubmission(script string, jobs []*jobBody) int {
	_, known := k.cluster.User(k.user)
	switch {
	case len(jobs) == 0:
		return 9000
	case !known && k.cfg.Release != slurmctld.Release2411:
		return 6010
	case len(jobs[0].Environment) == 0 || script == "" && jobs[0].Script == "":
		if k.cfg.Release == slurmctld.Release2411 {
			return 2019
		}
		return 2127
	}
	return 0
}

func (k *call) answerSubmitted(id uint32) {
	k.answer(http.StatusOK, func(o *answerWriter) {
		if k.version < "v0.0.42" {
			o.Key("result")
			o.Object()
			writeMember(o.Writer, "job_id", func() { o.Uint(uint64(id)) })
			writeMember(o.Writer, "step_id", func() { o.String("batch") })
			writeMember(o.Writer, "error_code", func() { o.Int(0) })
			writeMember(o.Writer, "error", func() { o.String("No error") })
			writeMember(o.Writer, "job_submit_user_msg", func() { o.String("") })
			o.EndObject()
		}
		writeMember(o.Writer, "job_id", func() { o.Uint(uint64(id)) })
		writeMember(o.Writer, "step_id", func() { o.String("batch") })
		writeMember(o.Writer, "job_submit_user_msg", func() { o.String("") })
	}, nil, nil)
}

func (k *call) updateJob() {
	var b jobBody
	if !k.decodeBody(&b) {
		return
	}
	u := slurmctld.JobUpdate{Hold: b.Hold, Comment: b.Comment, Nice: b.Nice, Priority: b.Priority.Number,
		TimeLimit: b.TimeLimit.Number}
	k.answerOutcome(k.cluster.UpdateJobAs(k.user, k.pathValue, u), k.route.failure.description)
}

func (k *call) requeueJob() {
	k.answerOutcome(k.cluster.RequeueAs(k.user, k.pathValue), k.route.failure.description)
}

// cancelJob answers 200 even if no job was canceled; the status member contains the error.
func (k *call) cancelJob() {
	r := k.cluster.CancelAs(k.user, k.pathValue)
	records, _ := k.cluster.ReadJob(k.pathValue)
	if r != nil && r.Number == 2010 {
		k.refuse(2010, k.route.failure.description)
		return
	}
	number := 0
	if r != nil {
		number = r.Number
	}
	k.answer(http.StatusOK, func(o *answerWriter) {
		o.Key("status")
		o.Array()
		o.Item()
		k.writeKillStatus(o.Writer, number, len(records) > 0)
		o.EndArray()
	}, nil, nil)
}

func (k *call) writeKillStatus(w *template.Writer, code int, known bool) {
	text := errno.Text(code)
	id := slurm.Unset()
	if n, ok := leadingNumber(k.pathValue); ok && known {
		id = slurm.Num(n)
	}
	w.Object()
	w.Key("error")
	w.Object()
	writeMember(w, "string", func() { w.String(text) })
	writeMember(w, "code", func() { w.Int(int64(code)) })
	writeMember(w, "message", func() { w.String(text) })
	w.EndObject()
	writeMember(w, "step_id", func() { w.String(k.pathValue) })
	writeMember(w, "job_id", func() { w.Number(id) })
	w.Key("federation")
	w.Object()
	writeMember(w, "sibling", func() { w.String("") })
	w.EndObject()
	w.EndObject()
}

func leadingNumber(text string) (uint64, bool) {
	number, _, _ := strings.Cut(text, "_")
	n := uint64(0)
	for _, c := range number {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, number != ""
}
