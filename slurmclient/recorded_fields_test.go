package slurmclient_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slurmtide/slurmtide/slurmclient"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// formatValue formats a value of a recorded answer like the fields of package slurm: numbers and their
// objects as slurm.Number prints them, lists joined by commas.
func formatValue(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case bool:
		return fmt.Sprint(x)
	case json.Number:
		return x.String()
	case []any:
		var words []string
		for _, e := range x {
			words = append(words, formatValue(e))
		}
		return strings.Join(words, ",")
	case map[string]any:
		switch {
		case x["infinite"] == true:
			return "infinite"
		case x["set"] == false:
			return "unset"
		}
		return formatValue(x["number"])
	}
	return fmt.Sprintf("%T", v)
}

// formatCount formats a number for which package slurm uses 0 if it is unset.
func formatCount(v any) string {
	if s := formatValue(v); s != "unset" && s != "" {
		return s
	}
	return "0"
}

// sortedStates sorts the words of a state.
func sortedStates(words []string) string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" })
	slices.Sort(words)
	return strings.Join(words, ",")
}

// decodeRecords decodes the list of a recorded answer with encoding/json.
func decodeRecords(t *testing.T, body []byte, key string) []map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var out []map[string]any
	for _, r := range doc[key].([]any) {
		out = append(out, r.(map[string]any))
	}
	return out
}

// jobFields returns the fields of a job by slurmrestd's names.
func jobFields(j *slurm.Job) map[string]string {
	n := func(x slurm.Number) string { return x.String() }
	u := func(x uint32) string { return fmt.Sprint(x) }
	at := func(x slurm.Time) string { return fmt.Sprint(int64(x)) }
	return map[string]string{
		"job_id": u(j.ID), "name": j.Name, "user_name": j.UserName(), "user_id": u(j.UserID()), "account": j.Account(),
		"partition": j.Partition,
		"job_state": sortedStates(j.State.Names()), "state_reason": j.Reason, "priority": n(j.Priority),
		"nice":    fmt.Sprint(j.Nice),
		"requeue": fmt.Sprint(j.Requeue()), "restart_cnt": u(j.Restarts), "array_job_id": u(j.ArrayJobID),
		"array_task_id":     n(j.ArrayTaskID),
		"array_task_string": j.ArrayTasks, "array_max_tasks": u(j.ArrayMaxRunning()), "het_job_id": u(j.HetJobID),
		"het_job_offset": u(j.HetOffset),
		"het_job_id_set": j.HetJobIDs(), "submit_time": at(j.SubmitTime), "eligible_time": at(j.EligibleTime),
		"start_time": at(j.StartTime),
		"end_time":   at(j.EndTime), "last_sched_evaluation": at(j.LastSchedEval), "time_limit": n(j.TimeLimit),
		"nodes":      j.Nodes,
		"batch_host": j.BatchHost, "required_nodes": j.RequiredNodes(), "excluded_nodes": j.ExcludedNodes(),
		"features":   j.Features(),
		"node_count": n(j.NodeCount), "cpus": n(j.CPUs), "tasks": n(j.Tasks), "cpus_per_task": n(j.CPUsPerTask()),
		"memory_per_cpu": n(j.MemoryPerCPU), "memory_per_node": n(j.MemoryPerNode),
		"contiguous": fmt.Sprint(j.Contiguous()),
		"shared":     j.Shared(), "tres_req_str": j.TRESRequested, "tres_alloc_str": j.TRESAllocated,
		"tres_per_job":  j.TRESPerJob(),
		"tres_per_node": j.TRESPerNode(), "licenses": j.Licenses(), "dependency": j.Dependency, "resv_name": j.Reservation(),
		"flags": j.Flags(),
		"hold":  fmt.Sprint(j.Hold), "qos": j.QOS(), "group_name": j.GroupName(),
	}
}

// zeroWhenUnset lists the fields that are 0 if they are unset.
var zeroWhenUnset = []string{
	"array_job_id", "array_max_tasks", "het_job_id", "het_job_offset", "submit_time", "eligible_time", "start_time",
	"end_time",
	"last_sched_evaluation", "boot_time", "slurmd_start_time", "last_busy", "reason_changed_at", "resume_after",
	"restart_cnt", "user_id",
}

func nodeFields(n *slurm.Node) map[string]string {
	u := func(x uint32) string { return fmt.Sprint(x) }
	m := func(x uint64) string { return fmt.Sprint(x) }
	at := func(x slurm.Time) string { return fmt.Sprint(int64(x)) }
	return map[string]string{
		"name": n.Name, "address": n.Address, "hostname": n.Hostname, "port": u(n.Port),
		"state":      sortedStates(n.State.Names()),
		"partitions": strings.Join(n.Partitions, ","), "features": strings.Join(n.Features, ","),
		"active_features": strings.Join(n.ActiveFeatures, ","),
		"boards":          u(n.Boards), "sockets": u(n.Sockets), "cores": u(n.CoresPerSocket),
		"threads":        u(n.ThreadsPerCore),
		"cpus":           u(n.CPUs),
		"effective_cpus": u(n.EffectiveCPUs), "alloc_cpus": u(n.AllocCPUs), "alloc_idle_cpus": u(n.IdleCPUs),
		"real_memory":  m(n.MemoryMiB),
		"alloc_memory": m(n.AllocMemoryMiB), "specialized_memory": m(n.SpecializedMemoryMiB),
		"free_mem":       n.FreeMemoryMiB.String(),
		"temporary_disk": m(n.TmpDiskMiB), "weight": u(n.Weight), "gres": n.GRES, "gres_used": n.GRESUsed,
		"tres": n.TRES, "tres_used": n.TRESUsed,
		"reason": n.Reason, "reason_set_by_user": n.ReasonBy, "reason_changed_at": at(n.ReasonAt),
		"boot_time":         at(n.BootTime),
		"slurmd_start_time": at(n.SlurmdStartTime), "last_busy": at(n.LastBusy), "reservation": n.Reservation,
		"owner":   n.Owner,
		"comment": n.Comment, "extra": n.Extra, "architecture": n.Architecture, "operating_system": n.OS,
		"version": n.Version,
	}
}

// sameFields compares the fields of a decoded value with those that the recorded one has.
func sameFields(t *testing.T, what string, got map[string]string, record map[string]any, state string) int {
	t.Helper()
	want, have := map[string]string{}, map[string]string{}
	for name, value := range got {
		v, ok := record[name]
		if !ok {
			continue
		}
		have[name], want[name] = value, formatValue(v)
		if slices.Contains(zeroWhenUnset, name) {
			want[name] = formatCount(v)
		}
		if name == state {
			want[name] = sortedStates(strings.Split(formatValue(v), ","))
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s (-recorded +decoded):\n%s", what, diff)
	}
	return len(have)
}

// TestListsMatchTheRecording compares the decoded lists with encoding/json.
func TestListsMatchTheRecording(t *testing.T) {
	for _, release := range recordedVersions(t) {
		t.Run(release, func(t *testing.T) {
			a := recordedReply(t, release+"/jobs.json")
			jobs, err := newTestClient(t, versionOf(release), alwaysReply(a)).Jobs(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			want := decodeRecords(t, a.body, "jobs")
			if len(want) != len(jobs.Items) || len(want) < 10 {
				t.Fatalf("%d jobs, %d were recorded", len(jobs.Items), len(want))
			}
			for i, j := range jobs.Items {
				if n := sameFields(t, fmt.Sprintf("job %d", j.ID), jobFields(j), want[i], "job_state"); n < 45 {
					t.Errorf("job %d: only %d fields were compared", j.ID, n)
				}
			}
			a = recordedReply(t, release+"/nodes.json")
			nodes, err := newTestClient(t, versionOf(release), alwaysReply(a)).Nodes(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			want = decodeRecords(t, a.body, "nodes")
			if len(want) != len(nodes.Items) || len(want) < 4 {
				t.Fatalf("%d nodes, %d were recorded", len(nodes.Items), len(want))
			}
			for i, n := range nodes.Items {
				if c := sameFields(t, "node "+n.Name, nodeFields(n), want[i], "state"); c < 35 {
					t.Errorf("node %s: only %d fields were compared", n.Name, c)
				}
			}
		})
	}
}

// TestSmallTablesMatchTheRecording reads the other recorded answers.
func TestSmallTablesMatchTheRecording(t *testing.T) {
	for _, release := range recordedVersions(t) {
		t.Run(release, func(t *testing.T) {
			ctx := t.Context()
			client := func(file string) *slurmclient.Client {
				return newTestClient(t, versionOf(release), alwaysReply(recordedAnywhere(t, release, file)))
			}
			for name, n := range map[string]func() (int, error){
				"partitions": func() (int, error) {
					l, err := client("partitions.json").Partitions(ctx, 0)
					return len(
						l.Items), err
				},
				"reservations": func() (int, error) {
					l, err := client("reservations.json").Reservations(ctx, 0)
					return len(l.Items), err
				},
				"licenses": func() (int, error) {
					l, err := client("licenses.json").Licenses(ctx)
					return len(l.Items),
						err
				},
				"shares": func() (int, error) {
					l, err := client("shares.json").Shares(ctx)
					return len(l.Items),
						err
				},
				"accounts": func() (int, error) {
					l, err := client("slurmdb_accounts.json").Accounts(ctx)
					return len(
						l.Items), err
				},
				"associations": func() (int, error) {
					l, err := client("slurmdb_associations.json").Associations(ctx)
					return len(l.Items), err
				},
				"users": func() (int, error) {
					l, err := client("slurmdb_users.json").Users(ctx)
					return len(l.Items),
						err
				},
				"QOS": func() (int, error) {
					l, err := client("slurmdb_qos.json").QOS(ctx)
					return len(l.Items),
						err
				},
				"states": func() (int, error) {
					l, err := client("jobs_state.json").JobStates(ctx)
					return len(l),
						err
				},
			} {
				if got, err := n(); err != nil || got == 0 {
					t.Errorf("%d %s, %v", got, name, err)
				}
			}
			stats, err := client("diag.json").Stats(ctx)
			if err != nil || !stats.At.IsSet() || stats.JobsSubmitted == 0 || len(stats.RPCsByType) == 0 ||
				stats.Main.Cycles == 0 {
				t.Errorf("the statistics are %+v, %v", stats, err)
			}
			conf, err := client("conf.json").Conf(ctx)
			if versionOf(release) < "v0.0.45" {
				wantCode(t, "the configuration", err, slurmclient.CodeUnsupported)
			} else if err != nil || !slices.Equal(conf.PrivateData, []string{"jobs", "nodes"}) || conf.NextJobID != 1 {
				t.Errorf("the configuration is %+v, %v", conf, err)
			}
			pings, err := client("ping.json").Ping(ctx)
			if err != nil || len(pings) != 1 || !pings[0].Responding || !pings[0].Primary {
				t.Errorf("the pings are %+v, %v", pings, err)
			}
			pings, err = client("ping_ctld_down.json").Ping(ctx)
			if err != nil || len(pings) != 1 || pings[0].Responding {
				t.Errorf("the pings of a slurmctld that is down are %+v, %v", pings, err)
			}
		})
	}
}

// TestLimitsMatchTheRecording reads limits that an administrator set, each to a different number.
func TestLimitsMatchTheRecording(t *testing.T) {
	for _, release := range []string{"24.11/v0.0.40", "24.11/v0.0.41", "24.11/v0.0.42", "26.05/v0.0.45"} {
		t.Run(release, func(t *testing.T) {
			client := func(file string) *slurmclient.Client {
				return newTestClient(t, versionOf(release), alwaysReply(recordedReply(t, release+"/"+file)))
			}
			assocs, err := client("slurmdb_associations_limits.json").Associations(t.Context())
			if err != nil || len(assocs.Items) != 2 {
				t.Fatalf("the associations are %+v, %v", assocs.Items, err)
			}
			account := slurm.Association{
				GrpJobs: slurm.Num(11), GrpSubmitJobs: slurm.Num(13),
				GrpTRES: map[string]uint64{"cpu": 16, "gres/gpu": 15},
				MaxJobs: slurm.Num(12), MaxSubmitJobs: slurm.Num(14),
				MaxTRESPerJob:        map[string]uint64{"cpu": 17, "node": 18},
				MaxWallMinutesPerJob: slurm.Num(200), MinuteLimits: true,
			}
			user := account
			user.GrpJobs, user.GrpSubmitJobs, user.GrpTRES, user.MinuteLimits = slurm.Infinite(), slurm.Infinite(), nil,
				false
			for i, want := range []slurm.Association{account, user} {
				if diff := cmp.Diff(limitsOf(want), limitsOf(assocs.Items[i])); diff != "" {
					t.Errorf("association %d: %s", i, diff)
				}
			}
			qos, err := client("slurmdb_qos_limits.json").QOS(t.Context())
			if err != nil || len(qos.Items) != 1 {
				t.Fatalf("the QOS are %+v, %v", qos.Items, err)
			}
			q := qos.Items[0]
			cpus := []uint64{q.GrpTRES["cpu"], q.MaxTRESPerUser["cpu"], q.MaxTRESPerAccount["cpu"],
				q.MaxTRESPerJob["cpu"], q.MinTRESPerJob["cpu"]}
			jobs := []string{q.MaxJobs.String(), q.MaxJobsPerUser.String(), q.MaxJobsPerAccount.String(),
				q.MaxWallMinutesPerJob.String()}
			if !slices.Equal(cpus, []uint64{16, 17, 18, 19, 1}) ||
				!slices.Equal(jobs, []string{"11", "12", "13", "200"}) || !q.MinuteLimits {
				t.Errorf("the QOS is %+v", q)
			}
		})
	}
}

// limitsOf returns the limits of an association as text, since the fields of slurm.Number are private.
func limitsOf(a slurm.Association) map[string]string {
	return map[string]string{
		"GrpJobs": a.GrpJobs.String(), "GrpSubmit": a.GrpSubmitJobs.String(), "GrpTRES": fmt.Sprint(a.GrpTRES),
		"MaxJobs": a.MaxJobs.String(), "MaxSubmit": a.MaxSubmitJobs.String(), "MaxTRES": fmt.Sprint(a.MaxTRESPerJob),
		"MaxWall": a.MaxWallMinutesPerJob.String(), "minutes": fmt.Sprint(a.MinuteLimits),
	}
}

// TestRecordedVariants reads answers of many different clusters: records in which a field has a form
// that occurs in no other recording.
func TestRecordedVariants(t *testing.T) {
	for _, release := range []string{"24.11/v0.0.42", "26.05/v0.0.45"} {
		t.Run(release, func(t *testing.T) {
			a := recordedReply(t, release+"/jobs_menagerie.json")
			jobs, err := newTestClient(t, versionOf(release), alwaysReply(a)).Jobs(t.Context(), 0)
			if err != nil || len(jobs.Items) < 10 {
				t.Fatalf("%d jobs, %v", len(jobs.Items), err)
			}
			for i, r := range decodeRecords(t, a.body, "jobs") {
				j := jobs.Items[i]
				sameFields(t, fmt.Sprintf("job %d", j.ID), jobFields(j), r, "job_state")
				checkResourceTexts(t, fmt.Sprintf("job %d", j.ID), nil, []string{j.TRESRequested, j.TRESAllocated})
			}
			a = recordedReply(t, release+"/nodes_menagerie.json")
			nodes, err := newTestClient(t, versionOf(release), alwaysReply(a)).Nodes(t.Context(), 0)
			if err != nil || len(nodes.Items) < 10 {
				t.Fatalf("%d nodes, %v", len(nodes.Items), err)
			}
			for i, r := range decodeRecords(t, a.body, "nodes") {
				n := nodes.Items[i]
				sameFields(t, "node "+n.Name, nodeFields(n), r, "state")
				checkResourceTexts(t, "node "+n.Name, []string{n.GRES, n.GRESUsed}, []string{n.TRES, n.TRESUsed})
			}
		})
	}
}

// checkResourceTexts checks that all texts of GRES and TRES can be parsed.
func checkResourceTexts(t *testing.T, what string, gres, tres []string) {
	t.Helper()
	for _, text := range gres {
		if _, err := slurm.ParseGRES(text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, text := range tres {
		if _, err := slurm.ParseTRES(text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
