package slurm

// jobFlagCodes are the flags that squeue(1) shows instead of the base state, in the order in which it looks for them.
var jobFlagCodes = []struct {
	flag JobFlags
	code string
}{
	{JobCompleting, "CG"}, {JobStageOut, "SO"}, {JobConfiguring, "CF"}, {JobResizing, "RS"}, {JobRequeued, "RQ"},
	{JobRequeueFed, "RF"}, {JobRequeueHold, "RH"}, {JobSpecialExit, "SE"}, {JobStopped, "ST"}, {JobRevoked, "RV"},
	{JobReservationDelHold, "RD"}, {JobSignaling, "SI"},
}

var jobBaseCodes = [...]string{"?", "PD", "R", "S", "CD", "CA", "F", "TO", "NF", "PR", "BF", "DL", "OOM"}

// Code returns the letters that squeue(1) shows for the state ("%t"), such as PD. A flag that has letters hides the base
// state. The letters of an unknown state are "?".
func (s JobState) Code() string {
	for _, f := range jobFlagCodes {
		if s.Has(f.flag) {
			return f.code
		}
	}
	return nameOf(jobBaseCodes[:], int(s.Base))
}

// JobCodes maps the letters of every base state and flag with letters to the state or flag.
func JobCodes() map[string]JobState {
	out := map[string]JobState{}
	for i, code := range jobBaseCodes {
		out[code] = JobState{Base: JobBase(i)}
	}
	delete(out, jobBaseCodes[JobUnknown])
	for _, f := range jobFlagCodes {
		out[f.code] = JobState{Flags: f.flag}
	}
	return out
}
