package wire

import (
	"context"

	api "github.com/slurmtide/slurmtide/slurmclient/api/v0045"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// This file is the template of all bindings: tools/bindings generates the bindings of the other
// versions from it. Lines between "//since vNNNN" and "//end" apply to that version and later ones.
// A line after "//before vNNNN:" applies to earlier versions.

type bindingV0045 struct{ client *api.Client }

func newV0045(server string, http requestDoer) (Binding, error) {
	client, err := api.NewClient(server, api.WithHTTPClient(http))
	return &bindingV0045{client}, err
}

func (b *bindingV0045) Version() string { return "v0.0.45" }

func (b *bindingV0045) since(t slurm.Time) *string {
	//since v0042
	return updateTime(t, "")
	//end
	//before v0042: return updateTime(t, "uts")
}

func (b *bindingV0045) Ping(ctx context.Context) (Response, error) { return b.client.Ping(ctx) }

func (b *bindingV0045) Nodes(ctx context.Context, since slurm.Time) (Response, error) {
	return b.client.GetNodes(ctx, &api.GetNodesParams{UpdateTime: b.since(since), Flags: nodeFlags()})
}

func (b *bindingV0045) Node(ctx context.Context, name string) (Response, error) {
	return b.client.GetNode(ctx, name, &api.GetNodeParams{Flags: nodeFlags()})
}

func (b *bindingV0045) Jobs(ctx context.Context, since slurm.Time) (Response, error) {
	return b.client.GetJobs(ctx, &api.GetJobsParams{UpdateTime: b.since(since)})
}

func (b *bindingV0045) Job(ctx context.Context, id string) (Response, error) {
	return b.client.GetJob(ctx, id, &api.GetJobParams{})
}

func (b *bindingV0045) JobStates(ctx context.Context, ids []string) (Response, error) {
	return b.client.GetJobsState(ctx, &api.GetJobsStateParams{JobID: ids})
}

func (b *bindingV0045) Partitions(ctx context.Context, since slurm.Time) (Response, error) {
	return b.client.GetPartitions(ctx, &api.GetPartitionsParams{UpdateTime: b.since(since)})
}

func (b *bindingV0045) Reservations(ctx context.Context, since slurm.Time) (Response, error) {
	return b.client.GetReservations(ctx, &api.GetReservationsParams{UpdateTime: b.since(since)})
}

func (b *bindingV0045) Licenses(ctx context.Context) (Response, error) {
	return b.client.GetLicenses(ctx)
}

func (b *bindingV0045) Stats(ctx context.Context) (Response, error) { return b.client.GetDiag(ctx) }

func (b *bindingV0045) Conf(ctx context.Context) (Response, error) {
	//since v0045
	return b.client.GetConf(ctx, &api.GetConfParams{})
	//end
	//before v0045: return nil, ErrUnsupported
}

func (b *bindingV0045) Shares(ctx context.Context) (Response, error) {
	return b.client.GetShares(ctx, &api.GetSharesParams{})
}

func (b *bindingV0045) Associations(ctx context.Context) (Response, error) {
	return b.client.GetAssociations(ctx)
}

func (b *bindingV0045) Accounts(ctx context.Context) (Response, error) {
	return b.client.GetAccounts(ctx)
}

func (b *bindingV0045) Users(ctx context.Context) (Response, error) { return b.client.GetUsers(ctx) }

func (b *bindingV0045) QOS(ctx context.Context) (Response, error) { return b.client.GetQOS(ctx) }

func (b *bindingV0045) EndedJobs(ctx context.Context, state string, from, to slurm.Time) (Response, error) {
	return requestEndedJobs(ctx, b.client.Client, b.client.Server, b.Version(), state, b.since(from), b.since(to))
}

func (b *bindingV0045) UpdateNode(ctx context.Context, name string, u NodeUpdate) (Response, error) {
	body := api.UpdateNodeMsg{Reason: u.Reason, Comment: u.Comment, Features: u.Features, GRES: u.GRES}
	if u.State != nil {
		body.State = []string{*u.State}
	}
	if u.Weight != nil {
		body.Weight = noValOf[api.Uint32NoVal](slurm.Num(uint64(*u.Weight)))
	}
	//since v0043
	body.TopologyStr = u.Topology
	//end
	//before v0043: if u.Topology != nil {
	//before v0043: 	return nil, ErrUnsupported
	//before v0043: }
	return b.client.UpdateNode(ctx, name, body)
}

func (b *bindingV0045) CreateNode(ctx context.Context, conf string) (Response, error) {
	//since v0044
	return b.client.CreateNode(ctx, api.OpenapiCreateNodeReq{NodeConf: &conf})
	//end
	//before v0044: return nil, ErrUnsupported
}

func (b *bindingV0045) DeleteNode(ctx context.Context, name string) (Response, error) {
	return b.client.DeleteNode(ctx, name)
}

func (b *bindingV0045) SubmitJob(ctx context.Context, j slurm.JobRequest) (Response, error) {
	return b.client.SubmitJob(ctx, api.JobSubmitReq{Script: &j.Script, Job: &api.JobDescMsg{
		Name: optional(j.Name), Partition: optional(j.Partition), Account: optional(j.Account), QOS: optional(j.QOS),
		Environment:             environmentOrDefault(j.Environment),
		CurrentWorkingDirectory: workingDirectoryOrDefault(j.WorkingDirectory), Array: optional(j.Array),
		MinimumNodes: optionalInt(j.Nodes), Tasks: optionalInt(j.Tasks), CpusPerTask: optionalInt(j.CPUsPerTask),
		MemoryPerNode: noValOf[api.Uint64NoVal](j.MemoryPerNode),
		MemoryPerCPU:  noValOf[api.Uint64NoVal](j.MemoryPerCPU),
		TimeLimit:     noValOf[api.Uint32NoVal](j.TimeLimit), Constraints: optional(j.Constraints),
		TRESPerNode: optional(j.TRESPerNode), TRESPerJob: optional(j.TRESPerJob),
		RequiredNodes: splitList(j.RequiredNodes),
		Dependency:    optional(j.Dependency), Licenses: optional(j.Licenses),
		BeginTime: noValOfTime[api.Uint64NoVal](j.BeginTime), Hold: optional(j.Hold),
		Shared: exclusiveFlags(j.Exclusive), Comment: optional(j.Comment), Reservation: optional(j.Reservation),
	}})
}

func (b *bindingV0045) CancelJob(ctx context.Context, id string) (Response, error) {
	return b.client.CancelJob(ctx, id, &api.CancelJobParams{})
}

func (b *bindingV0045) UpdateJob(ctx context.Context, id string, u JobUpdate) (Response, error) {
	body := api.JobDescMsg{Hold: u.Hold, Comment: u.Comment}
	if u.Nice != nil {
		nice := int64(*u.Nice)
		body.Nice = &nice
	}
	if u.Priority != nil {
		body.Priority = noValOf[api.Uint32NoVal](slurm.Num(uint64(*u.Priority)))
	}
	return b.client.UpdateJob(ctx, id, body)
}

func (b *bindingV0045) SetReservation(ctx context.Context, r slurm.ReservationRequest) (Response, error) {
	//since v0043
	return b.client.CreateReservation(ctx, api.ReservationDescMsg{
		Name: &r.Name, StartTime: noValOfTime[api.Uint64NoVal](r.StartTime),
		EndTime:  noValOfTime[api.Uint64NoVal](r.EndTime),
		Duration: noValOf[api.Uint32NoVal](r.Duration), NodeList: r.Nodes,
		NodeCount: noValOf[api.Uint32NoVal](r.NodeCount),
		Users:     r.Users, Accounts: r.Accounts, Partition: optional(r.Partition), Licenses: splitList(r.Licenses),
		Flags: r.Flags, Comment: optional(r.Comment),
	})
	//end
	//before v0043: return nil, ErrUnsupported
}

func (b *bindingV0045) DeleteReservation(ctx context.Context, name string) (Response, error) {
	//since v0042
	return b.client.DeleteReservation(ctx, name)
	//end
	//before v0042: return nil, ErrUnsupported
}

func (b *bindingV0045) Reconfigure(ctx context.Context) (Response, error) {
	return b.client.Reconfigure(ctx)
}

func (b *bindingV0045) DecodePings(body []byte) ([]slurm.Ping, error) {
	v, err := decodeAnswer[api.OpenapiPingArrayResp](body)
	if err != nil {
		return nil, err
	}
	var out []slurm.Ping
	for _, p := range v.Pings {
		ping := slurm.Ping{Hostname: or(p.Hostname), LatencyMicros: count(p.Latency)}
		//since v0045
		ping.Status = or(p.Status)
		//end
		//before v0045: ping.Status = or(p.Pinged)
		//since v0042
		ping.Responding, ping.Primary = or(p.Responding), or(p.Primary)
		//end
		//before v0042: ping.Responding, ping.Primary = ping.Status == "UP", or(p.Mode) == "primary"
		out = append(out, ping)
	}
	return out, nil
}

func (b *bindingV0045) DecodeEndedJobs(body []byte) ([]slurm.EndedJob, error) {
	return decodeEndedJobs(body)
}

func (b *bindingV0045) DecodeJobStates(body []byte) ([]slurm.JobStatus, error) {
	return decodeJobStates(body)
}

func (b *bindingV0045) DecodePartitions(body []byte) ([]*slurm.Partition, error) {
	v, err := decodeAnswer[api.OpenapiPartitionResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]*slurm.Partition, 0, len(v.Partitions))
	for i := range v.Partitions {
		out = append(out, partitionV0045(&v.Partitions[i]))
	}
	return out, nil
}

func partitionV0045(p *api.PartitionInfo) *slurm.Partition {
	nodes, most, defaults := or(p.Nodes), or(p.Maximums), or(p.Defaults)
	accounts, qos, prio, times := or(p.Accounts), or(p.QOS), or(p.Priority), or(p.Timeouts)
	return &slurm.Partition{
		Name: or(p.Name), State: partitionState(or(p.Partition).State),
		//since v0045
		Default: hasWord(p.Flags, "DEFAULT"), PreemptMode: p.PreemptMode,
		OversubscribeJobs: oversubscribeJobs(or(or(p.Partition).Oversubscribe)),
		//end
		//before v0045: OversubscribeJobs: uint32Of(or(most.Oversubscribe).Jobs),
		Nodes: or(nodes.Configured), NodeSets: or(p.NodeSets), AllowAllocNodes: or(nodes.AllowedAllocation),
		TotalNodes: uint32Of(nodes.Total), TotalCPUs: uint32Of(or(p.Cpus).Total), TRES: or(or(p.TRES).Configured),
		MinNodes: uint32Of(or(p.Minimums).Nodes), MaxNodes: numberOf(most.Nodes),
		MaxCPUsPerNode:       numberOf(most.CpusPerNode),
		MaxMemoryPerNode:     numberOf(most.PartitionMemoryPerNode),
		MaxMemoryPerCPU:      numberOf(most.PartitionMemoryPerCPU),
		DefaultMemoryPerNode: numberOf(defaults.PartitionMemoryPerNode),
		DefaultMemoryPerCPU:  numberOf(defaults.PartitionMemoryPerCPU),
		MaxTime:              numberOf(most.Time), DefaultTime: numberOf(defaults.Time),
		OverTimeLimit: numberOf(most.OverTimeLimit), GraceTime: uint32Of(p.GraceTime),
		PriorityTier: uint32Of(prio.Tier), JobFactor: uint32Of(prio.JobFactor),
		AllowAccounts: or(accounts.Allowed), DenyAccounts: or(accounts.Deny), AllowGroups: or(or(p.Groups).Allowed),
		AllowQOS: or(qos.Allowed), DenyQOS: or(qos.Deny), QOS: or(qos.Assigned),
		Alternate: or(p.Alternate), JobDefaults: or(defaults.Job),
		SuspendTimeout: numberOf(times.Suspend), ResumeTimeout: numberOf(times.Resume),
	}
}

func (b *bindingV0045) DecodeReservations(body []byte) ([]*slurm.Reservation, error) {
	v, err := decodeAnswer[api.OpenapiReservationResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]*slurm.Reservation, 0, len(v.Reservations))
	for _, r := range v.Reservations {
		out = append(out, &slurm.Reservation{
			Name: or(r.Name), StartTime: timeOf(r.StartTime), EndTime: timeOf(r.EndTime), Nodes: or(r.NodeList),
			NodeCount: uint32Of(r.NodeCount), CoreCount: uint32Of(r.CoreCount), Partition: or(r.Partition),
			Users: or(r.Users), Accounts: or(r.Accounts), Groups: or(r.Groups), Features: or(r.Features),
			Licenses: or(r.Licenses), TRES: or(r.TRES), Flags: r.Flags,
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeLicenses(body []byte) ([]slurm.License, error) {
	v, err := decodeAnswer[api.OpenapiLicensesResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]slurm.License, 0, len(v.Licenses))
	for _, l := range v.Licenses {
		license := slurm.License{Name: or(l.LicenseName), Total: count(l.Total), Used: count(l.Used),
			Free: count(l.Free), Reserved: count(l.Reserved), Deficit: count(l.LastDeficit), Remote: or(l.Remote)}
		//since v0044
		license.Nodes = or(l.Nodes)
		//end
		out = append(out, license)
	}
	return out, nil
}

func (b *bindingV0045) DecodeStats(body []byte) (*slurm.Stats, error) {
	v, err := decodeAnswer[api.OpenapiDiagResp](body)
	if err != nil {
		return nil, err
	}
	m := or(v.Statistics)
	s := &slurm.Stats{
		At: timeOf(m.ReqTime), Since: timeOf(m.ReqTimeStart),
		ServerThreads: count(m.ServerThreadCount), AgentQueue: count(m.AgentQueueSize), Agents: count(m.AgentCount),
		AgentThreads: count(m.AgentThreadCount), DBDAgentQueue: count(m.DbdAgentQueueSize),
		ClockLatencyMicros: count(m.GettimeofdayLatency),
		JobsSubmitted:      count(m.JobsSubmitted), JobsStarted: count(m.JobsStarted),
		JobsCompleted: count(m.JobsCompleted),
		JobsCanceled:  count(m.JobsCanceled), JobsFailed: count(m.JobsFailed), JobsPending: count(m.JobsPending),
		JobsRunning: count(m.JobsRunning), JobStatesAt: timeOf(m.JobStatesTS),
		Main: mainSchedulerV0045(&m), Backfill: backfillV0045(&m),
	}
	for _, r := range m.RpcsByMessageType {
		s.RPCsByType = append(s.RPCsByType, slurm.RPC{Name: or(r.MessageType), ID: uint32Of(r.TypeID),
			//since v0041
			Queued: plainNumber(r.Queued), Dropped: plainNumber(r.Dropped),
			//end
			Count: count(r.Count), TotalMicros: count(r.TotalTime)})
	}
	for _, r := range m.RpcsByUser {
		s.RPCsByUser = append(s.RPCsByUser, slurm.RPC{Name: or(r.User), ID: uint32Of(r.UserID),
			Count: count(r.Count), TotalMicros: count(r.TotalTime)})
	}
	//since v0041
	for _, r := range m.PendingRpcs {
		s.PendingRPCs = append(s.PendingRPCs, slurm.RPC{
			Name: or(r.MessageType), ID: uint32Of(r.TypeID), Count: count(r.Count),
		})
	}
	//end
	return s, nil
}

func (b *bindingV0045) DecodeConf(body []byte) (*slurm.Conf, error) {
	//since v0045
	v, err := decodeAnswer[api.OpenapiConfResp](body)
	if err != nil {
		return nil, err
	}
	conf := or(v.SlurmConf)
	return confOf(slurm.Conf{PrivateData: conf.PrivateData, AccountingEnforce: conf.AccountingStorageEnforce,
		SelectTypeParameters: conf.SelectTypeParameters, NextJobID: uint32(min(numberOf(or(v.SlurmConfMeta).NEXTJOBID).Or(0), 1<<32-1))})
	//end
	//before v0045: return nil, ErrUnsupported
}

func mainSchedulerV0045(m *api.StatsMsg) slurm.MainScheduler {
	x := or(m.ScheduleExit)
	return slurm.MainScheduler{
		CycleMaxMicros: count(m.ScheduleCycleMax), CycleLastMicros: count(m.ScheduleCycleLast),
		//since v0041
		CycleSumMicros: slurm.Num(count(m.ScheduleCycleSum)), Depth: slurm.Num(count(m.ScheduleCycleDepth)),
		//end
		CycleMeanMicros: count(m.ScheduleCycleMean), Cycles: count(m.ScheduleCycleTotal),
		MeanDepth: count(m.ScheduleCycleMeanDepth), CyclesPerMinute: count(m.ScheduleCyclePerMinute),
		QueueLength: count(m.ScheduleQueueLength),
		Exit: exitCounts("end_job_queue", x.EndJobQueue, "default_queue_depth", x.DefaultQueueDepth,
			"max_job_start", x.MaxJobStart, "max_rpc_cnt", x.MaxRPCCnt, "max_sched_time", x.MaxSchedTime,
			"licenses", x.Licenses),
	}
}

func backfillV0045(m *api.StatsMsg) slurm.Backfill {
	x := or(m.BfExit)
	return slurm.Backfill{
		BackfilledJobs: count(m.BfBackfilledJobs), LastBackfilledJobs: count(m.BfLastBackfilledJobs),
		BackfilledHetJobs: count(m.BfBackfilledHetJobs), Cycles: count(m.BfCycleCounter),
		CycleMeanMicros: count(m.BfCycleMean), CycleSumMicros: count(m.BfCycleSum),
		CycleLastMicros: count(m.BfCycleLast),
		//since v0041
		CycleMaxMicros: slurm.Num(count(m.BfCycleMax)), TableSizeSum: slurm.Num(count(m.BfTableSizeSum)),
		//end
		LastDepth: count(m.BfLastDepth), LastDepthTry: count(m.BfLastDepthTry), DepthSum: count(m.BfDepthSum),
		DepthTrySum: count(m.BfDepthTrySum), DepthMean: count(m.BfDepthMean), DepthTryMean: count(m.BfDepthMeanTry),
		QueueLength: count(m.BfQueueLen), QueueLengthMean: count(m.BfQueueLenMean),
		QueueLengthSum: count(m.BfQueueLenSum),
		TableSize:      count(m.BfTableSize), TableSizeMean: count(m.BfTableSizeMean),
		LastCycleAt: timeOf(m.BfWhenLastCycle), Active: or(m.BfActive),
		Exit: exitCounts("end_job_queue", x.EndJobQueue, "bf_max_job_start", x.BfMaxJobStart,
			"bf_max_job_test", x.BfMaxJobTest, "bf_max_time", x.BfMaxTime,
			"bf_node_space_size", x.BfNodeSpaceSize, "state_changed", x.StateChanged),
	}
}

func (b *bindingV0045) DecodeShares(body []byte) ([]slurm.Share, error) {
	//before v0042: body = withoutInfinity(body)
	v, err := decodeAnswer[api.OpenapiSharesResp](body)
	if err != nil {
		return nil, err
	}
	rows := or(v.Shares).Shares
	out := make([]slurm.Share, 0, len(rows))
	for _, s := range rows {
		fair := or(s.Fairshare)
		out = append(out, slurm.Share{
			Name: or(s.Name), Parent: or(s.Parent), Partition: or(s.Partition), User: hasWord(s.Type, "USER"),
			Shares: numberOf(s.Shares), SharesNormalized: floatOf(s.SharesNormalized),
			UsageNormalized: floatOf(s.UsageNormalized), Usage: count(s.Usage),
			//since v0042
			EffectiveUsage: floatOf(s.EffectiveUsage), Factor: floatOf(fair.Factor), Level: floatOf(fair.Level),
			//end
			//before v0042: EffectiveUsage: plainFloat(s.EffectiveUsage),
			//before v0042: Factor: plainFloat(fair.Factor), Level: plainFloat(fair.Level),
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeAssociations(body []byte) ([]slurm.Association, error) {
	v, err := decodeAnswer[api.OpenapiAssocsResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]slurm.Association, 0, len(v.Associations))
	for _, a := range v.Associations {
		jobs, tres := or(or(a.Max).Jobs), or(or(a.Max).TRES)
		per, group := or(jobs.Per), or(tres.Group)
		out = append(out, slurm.Association{
			//since v0041
			ID: uint32Of(a.ID),
			//end
			//before v0041: ID: uint32Of(or(a.ID).ID),
			Account: or(a.Account), User: or(a.User), Partition: or(a.Partition), Cluster: or(a.Cluster),
			ParentAccount: or(a.ParentAccount), SharesRaw: or(a.SharesRaw), Default: or(a.IsDefault), QOS: a.QOS,
			GrpJobs: numberOf(per.Count), GrpSubmitJobs: numberOf(per.Submitted), GrpTRES: tresMap(tres.Total),
			MaxJobs: numberOf(jobs.Active), MaxSubmitJobs: numberOf(jobs.Total),
			MaxTRESPerJob: tresMap(or(tres.Per).Job), MaxTRESPerNode: tresMap(or(tres.Per).Node),
			MaxWallMinutesPerJob: numberOf(per.WallClock),
			MinuteLimits: isSet(or(or(or(a.Max).Per).Account).WallClock) ||
				len(group.Minutes)+len(group.Active) > 0,
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeAccounts(body []byte) ([]slurm.Account, error) {
	v, err := decodeAnswer[api.OpenapiAccountsResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]slurm.Account, 0, len(v.Accounts))
	for _, a := range v.Accounts {
		out = append(out, slurm.Account{
			Name: or(a.Name), Description: or(a.Description), Organization: or(a.Organization),
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeUsers(body []byte) ([]slurm.User, error) {
	v, err := decodeAnswer[api.OpenapiUsersResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]slurm.User, 0, len(v.Users))
	for _, u := range v.Users {
		out = append(out, slurm.User{
			Name: or(u.Name), AdminLevel: u.AdministratorLevel, DefaultAccount: or(or(u.Default).Account),
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeQOS(body []byte) ([]slurm.QOS, error) {
	v, err := decodeAnswer[api.OpenapiSlurmdbdQOSResp](body)
	if err != nil {
		return nil, err
	}
	out := make([]slurm.QOS, 0, len(v.QOS))
	for _, q := range v.QOS {
		most := or(or(q.Limits).Max)
		jobs, tres := or(most.Jobs), or(most.TRES)
		running, submitted, per := or(or(jobs.ActiveJobs).Per), or(jobs.Per), or(tres.Per)
		minutes, wall := or(or(tres.Minutes).Per), or(or(most.WallClock).Per)
		out = append(out, slurm.QOS{
			ID: int32(or(q.ID)), Name: or(q.Name), Description: or(q.Description),
			Priority: numberOf(q.Priority), Flags: q.Flags, MaxJobs: numberOf(or(most.ActiveJobs).Count),
			MaxJobsPerUser: numberOf(running.User), MaxJobsPerAccount: numberOf(running.Account),
			//since v0042
			MaxSubmitJobs: numberOf(jobs.Count),
			//end
			MaxSubmitPerUser: numberOf(submitted.User), GrpTRES: tresMap(tres.Total), MaxTRESPerUser: tresMap(per.User),
			MaxTRESPerAccount: tresMap(per.Account), MaxTRESPerJob: tresMap(per.Job),
			MaxTRESPerNode: tresMap(per.Node), UsageFactor: floatOf(q.UsageFactor),
			MinTRESPerJob:        tresMap(or(or(or(or(q.Limits).Min).TRES).Per).Job),
			MaxWallMinutesPerJob: numberOf(wall.Job),
			MinuteLimits:         isSet(wall.QOS) || len(minutes.QOS)+len(minutes.User)+len(minutes.Account) > 0,
		})
	}
	return out, nil
}

func (b *bindingV0045) DecodeSubmitted(body []byte) (uint32, error) {
	v, err := decodeAnswer[api.OpenapiJobSubmitResponse](body)
	if err != nil {
		return 0, err
	}
	return uint32Of(v.JobID), nil
}
