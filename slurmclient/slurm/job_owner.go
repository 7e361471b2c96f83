package slurm

// JobOwner is the owner of a job record. The jobs of one user share it.
type JobOwner struct {
	// UserName, Account and QOS are the names that slurmctld uses. UserName is UserID in decimal where slurmrestd does not know the
	// name, because its host has no such user; see HasUserName.
	UserName string
	UserID   uint32
	// AssociationID is the association whose limits apply to the job, 0 without accounting.
	AssociationID uint32
	GroupName     string
	Account       string
	QOS           string
}

// SharedOwner is an immutable JobOwner, which any number of jobs may share. The zero value has zero fields.
type SharedOwner struct{ shared *JobOwner }

// ShareOwner returns a SharedOwner with a copy of o.
func ShareOwner(o JobOwner) SharedOwner {
	if o == (JobOwner{}) {
		return SharedOwner{}
	}
	return SharedOwner{&o}
}

// Owner returns a copy of the fields.
func (s SharedOwner) Owner() JobOwner {
	if s.shared == nil {
		return JobOwner{}
	}
	return *s.shared
}

// EditOwner lets edit change a copy of the fields, which this job gets. Other jobs keep theirs.
func (s *SharedOwner) EditOwner(edit func(o *JobOwner)) {
	o := s.Owner()
	edit(&o)
	*s = ShareOwner(o)
}

// HasOwner reports whether the fields equal o's.
func (s SharedOwner) HasOwner(o *JobOwner) bool {
	if s.shared == nil {
		return *o == JobOwner{}
	}
	return *s.shared == *o
}

// Equal reports whether the fields of both are equal; go-cmp uses it.
func (s SharedOwner) Equal(t SharedOwner) bool {
	if s.shared == t.shared {
		return true
	}
	return s.shared != nil && t.shared != nil && *s.shared == *t.shared
}

// UserName returns the name of the user; see JobOwner.
func (s SharedOwner) UserName() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.UserName
}

// UserID returns the uid of the user.
func (s SharedOwner) UserID() uint32 {
	if s.shared == nil {
		return 0
	}
	return s.shared.UserID
}

// AssociationID returns the association whose limits apply to the job, 0 without accounting.
func (s SharedOwner) AssociationID() uint32 {
	if s.shared == nil {
		return 0
	}
	return s.shared.AssociationID
}

// GroupName returns the name of the user's group.
func (s SharedOwner) GroupName() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.GroupName
}

// Account returns the account that the job is charged to.
func (s SharedOwner) Account() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.Account
}

// QOS returns the QOS of the job.
func (s SharedOwner) QOS() string {
	if s.shared == nil {
		return ""
	}
	return s.shared.QOS
}
