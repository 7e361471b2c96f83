package delta

import "time"

const (
	// firstInFlight is how many requests of one kind are in flight at first, and maxInFlight how many at most. slurmrestd accepts
	// 124 connections of all clients together (slurmrestd(8), --max-connections).
	firstInFlight = 4
	maxInFlight   = 28
	// fewWaiting and manyWaiting are the numbers of requests waiting in the server, below which the limit rises and above which it falls.
	fewWaiting  = 2
	manyWaiting = 4
	// A server whose answers take overloadFactor times as long as the shortest ones is overloaded.
	overloadFactor = 8
	// freshLooks is the number of looks after which the shortest time is measured again, with few requests in flight.
	freshLooks = 64
)

// inFlight limits how many requests of one kind are in flight at a time. It adapts to the server's response time as TCP Vegas does (Brakmo
// and Peterson, 1995). A distant server answers sixteen requests as quickly as one. Where requests queue in the server, sending more of
// them is no faster.
type inFlight struct {
	limit int
	// shortest is the shortest mean time of an answer.
	shortest time.Duration
	// sum is the time of the answers since the last look, and count is their number. While count is negative, answers do not count, because
	// their requests may have been made with another limit.
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

// leastRecordTime is the minimum time that slurmrestd needs for a record if several are requested at a time.
const leastRecordTime = 200 * time.Microsecond

// recordTime estimates how long a poll takes for each record that it reads. Until it has read records, it uses roundTrip, the time of some
// other request.
func (f *inFlight) recordTime(roundTrip time.Duration) time.Duration {
	if f.shortest > 0 {
		return f.shortest / time.Duration(f.limit)
	}
	return max(leastRecordTime, roundTrip/maxInFlight)
}
