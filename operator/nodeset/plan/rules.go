package plan

import "time"

// Rules are the decisions that protect workers with jobs, the claims of workers and the Slurm nodes of others.
// Production uses DefaultRules. The simulation replaces one rule at a time, to check that its promises notice.
type Rules struct {
	// Config contains the limits.
	Config Config
	// JudgeDeletion decides whether a worker that was chosen for removal may be deleted. The timeout of the drain policy
	// began at since; zero means that it has not begun.
	JudgeDeletion func(now time.Time, desired *Desired, s *SlurmReading, w *Worker, since time.Time) Verdict
	// NeedsProtection reports whether a worker must not be evicted.
	NeedsProtection func(*SlurmReading, *Worker) bool
	// UpdateLimit is the number of workers that may be chosen for an update at a time.
	UpdateLimit func(*Desired) int
	// OutOfServiceByOthers reports whether others took a Slurm node out of service.
	OutOfServiceByOthers func(Record) bool
	// HasFault reports whether a Slurm node is out of service because of a fault of its worker.
	HasFault func(Record) bool
	// KeepsRecord returns the reason to keep the record of a node, or an empty string if it may be deleted.
	// NeededRecords returns the surplus records that pending jobs need. HasKnownMaximum reports whether the names of all
	// possible workers are known.
	KeepsRecord     func(s *SlurmReading, slurmNode string) string
	NeededRecords   func(s *SlurmReading, surplus Surplus) map[string]string
	HasKnownMaximum func(*Desired) bool
	// AcceptsWorker reports whether Slurm accepts a worker of the NodeSet's shape on a record.
	AcceptsWorker func(Record) bool
	// MayAdopt reports whether the missing owners of a worker may be added.
	MayAdopt func(*Worker) bool
	// FilterReading returns the part of a reading that the NodeSet may trust.
	FilterReading func(*Desired, []Worker, SlurmReading) SlurmReading
	// IsTaken reports whether a slurmd may still run with the name of a Slurm node that has no pod.
	IsTaken func(s *SlurmReading, name string) bool
	// OwnedByOther returns the other owner of a Slurm node, or an empty string. A worker with its name is deleted before
	// slurmd runs in it.
	OwnedByOther func(s *SlurmReading, slurmNode string) string
	// ReservedFor returns the owner of a name that no worker gets, or an empty string.
	ReservedFor func(desired *Desired, slurmNode string) string
	// MayDeleteClaims reports whether a reading allows the deletion of claims.
	MayDeleteClaims func(*SlurmReading) bool
}

// DefaultRules returns the rules with the given limits.
func DefaultRules(cfg Config) Rules {
	return Rules{
		Config: cfg, JudgeDeletion: cfg.judgeDeletion, NeedsProtection: needsProtection,
		UpdateLimit:          func(w *Desired) int { return w.Update.MaxUnavailable },
		OutOfServiceByOthers: Record.OutOfServiceByOthers, HasFault: Record.HasFault,
		KeepsRecord: keepsRecord, NeededRecords: NeededRecords, HasKnownMaximum: hasKnownMaximum,
		AcceptsWorker: acceptsWorker, MayAdopt: func(*Worker) bool { return true },
		FilterReading: filterReading, IsTaken: isTaken, ReservedFor: reservedFor,
		OwnedByOther: func(s *SlurmReading, slurmNode string) string { return s.OwnedByOthers[slurmNode] }, MayDeleteClaims: mayDeleteClaims,
	}
}
