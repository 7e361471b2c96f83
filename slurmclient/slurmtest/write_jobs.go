package slurmtest

import (
	"net/http"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
	"github.com/slurmtide/slurmtide/slurmclient/slurmtest/internal/template"
)

// jobBody is the job description in a request.
type jobBody struct {
	Script      string `json:"script"`
	Name        string `json:"name"`
	Partition   string `json:"partition"`
	Account     string `json:"account"`
	QOS         string `json:"qos"`
	Environment words  `json:"environment"`
	Directory   string `json:"current_working_directory"`
	Array       string `json:"array"`
	Nodes       number `json:"minimum_nodes"`
	NodesText   string `json:"nodes"`
	Tasks       number `json:"tasks"`
	CPUsPerTask number `json:"cpus_per_task"`
	MinimumCPUs number `json:"minimum_cpus"`
	PerNode     number `json:"memory_per_node"`
	PerCPU      number `json:"memory_per_cpu"`
	TimeLimit   number `json:"time_limit"`
	Constraints string `json:"constraints"`
	TRESPerNode string `json:"tres_per_node"`
	TRESPerJob  string `json:"tres_per_job"`
	Required    words  `json:"required_nodes"`
	Excluded    words  `json:"excluded_nodes"`
	Dependency  string `json:"dependency"`
	Licenses    string `json:"licenses"`
	Begin       number `json:"begin_time"`
	Hold        *bool  `json:"hold"`
	Shared      words  `json:"shared"`
	Comment     *string
	Reservation string `json:"reservation"`
	Nice        *int32 `json:"nice"`
	Priority    number `json:"priority"`
	Requeue     *bool  `json:"requeue"`
}

func (b *jobBody) spec(user string) JobSpec {
	small := func(n number) uint32 { return uint32(n.Or(0)) }
	s := JobSpec{User: user, Priority: small(b.Priority), ExcludedNodes: strings.Join(b.Excluded, ",")}
	s.JobRequest = slurm.JobRequest{
		Name: b.Name, Partition: b.Partition, Account: b.Account, QOS: b.QOS, Script: b.Script,
		Environment: b.Environment, WorkingDirectory: b.Directory, Array: b.Array,
		Nodes: small(b.Nodes), Tasks: max(small(b.Tasks), small(b.MinimumCPUs)), CPUsPerTask: small(b.CPUsPerTask),
		MemoryPerNode: b.PerNode.Number, MemoryPerCPU: b.PerCPU.Number, TimeLimit: b.TimeLimit.Number,
		Constraints: b.Constraints, TRESPerNode: b.TRESPerNode, TRESPerJob: b.TRESPerJob,
		RequiredNodes: strings.Join(b.Required, ","), Dependency: b.Dependency, Licenses: b.Licenses,
		BeginTime: slurm.Time(b.Begin.Or(0)), Exclusive: len(b.Shared) > 0 && b.Shared[0] == "none",
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
	if !k.body(&q) {
		return
	}
	if q.Job != nil {
		q.Jobs = []*jobBody{q.Job}
	}
	if number := k.unsubmittable(q.Script, q.Jobs); number != 0 {
		status := k.refusal()
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
	k.mu.Lock()
	id, r := k.submit(s)
	k.mu.Unlock()
	if r != nil {
		k.fail(k.refusal(), r.Number)
		return
	}
	k.submitted(id)
}

// validateSubmission returns the error number of what slurmrestd itself refuses, else 0.
func (k *call) unsubmittable(script string, jobs []*jobBody) int {
	_, known := k.users[k.user]
	switch {
	case len(jobs) == 0:
		return 9000
	case !known && k.cfg.Release != Release2411:
		return 6010
	case len(jobs[0].Environment) == 0 || script == "" && jobs[0].Script == "":
		if k.cfg.Release == Release2411 {
			return 2019
		}
		return 2127
	}
	return 0
}

func (k *call) submitted(id uint32) {
	k.answer(http.StatusOK, func(o *out) {
		if k.version < "v0.0.42" {
			o.Key("result")
			o.Object()
			member(o.Writer, "job_id", func() { o.Uint(uint64(id)) })
			member(o.Writer, "step_id", func() { o.String("batch") })
			member(o.Writer, "error_code", func() { o.Int(0) })
			member(o.Writer, "error", func() { o.String("No error") })
			member(o.Writer, "job_submit_user_msg", func() { o.String("") })
			o.EndObject()
		}
		member(o.Writer, "job_id", func() { o.Uint(uint64(id)) })
		member(o.Writer, "step_id", func() { o.String("batch") })
		member(o.Writer, "job_submit_user_msg", func() { o.String("") })
	}, nil, nil)
}

func (k *call) updateJob() {
	var b jobBody
	if !k.body(&b) {
		return
	}
	k.mu.Lock()
	r := k.changeJob(&b)
	k.mu.Unlock()
	k.settled(r, k.route.fails.text)
}

// changeJob applies the body to every record that the id resolves to.
func (k *call) changeJob(b *jobBody) *Refusal {
	if b.Hold != nil {
		if r := k.hold(k.arg, k.user, *b.Hold); r != nil {
			return r
		}
	}
	jobs := k.targets(k.arg)
	if len(jobs) == 0 {
		return refuse(2017)
	}
	for _, j := range jobs {
		if !k.owns(k.user, j) {
			return refuse(2010)
		}
		if j.state().Finished() {
			return refuse(2021)
		}
		r := k.edit(j)
		if b.Comment != nil {
			r.comment = *b.Comment
		}
		if b.Nice != nil {
			r.Nice = *b.Nice
		}
		if v, ok := b.Priority.Value(); ok {
			r.Priority = slurm.Num(v)
			k.queue.sorted = false
		}
		if !b.TimeLimit.IsAbsent() {
			r.TimeLimit, j.wish.minutes = b.TimeLimit.Number, b.TimeLimit.Number
		}
		k.dirty = true
	}
	return nil
}

func (k *call) requeueJob() {
	k.mu.Lock()
	r := k.requeue(k.arg, k.user, "None")
	k.mu.Unlock()
	k.settled(r, k.route.fails.text)
}

// cancelJob answers 200 also if there is nothing to cancel; the status member contains the error.
func (k *call) cancelJob() {
	k.mu.Lock()
	r := k.cancel(k.arg, k.user)
	known := len(k.jobsNamed(k.arg)) > 0
	k.mu.Unlock()
	if r != nil && r.Number == 2010 {
		k.refuse(2010, k.route.fails.text)
		return
	}
	number := 0
	if r != nil {
		number = r.Number
	}
	k.answer(http.StatusOK, func(o *out) {
		o.Key("status")
		o.Array()
		o.Item()
		k.writeKill(o.Writer, number, known)
		o.EndArray()
	}, nil, nil)
}

func (k *call) writeKill(w *template.Writer, code int, known bool) {
	text := errorText(code)
	id := slurm.Unset()
	if n, ok := leadingNumber(k.arg); ok && known {
		id = slurm.Num(n)
	}
	w.Object()
	w.Key("error")
	w.Object()
	member(w, "string", func() { w.String(text) })
	member(w, "code", func() { w.Int(int64(code)) })
	member(w, "message", func() { w.String(text) })
	w.EndObject()
	member(w, "step_id", func() { w.String(k.arg) })
	member(w, "job_id", func() { w.Number(id) })
	w.Key("federation")
	w.Object()
	member(w, "sibling", func() { w.String("") })
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
