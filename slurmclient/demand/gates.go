package demand

import (
	"math"
	"slices"
	"strings"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// limitRules are the limits of the cluster (resource_limits in Slurm's documentation). A job is
// subject to the limits of the QOS of its partition, of its own QOS, of its user's association and
// of the parent accounts, and to the licenses that are left. A limit that one of them sets replaces
// the same limit of the following ones. A QOS with OverPartQOS precedes that of the partition.
type gates struct {
	scale    *scale
	qos      map[string]*slurm.QOS
	parts    map[string]*slurm.Partition
	assocs   map[assocName]*slurm.Association
	licenses *budget
	budgets  map[budgetName]*budget
	known    map[payer]*gate
	last     payer
	lastGate *gate
}

// limitSubject is what jobs with the same limits have in common.
type payer struct {
	partition, account, user, qos string
	licensed                      bool
}

type assocName struct{ account, user, partition string }

// budgetKey identifies a budget: of a QOS for all jobs, for a user or for an account, or of an
// association.
type budgetName struct {
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
type gate struct {
	draws []draw
	// maxPerJob and minPerJob bound one job. maxPerNode bounds its average over its nodes.
	// maxWallMinutes bounds its time limit, in minutes.
	most, least, perNode []uint64
	wall                 uint64
	// maxCPUsPerNode is the CPU limit in maxPerNode.
	cpusPerNode uint64
	// unmodelled is whether there are limits that demand does not follow: limits in minutes, and
	// limits of partitions with different QOS. typedGRES are the generic resources, such as
	// "gres/gpu", of which a type is limited.
	unfollowed bool
	typed      []string
}

func newGates(s *slurmclient.Snapshot, of *scale) gates {
	g := gates{
		scale: of, qos: map[string]*slurm.QOS{}, parts: map[string]*slurm.Partition{},
		assocs:  map[assocName]*slurm.Association{},
		budgets: map[budgetName]*budget{}, known: map[payer]*gate{},
	}
	for _, p := range s.Partitions.Value {
		g.parts[p.Name] = p
	}
	if enforced(s) {
		g.addQOS(s.QOS.Value)
		g.addAssociations(s.Associations.Value, s.Server.Cluster)
	}
	free := map[string]uint64{}
	for _, l := range s.Licenses.Value {
		free["license/"+l.Name] = less(l.Total, l.Reserved+l.Deficit)
	}
	of.know(free)
	if len(free) > 0 {
		g.licenses = &budget{left: of.bounds(slurm.Number{}, free)}
	}
	return g
}

func (g *gates) addQOS(list []slurm.QOS) {
	for i := range list {
		q := &list[i]
		g.scale.know(q.GrpTRES, q.MaxTRESPerUser, q.MaxTRESPerAccount, q.MaxTRESPerJob, q.MaxTRESPerNode,
			q.MinTRESPerJob)
		g.qos[q.Name] = q
	}
}

// indexAssociations indexes the associations of the cluster, if any of them has limits.
func (g *gates) addAssociations(list []slurm.Association, cluster string) {
	here := func(a *slurm.Association) bool { return a.Cluster == "" || cluster == "" || a.Cluster == cluster }
	if !slices.ContainsFunc(list, func(a slurm.Association) bool { return here(&a) && limitsAnything(&a) }) {
		return
	}
	for i := range list {
		if a := &list[i]; here(a) {
			g.scale.know(a.GrpTRES, a.MaxTRESPerJob, a.MaxTRESPerNode)
			g.assocs[assocName{a.Account, a.User, a.Partition}] = a
		}
	}
}

func limitsAnything(a *slurm.Association) bool {
	return isSet(a.GrpJobs) || isSet(a.MaxJobs) || isSet(a.MaxWallMinutesPerJob) ||
		len(a.GrpTRES)+len(a.MaxTRESPerJob)+len(a.MaxTRESPerNode) > 0 || a.MinuteLimits
}

func isSet(n slurm.Number) bool { _, set := n.Value(); return set }

// limitsOf returns the limits of the job, nil if it has none.
func (g *gates) of(j *slurm.Job) *gate {
	licensed := j.Licenses != "" && g.licenses != nil
	if len(g.qos) == 0 && len(g.assocs) == 0 && !licensed {
		return nil
	}
	subject := payer{j.Partition, j.Account, j.UserName, j.QOS, licensed}
	if subject == g.last {
		return g.lastGate
	}
	limits, ok := g.known[subject]
	if !ok {
		limits = g.gateOf(subject)
		g.known[subject] = limits
	}
	g.last, g.lastGate = subject, limits
	return limits
}

// tierOf returns the highest tier of the job's partitions, where slurmctld tries first.
func (g *gates) tierOf(j *slurm.Job) (tier uint32) {
	if p := g.parts[j.Partition]; p != nil {
		return p.PriorityTier
	}
	for _, name := range j.Partitions() {
		if p := g.parts[name]; p != nil {
			tier = max(tier, p.PriorityTier)
		}
	}
	return tier
}

// admits reports whether the limits on single jobs allow a job of the cost.
func (g *gate) admits(j *slurm.Job, cost []uint64) bool {
	if limit, set := j.TimeLimit.Value(); set && limit > g.wall {
		return false
	}
	for i, x := range cost {
		if x > g.most[i] || x < g.least[i] || x/cost[costNodes] > g.perNode[i] {
			return false
		}
	}
	return true
}

// isModelled reports whether demand follows all limits of the job. The type of the job's generic
// resources is unknown before it has nodes, unless it requests one.
func (g *gate) followsLimits(j *slurm.Job) bool {
	return !g.unfollowed && !strings.Contains(j.Licenses, "|") &&
		!slices.ContainsFunc(g.typed, func(name string) bool {
			return strings.Contains(j.TRESRequested, name+"=") && !strings.Contains(j.TRESRequested, name+":")
		})
}

// jobLimitsBuilder collects limits in the order of their precedence.
type gateBuilder struct {
	*gates
	*gate
	// positionsSet are, for each kind of limit, the positions that an earlier limit has set.
	taken               [limitKinds][]bool
	mostSet, perNodeSet []bool
}

func (g *gates) gateOf(subject payer) *gate {
	b := gateBuilder{gates: g,
		gate: &gate{wall: math.MaxUint64, least: make([]uint64, g.scale.size())}}
	b.most, b.perNode = g.scale.bounds(slurm.Number{}, nil), g.scale.bounds(slurm.Number{}, nil)
	b.mostSet, b.perNodeSet = make([]bool, g.scale.size()), make([]bool, g.scale.size())
	for i := range b.taken {
		b.taken[i] = make([]bool, g.scale.size())
	}
	all, certain := g.qosOf(subject)
	for _, q := range all {
		b.addQOS(q, subject)
	}
	b.unfollowed = b.unfollowed || !certain
	b.addAssociation(subject)
	if subject.licensed {
		binds := make([]bool, g.scale.size())
		for i := range binds {
			binds[i] = true
		}
		b.draws = append(b.draws, draw{g.licenses, binds, ClassLicense})
	}
	b.cpusPerNode = unlimited
	if at, limited := g.scale.places["cpu"]; limited {
		b.cpusPerNode = b.perNode[at]
	}
	if len(b.draws) == 0 && !slices.Contains(b.mostSet, true) && !slices.Contains(b.perNodeSet, true) &&
		b.wall == math.MaxUint64 && !b.unfollowed && slices.Max(b.least) == 0 {
		return nil
	}
	return b.gate
}

// qosOf returns the QOS that apply to the jobs, in order of precedence. Partitions with different
// QOS apply none of them to a job that can run in any; certain is false then.
func (g *gates) qosOf(subject payer) (out []*slurm.QOS, certain bool) {
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
func (g *gates) qosOfPartition(list string) (of *slurm.QOS, certain bool) {
	if p := g.parts[list]; p != nil {
		return g.qos[p.QOS], true
	}
	var first *slurm.QOS
	for i, name := range (&slurm.Job{Partition: list}).Partitions() {
		var q *slurm.QOS
		if p := g.parts[name]; p != nil {
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

func (b *gateBuilder) addQOS(q *slurm.QOS, subject payer) {
	b.addBudget(limitQOS, budgetName{name: q.Name}, q.MaxJobs, q.GrpTRES)
	b.addBudget(limitQOSUser, budgetName{name: q.Name, user: subject.user}, q.MaxJobsPerUser, q.MaxTRESPerUser)
	b.addBudget(limitQOSAccount, budgetName{name: q.Name, account: subject.account}, q.MaxJobsPerAccount,
		q.MaxTRESPerAccount)
	b.addPerJob(q.MaxTRESPerJob, q.MaxTRESPerNode, q.MaxWallMinutesPerJob)
	for name, least := range q.MinTRESPerJob {
		at := b.gates.scale.places[name]
		b.least[at] = max(b.least[at], least)
	}
	b.unfollowed = b.unfollowed || q.MinuteLimits
}

// addAssociation adds the limits of the association and of its ancestors. A group limit of an
// association does not apply where a QOS sets the limit for all its jobs. The job limit of a user
// does not apply where a QOS limits the jobs of users or accounts.
func (b *gateBuilder) addAssociation(subject payer) {
	a := b.assocs[assocName{subject.account, subject.user, subject.partition}]
	if a == nil {
		a = b.assocs[assocName{account: subject.account, user: subject.user}]
	}
	if a == nil {
		return
	}
	b.taken[limitAssocUser][costJobs] = b.taken[limitQOSUser][costJobs] ||
		b.taken[limitQOSAccount][costJobs]
	b.addBudget(limitAssocUser, budgetName{account: a.Account, user: a.User, partition: a.Partition}, a.MaxJobs, nil)
	b.addPerJob(a.MaxTRESPerJob, a.MaxTRESPerNode, a.MaxWallMinutesPerJob)
	overridden := slices.Clone(b.taken[limitQOS])
	for range maxDepth {
		// Each ancestor counts separately.
		b.taken[limitAssocGroup] = slices.Clone(overridden)
		b.addBudget(limitAssocGroup, budgetName{account: a.Account, user: a.User, partition: a.Partition}, a.GrpJobs,
			a.GrpTRES)
		b.unfollowed = b.unfollowed || a.MinuteLimits
		parent := a.ParentAccount
		if a.User != "" {
			parent = a.Account
		}
		next := b.assocs[assocName{account: parent}]
		if next == nil || next == a {
			return
		}
		a = next
	}
}

// maxAccountDepth bounds the depth of the account tree.
const maxDepth = 64

// addBudget adds a limit that several jobs share, if any value is set.
func (b *gateBuilder) addBudget(kind limitKind, name budgetName, jobs slurm.Number, tres map[string]uint64) {
	if !isSet(jobs) && len(tres) == 0 {
		return
	}
	b.noteTypes(tres)
	limit := b.gates.scale.bounds(jobs, tres)
	name.kind = kind
	have := b.budgets[name]
	if have == nil {
		have = &budget{left: slices.Clone(limit), nodeParts: limit[costNodeParts]}
		b.budgets[name] = have
	}
	binds := make([]bool, len(limit))
	for i := range limit {
		binds[i] = limit[i] != unlimited && !b.taken[kind][i]
		b.taken[kind][i] = b.taken[kind][i] || limit[i] != unlimited
	}
	b.draws = append(b.draws, draw{have, binds, ClassLimit})
}

// addPerJobLimits adds limits on single jobs.
func (b *gateBuilder) addPerJob(tres, perNode map[string]uint64, wall slurm.Number) {
	b.addMost(b.most, b.mostSet, tres)
	b.addMost(b.perNode, b.perNodeSet, perNode)
	if limit, set := wall.Value(); set && b.wall == math.MaxUint64 {
		b.wall = limit
	}
}

// recordTypedGRES records the generic resources of which a type is limited.
func (b *gateBuilder) noteTypes(tres map[string]uint64) {
	for name := range tres {
		if base, _, typed := strings.Cut(name, ":"); typed {
			b.typed = append(b.typed, base)
		}
	}
}

// addMaxima sets the maxima that no earlier limit has set.
func (b *gateBuilder) addMost(to []uint64, set []bool, tres map[string]uint64) {
	b.noteTypes(tres)
	for name, most := range tres {
		if at := b.gates.scale.places[name]; !set[at] {
			set[at], to[at] = true, most
		}
	}
}
