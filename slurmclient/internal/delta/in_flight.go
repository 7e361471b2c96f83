package delta

import (
	"context"
	"time"

	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

const (
	// firstInFlight is how many requests of single records are in flight at first, and maxInFlight how many at most.
	firstInFlight = 4
	maxInFlight   = 16
	// fewWaiting and manyWaiting are how many of them may wait in the server until there are more or fewer.
	fewWaiting  = 2
	manyWaiting = 4
	// A server whose answers take overloadFactor times as long as the shortest ones is overloaded.
	overloadFactor = 8
	// freshLooks is after how many looks the shortest time is measured again, with few requests in flight.
	freshLooks = 64
)

// inFlight is how many requests of single records are in flight at a time. It adapts to how long the server takes to answer, as
// TCP Vegas does (Brakmo and Peterson, 1995): a distant server takes as long for one request as for sixteen, and where they wait
// for each other in the server, more of them are no faster.
type inFlight struct {
	limit int
	// shortest is the shortest mean time of an answer.
	shortest time.Duration
	// sum is the time of the answers since the last look, and count their number. Before 0, answers do not count: they may be
	// of requests that were made with another limit.
	sum          time.Duration
	count, looks int
}

func newInFlight() inFlight { return inFlight{limit: firstInFlight} }

// recordAnswer adds the time that an answer took.
func (f *inFlight) recordAnswer(took time.Duration) {
	if f.count++; f.count <= 0 {
		return
	}
	if f.sum += took; f.count < 2*f.limit {
		return
	}
	mean := f.sum / time.Duration(f.count)
	f.sum, f.count = 0, -f.limit
	if f.looks++; f.looks%freshLooks == 0 {
		f.limit, f.shortest = min(f.limit, firstInFlight), 0
		return
	}
	if f.shortest == 0 || mean < f.shortest {
		f.shortest = mean
	}
	waiting := float64(f.limit) * (1 - float64(f.shortest)/float64(mean))
	switch {
	case mean > overloadFactor*f.shortest:
		f.limit = max(1, f.limit/2)
	case waiting < fewWaiting:
		f.limit = min(maxInFlight, f.limit+1)
	case waiting > manyWaiting:
		f.limit--
	}
}

// leastRecordTime is how long slurmrestd needs for a record at least where several are requested at a time.
const leastRecordTime = 200 * time.Microsecond

// recordTime estimates how long a poll takes for each record that it reads. roundTrip is the time of some other request, which
// counts until records were read.
func (f *inFlight) recordTime(roundTrip time.Duration) time.Duration {
	if f.shortest > 0 {
		return f.shortest / time.Duration(f.limit)
	}
	return max(leastRecordTime, roundTrip/maxInFlight)
}

// answer is the answer to the request for a record.
type answer struct {
	id    uint32
	jobs  []*slurm.Job
	err   error
	took  time.Duration
	panic any
}

// readRecords reads the records of the ids that the poll has not read, several at a time and in their order. onRead is called
// after each and may return another id, which is read next. readRecords returns when no request is in flight any more, also
// after an error. What was read until then is in the poll.
func (d *Reader) readRecords(ctx context.Context, p *poll, ids []uint32, onRead func(id uint32) (next uint32, ok bool)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		answers = make(chan answer)
		asked   = map[uint32]bool{}
		first   []uint32
		running int
		failure error
	)
	for {
		for failure == nil && running < d.inFlight.limit && len(first)+len(ids) > 0 {
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
			running++
			go func() { answers <- d.requestRecord(ctx, id) }()
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
			continue
		}
		d.inFlight.recordAnswer(a.took)
		p.addRecords(a.id, a.jobs)
		if id, ok := onRead(a.id); ok {
			first = append(first, id)
		}
	}
}

// requestRecord requests the record of an id. It returns a panic instead of ending the process.
func (d *Reader) requestRecord(ctx context.Context, id uint32) (out answer) {
	begin := time.Now()
	out.id = id
	defer func() { out.took, out.panic = time.Since(begin), recover() }()
	out.jobs, out.err = d.source.Job(ctx, id)
	return out
}
