package model

import (
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/demand/pending"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// limitRules are the limits of the cluster (resource_limits in Slurm's documentation). A job is subject to the limits
// of its partition's QOS, its own QOS, its user's association and the parent accounts, and to the free licenses. For
// each limit, the first of these that sets it wins. A QOS with OverPartQOS precedes the partition's QOS.
type limitRules struct {
	costs        *costIndex
	qos          map[string]*slurm.QOS
	partitions   map[string]*slurm.Partition
	associations map[associationKey]*slurm.Association
	// associationsByID finds the association of a job if only the uid of its user is known.
	associationsByID map[uint32]*slurm.Association
	licenses         *budget
	// layered are the names of hierarchical resources.
	layered     map[string]bool
	budgets     map[budgetKey]*budget
	bySubject   map[limitSubject]*jobLimits
	lastSubject limitSubject
	lastLimits  *jobLimits
}

// limitSubject identifies jobs with the same limits.
type limitSubject struct {
	partition, account, user, qos string
	// association is the id of the association of a user without a name, otherwise 0.
	association uint32
	licensed    bool
}

type associationKey struct{ account, user, partition string }

// budgetKey identifies a budget: of a QOS for all jobs, for a user or for an account, or of an
// association.
type budgetKey struct {
	kind                limitKind
	name, user, account string
	partition           string
}

type limitKind uint8

const (
	limitQOS limitKind = iota
	limitQOSUser
	limitQOSAccount
	limitAssocGroup
	limitAssocUser
	limitKinds
)

// jobLimits are the limits that apply to the jobs of a limitSubject.
type jobLimits struct {
	sharedLimits []sharedLimit
	// maxPerJob and minPerJob bound one job. maxPerNode bounds its average over its nodes.
	// maxWallMinutes bounds its time limit, in minutes.
	maxPerJob, minPerJob, maxPerNode []uint64
	maxWallMinutes                   uint64
	// maxCPUsPerNode is the CPU limit in maxPerNode.
	maxCPUsPerNode uint64
	// unmodelled is whether demand does not follow all limits: it ignores limits in minutes, and limits of partitions with
	// different QOS. typedGRES are the generic resources, such as "gres/gpu", with a limited type.
	unmodelled bool
	typedGRES  []string
	// layered are the names of hierarchical resources. Demand follows only their sum.
	layered map[string]bool
}

func newLimitRules(s *slurmclient.Snapshot, of *costIndex) limitRules {
	g := limitRules{
		costs: of, qos: map[string]*slurm.QOS{}, partitions: map[string]*slurm.Partition{},
		associations: map[associationKey]*slurm.Association{}, associationsByID: map[uint32]*slurm.Association{},
		budgets: map[budgetKey]*budget{}, bySubject: map[limitSubject]*jobLimits{},
	}
	for _, p := range s.Partitions.Value {
		g.partitions[p.Name] = p
	}
	if areLimitsEnforced(s) {
		g.indexQOS(s.QOS.Value)
		g.indexAssociations(s.Associations.Value, s.Server.Cluster)
	}
	free, layered := boundLicenses(s.Licenses.Value)
	g.layered = layered
	of.addTRES(free)
	if len(free) > 0 {
		g.licenses = &budget{remaining: of.boundsOf(slurm.Number{}, free)}
	}
	return g
}

func (g *limitRules) indexQOS(list []slurm.QOS) {
	for i := range list {
		q := &list[i]
		g.costs.addTRES(q.GrpTRES, q.MaxTRESPerUser, q.MaxTRESPerAccount, q.MaxTRESPerJob, q.MaxTRESPerNode,
			q.MinTRESPerJob)
		g.qos[q.Name] = q
	}
}

// indexAssociations indexes the associations of the cluster, if any of them has limits.
func (g *limitRules) indexAssociations(list []slurm.Association, cluster string) {
	here := func(a *slurm.Association) bool { return a.Cluster == "" || cluster == "" || a.Cluster == cluster }
	if !slices.ContainsFunc(list, func(a slurm.Association) bool { return here(&a) && hasLimits(&a) }) {
		return
	}
	for i := range list {
		if a := &list[i]; here(a) {
			g.costs.addTRES(a.GrpTRES, a.MaxTRESPerJob, a.MaxTRESPerNode)
			g.associations[associationKey{a.Account, a.User, a.Partition}] = a
			g.associationsByID[a.ID] = a
		}
	}
}

func hasLimits(a *slurm.Association) bool {
	return isSet(a.GrpJobs) || isSet(a.MaxJobs) || isSet(a.MaxWallMinutesPerJob) ||
		len(a.GrpTRES)+len(a.MaxTRESPerJob)+len(a.MaxTRESPerNode) > 0 || a.MinuteLimits
}

func isSet(n slurm.Number) bool { _, set := n.Value(); return set }

// limitsOf returns the limits of the job, nil if it has none.
func (g *limitRules) limitsOf(j *slurm.Job) *jobLimits {
	licensed := j.Licenses() != "" && g.licenses != nil
	if len(g.qos) == 0 && len(g.associations) == 0 && !licensed {
		return nil
	}
	subject := limitSubject{partition: j.Partition, account: j.Account(), user: j.UserName(), qos: j.QOS(), licensed: licensed}
	if !j.HasUserName() {
		subject.association = j.AssociationID()
	}
	if subject == g.lastSubject {
		return g.lastLimits
	}
	limits, ok := g.bySubject[subject]
	if !ok {
		limits = g.buildLimits(subject)
		g.bySubject[subject] = limits
	}
	g.lastSubject, g.lastLimits = subject, limits
	return limits
}

// tierOf returns the highest tier of the job's partitions, where slurmctld tries first.
func (g *limitRules) tierOf(j *slurm.Job) (tier uint32) {
	if p := g.partitions[j.Partition]; p != nil {
		return p.PriorityTier
	}
	for _, name := range j.Partitions() {
		if p := g.partitions[name]; p != nil {
			tier = max(tier, p.PriorityTier)
		}
	}
	return tier
}

// admits reports whether the limits on single jobs allow a job of the cost.
func (g *jobLimits) admits(j *slurm.Job, cost []uint64) bool {
	if limit, set := j.TimeLimit.Value(); set && limit > g.maxWallMinutes {
		return false
	}
	for i, x := range cost {
		if x > g.maxPerJob[i] || x < g.minPerJob[i] || x/cost[costNodes] > g.maxPerNode[i] {
			return false
		}
	}
	return true
}

// isModelled reports whether demand follows all limits of the job. The type of the job's generic
// resources is unknown before it has nodes, unless it requests one.
func (g *jobLimits) isModelled(j *slurm.Job) bool {
	for name := range parseLicenses(j.Licenses()) {
		if g.layered[name] {
			return false
		}
	}
	return !g.unmodelled && !strings.Contains(j.Licenses(), "|") &&
		!slices.ContainsFunc(g.typedGRES, func(name string) bool {
			return strings.Contains(j.TRESRequested, name+"=") && !strings.Contains(j.TRESRequested, name+":")
		})
}

// jobLimitsBuilder collects limits in the order of their precedence.
type jobLimitsBuilder struct {
	*limitRules
	*jobLimits
	// positionsSet are, for each kind of limit, the positions that an earlier limit has set.
	positionsSet                [limitKinds][]bool
	maxPerJobSet, maxPerNodeSet []bool
}

func (g *limitRules) buildLimits(subject limitSubject) *jobLimits {
	b := jobLimitsBuilder{limitRules: g,
		jobLimits: &jobLimits{maxWallMinutes: math.MaxUint64, minPerJob: make([]uint64, g.costs.size())}}
	b.maxPerJob, b.maxPerNode = g.costs.boundsOf(slurm.Number{}, nil), g.costs.boundsOf(slurm.Number{}, nil)
	b.maxPerJobSet, b.maxPerNodeSet = make([]bool, g.costs.size()), make([]bool, g.costs.size())
	for i := range b.positionsSet {
		b.positionsSet[i] = make([]bool, g.costs.size())
	}
	all, certain := g.qosOf(subject)
	for _, q := range all {
		b.addQOS(q, subject)
	}
	b.unmodelled = b.unmodelled || !certain
	b.addAssociation(subject)
	if subject.licensed {
		b.jobLimits.layered = g.layered
		binds := make([]bool, g.costs.size())
		for i := range binds {
			binds[i] = true
		}
		b.sharedLimits = append(b.sharedLimits, sharedLimit{g.licenses, binds, pending.ClassLicense})
	}
	b.maxCPUsPerNode = unlimited
	if at, limited := g.costs.positions["cpu"]; limited {
		b.maxCPUsPerNode = b.maxPerNode[at]
	}
	if len(b.sharedLimits) == 0 && !slices.Contains(b.maxPerJobSet, true) && !slices.Contains(b.maxPerNodeSet, true) &&
		b.maxWallMinutes == math.MaxUint64 && !b.unmodelled && slices.Max(b.minPerJob) == 0 {
		return nil
	}
	return b.jobLimits
}

// qosOf returns the QOS that apply to the jobs, in order of precedence. Partitions with different
// QOS apply none of them to a job that can run in any; certain is false then.
func (g *limitRules) qosOf(subject limitSubject) (out []*slurm.QOS, certain bool) {
	ofPartition, certain := g.qosOfPartition(subject.partition)
	own := g.qos[subject.qos]
	for _, q := range []*slurm.QOS{ofPartition, own} {
		if q != nil && !slices.Contains(out, q) {
			out = append(out, q)
		}
	}
	if own != nil && slices.Contains(own.Flags, "OVERRIDE_PARTITION_QOS") {
		slices.Reverse(out)
	}
	return out, certain
}

// qosOfPartition returns the QOS that all partitions of the list have. certain is false if they
// differ.
func (g *limitRules) qosOfPartition(list string) (of *slurm.QOS, certain bool) {
	if p := g.partitions[list]; p != nil {
		return g.qos[p.QOS], true
	}
	var first *slurm.QOS
	for i, name := range (&slurm.Job{Partition: list}).Partitions() {
		var q *slurm.QOS
		if p := g.partitions[name]; p != nil {
			q = g.qos[p.QOS]
		}
		if i == 0 {
			first = q
		}
		if q != first {
			return nil, false
		}
	}
	return first, true
}

func (b *jobLimitsBuilder) addQOS(q *slurm.QOS, subject limitSubject) {
	b.addBudget(limitQOS, budgetKey{name: q.Name}, q.MaxJobs, q.GrpTRES)
	b.addBudget(limitQOSUser, budgetKey{name: q.Name, user: subject.user}, q.MaxJobsPerUser, q.MaxTRESPerUser)
	b.addBudget(limitQOSAccount, budgetKey{name: q.Name, account: subject.account}, q.MaxJobsPerAccount,
		q.MaxTRESPerAccount)
	b.addPerJobLimits(q.MaxTRESPerJob, q.MaxTRESPerNode, q.MaxWallMinutesPerJob)
	for name, least := range q.MinTRESPerJob {
		at := b.limitRules.costs.positions[name]
		b.minPerJob[at] = max(b.minPerJob[at], least)
	}
	b.unmodelled = b.unmodelled || q.MinuteLimits
}

// addAssociation adds the limits of the association and of its ancestors. A group limit of an
// association does not apply where a QOS sets the limit for all its jobs. The job limit of a user
// does not apply where a QOS limits the jobs of users or accounts.
func (b *jobLimitsBuilder) addAssociation(subject limitSubject) {
	a := b.associations[associationKey{subject.account, subject.user, subject.partition}]
	if a == nil {
		a = b.associations[associationKey{account: subject.account, user: subject.user}]
	}
	if a == nil && subject.association != 0 {
		// slurmrestd of 24.11 sends no ids of associations, so the limits of the user are unknown.
		a = b.associationsByID[subject.association]
		b.unmodelled = b.unmodelled || a == nil && len(b.associations) > 0
	}
	if a == nil {
		return
	}
	b.positionsSet[limitAssocUser][costJobs] = b.positionsSet[limitQOSUser][costJobs] ||
		b.positionsSet[limitQOSAccount][costJobs]
	b.addBudget(limitAssocUser, budgetKey{account: a.Account, user: a.User, partition: a.Partition}, a.MaxJobs, nil)
	b.addPerJobLimits(a.MaxTRESPerJob, a.MaxTRESPerNode, a.MaxWallMinutesPerJob)
	overridden := slices.Clone(b.positionsSet[limitQOS])
	for range maxAccountDepth {
		// Each ancestor counts separately.
		b.positionsSet[limitAssocGroup] = slices.Clone(overridden)
		b.addBudget(limitAssocGroup, budgetKey{account: a.Account, user: a.User, partition: a.Partition}, a.GrpJobs,
			a.GrpTRES)
		b.unmodelled = b.unmodelled || a.MinuteLimits
		parent := a.ParentAccount
		if a.User != "" {
			parent = a.Account
		}
		next := b.associations[associationKey{account: parent}]
		if next == nil || next == a {
			return
		}
		a = next
	}
}

// maxAccountDepth bounds the depth of the account tree.
const maxAccountDepth = 64

// addBudget adds a limit that several jobs share, if any value is set.
func (b *jobLimitsBuilder) addBudget(kind limitKind, name budgetKey, jobs slurm.Number, tres map[string]uint64) {
	if !isSet(jobs) && len(tres) == 0 {
		return
	}
	b.recordTypedGRES(tres)
	limit := b.limitRules.costs.boundsOf(jobs, tres)
	name.kind = kind
	have := b.budgets[name]
	if have == nil {
		have = &budget{remaining: slices.Clone(limit), milliNodes: limit[costMilliNodes]}
		b.budgets[name] = have
	}
	binds := make([]bool, len(limit))
	for i := range limit {
		binds[i] = limit[i] != unlimited && !b.positionsSet[kind][i]
		b.positionsSet[kind][i] = b.positionsSet[kind][i] || limit[i] != unlimited
	}
	b.sharedLimits = append(b.sharedLimits, sharedLimit{have, binds, pending.ClassLimit})
}

// addPerJobLimits adds limits on single jobs.
func (b *jobLimitsBuilder) addPerJobLimits(tres, perNode map[string]uint64, wall slurm.Number) {
	b.addMaxima(b.maxPerJob, b.maxPerJobSet, tres)
	b.addMaxima(b.maxPerNode, b.maxPerNodeSet, perNode)
	if limit, set := wall.Value(); set && b.maxWallMinutes == math.MaxUint64 {
		b.maxWallMinutes = limit
	}
}

// recordTypedGRES records the generic resources of which a type is limited.
func (b *jobLimitsBuilder) recordTypedGRES(tres map[string]uint64) {
	for name := range tres {
		if base, _, typed := strings.Cut(name, ":"); typed {
			b.typedGRES = append(b.typedGRES, base)
		}
	}
}

// addMaxima sets the maxima that no earlier limit has set.
func (b *jobLimitsBuilder) addMaxima(to []uint64, set []bool, tres map[string]uint64) {
	b.recordTypedGRES(tres)
	for name, most := range tres {
		if at := b.limitRules.costs.positions[name]; !set[at] {
			set[at], to[at] = true, most
		}
	}
}
