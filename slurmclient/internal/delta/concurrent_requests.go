package delta

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// request is a request that may run at the same time as others.
type request[T any] func(context.Context) (T, error)

// answer is the answer to a request.
type answer[T any] struct {
	value T
	err   error
	took  time.Duration
	panic any
}

// runRequests makes the requests that next returns, several at a time and in their order, until next returns no more. It calls done after
// each answer; next may then return more requests. runRequests returns when no request is in flight, also after an error. If a request
// panics, runRequests panics too.
func runRequests[T any](ctx context.Context, limit *inFlight, next func() (request[T], bool), done func(T)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer[T])
	running := 0
	var failure error
	for {
		for failure == nil && running < limit.limit {
			ask, ok := next()
			if !ok {
				break
			}
			running++
			go func() { answers <- makeRequest(ctx, ask) }()
		}
		if running == 0 {
			return failure
		}
		a := <-answers
		running--
		switch {
		case a.panic != nil:
			cancel()
			for ; running > 0; running-- {
				<-answers
			}
			panic(a.panic)
		case a.err != nil:
			if failure == nil {
				failure = a.err
			}
			cancel()
		default:
			limit.recordAnswer(a.took)
			done(a.value)
		}
	}
}

// makeRequest makes a request. It returns a panic instead of ending the process.
func makeRequest[T any](ctx context.Context, ask request[T]) (out answer[T]) {
	begin := time.Now()
	defer func() { out.took, out.panic = time.Since(begin), recover() }()
	out.value, out.err = ask(ctx)
	return out
}

// recordsOf are the records that a request for an id returned.
type recordsOf struct {
	id   uint32
	jobs []*slurm.Job
}

// readRecords reads the records of the ids that the poll has not read, several at a time and in their order. It calls onRead after each
// record; onRead may return another id, which is read next. After an error the poll keeps the records that were read before.
func (d *Reader) readRecords(ctx context.Context, p *poll, ids []uint32, onRead func(id uint32) (next uint32, ok bool)) error {
	asked := map[uint32]bool{}
	var first []uint32
	next := func() (request[recordsOf], bool) {
		for len(first)+len(ids) > 0 {
			from := &ids
			if len(first) > 0 {
				from = &first
			}
			id := (*from)[0]
			*from = (*from)[1:]
			if p.hasRead(id) || asked[id] {
				continue
			}
			asked[id] = true
			return func(ctx context.Context) (recordsOf, error) {
				jobs, err := d.source.Job(ctx, id)
				return recordsOf{id, jobs}, err
			}, true
		}
		return nil, false
	}
	return runRequests(ctx, &d.inFlight, next, func(r recordsOf) {
		p.addRecords(r.id, r.jobs)
		if id, ok := onRead(r.id); ok {
			first = append(first, id)
		}
	})
}

// readStates reads the states of ids; see requestStates.
func (d *Reader) readStates(ctx context.Context, ids []string) ([]slurm.JobStatus, error) {
	return d.requestStates(ctx, ids, d.source.JobStates)
}

// requestStates requests the states of ids in as many requests as necessary, several at a time. Over a network, a request has only about
// fifty ids.
func (d *Reader) requestStates(
	ctx context.Context, ids []string, ask func(context.Context, []string) ([]slurm.JobStatus, error),
) (rows []slurm.JobStatus, err error) {
	next := func() (request[[]slurm.JobStatus], bool) {
		if len(ids) == 0 {
			return nil, false
		}
		n := max(1, d.source.FittingIDs(ids))
		chunk := ids[:n]
		ids = ids[n:]
		return func(ctx context.Context) ([]slurm.JobStatus, error) { return ask(ctx, chunk) }, true
	}
	err = runRequests(ctx, &d.statesInFlight, next, func(more []slurm.JobStatus) { rows = append(rows, more...) })
	return rows, err
}
