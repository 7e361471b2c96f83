package numbers

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// Commands are the series that the exporter should expose according to Slurm's own commands. A
// family is either absent or has all series that are not 0.
type Commands struct {
	Series
	t       testing.TB
	cluster *realslurm.Cluster
}

// ReadCommands runs Slurm's commands on the cluster and converts their output into series.
func ReadCommands(t testing.TB, cluster *realslurm.Cluster) *Commands {
	t.Helper()
	c := &Commands{Series: Series{}, t: t, cluster: cluster}
	c.addQueue()
	c.addNodeStates()
	c.addNodes()
	c.addPartitions()
	c.addLicenses()
	c.addReservations()
	c.addStatistics()
	if cluster.Accounting() {
		c.addAccounting()
	}
	return c
}

func (c *Commands) run(argv ...string) string {
	c.t.Helper()
	out, err := c.cluster.Run(c.t.Context(), "", argv...)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// rows runs a command and splits the lines of its output at the bars.
func (c *Commands) rows(argv ...string) [][]string {
	c.t.Helper()
	var out [][]string
	for line := range strings.Lines(c.run(argv...)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, strings.Split(line, "|"))
		}
	}
	return out
}

func (c *Commands) add(value float64, name string, labels ...string) {
	c.Series[FormatSeries(name, labels...)] += value
}

// FormatSeries returns a series as the exporter writes it. labels are names and values in turn.
func FormatSeries(name string, labels ...string) string {
	var pairs []string
	for i := 0; i+1 < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	if len(pairs) == 0 {
		return name
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

func (c *Commands) parseNumber(text string) float64 {
	c.t.Helper()
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// queueLine is the line of squeue for one job, array task or component of a heterogeneous job.
type queueLine struct{ partition, state, reason, cpus, user, account, qos, nodes, id, nodeList, name string }

func (c *Commands) readQueue() []queueLine {
	var out []queueLine
	for _, f := range c.rows("squeue", "--local", "-a", "-r", "-h", "-t", "all", "-o", "%P|%T|%r|%C|%u|%a|%q|%D|%A|%N|%j") {
		// squeue prints slurmctld's longer text if there is one; it starts with the reason.
		reason, _, _ := strings.Cut(f[2], ",")
		account, qos := strings.TrimPrefix(f[5], "(null)"), strings.TrimPrefix(f[6], "(null)")
		out = append(out, queueLine{f[0], baseState(f[1]), reason, f[3], f[4], account, qos, f[7], f[8], f[9], f[10]})
	}
	return out
}

// baseState returns the base state where squeue prints a flag in its place.
func baseState(word string) string {
	if word == "CONFIGURING" || word == "SIGNALING" {
		return "running"
	}
	return strings.ToLower(word)
}

func (c *Commands) addQueue() {
	for _, j := range c.readQueue() {
		c.add(1, "slurm_jobs", "state", j.state)
		for partition := range strings.SplitSeq(j.partition, ",") {
			c.add(1, "slurm_partition_jobs", "partition", partition, "state", j.state)
			if j.state == "pending" {
				c.add(1, "slurm_partition_pending_jobs", "partition", partition)
				c.add(1, "by_reason", "partition", partition, "reason", j.reason)
			}
		}
		switch j.state {
		case "pending":
			c.add(1, "slurm_jobs_pending_by_reason", "reason", j.reason)
			if strings.HasPrefix(j.reason, "JobHeld") {
				c.add(1, "slurm_jobs_held")
			}
		case "running", "suspended":
			c.add(c.parseNumber(j.cpus), "slurm_jobs_cpus", "state", j.state)
			c.add(c.parseNumber(j.nodes), "slurm_jobs_nodes", "state", j.state)
		default:
			continue
		}
		if j.state == "running" {
			c.addJob(j)
		}
		c.add(1, "slurm_user_jobs", "user", j.user, "state", j.state)
		c.add(1, "slurm_account_jobs", "account", j.account, "state", j.state)
		c.add(1, "slurm_qos_jobs", "qos", j.qos, "state", j.state)
	}
}

// addJob adds the series of a running job.
func (c *Commands) addJob(j queueLine) {
	c.add(1, "slurm_job_info", "job_id", j.id, "job_name", j.name, "user", j.user, "account", j.account, "qos", j.qos, "partition", j.partition)
	c.add(c.parseNumber(j.cpus), "slurm_job_cpus", "job_id", j.id)
	for node := range strings.FieldsSeq(c.run("scontrol", "show", "hostnames", j.nodeList)) {
		c.add(1, "slurm_job_node_info", "job_id", j.id, "node", node)
	}
}

// stateSigns are the characters that sinfo appends to the name of a state.
const stateSigns = "*~#!%$@^-+"

// unavailableSigns are the characters for nodes that cannot start a job now: they do not respond,
// are powered down or powering up, or reboot.
const unavailableSigns = "*~#!%@^"

func (c *Commands) addNodeStates() {
	reservations := map[string]string{}
	for _, f := range c.showRecords("node") {
		reservations[f["NodeName"]] = f["ReservationName"]
	}
	seen := map[string]bool{}
	for _, f := range c.rows("sinfo", "-a", "-h", "-N", "-o", "%N|%R|%T") {
		word := strings.TrimRight(f[2], stateSigns)
		c.add(1, "slurm_partition_nodes", "partition", f[1], "state", word)
		if (word == "idle" || word == "planned") && !strings.ContainsAny(f[2], unavailableSigns) {
			c.add(1, "slurm_partition_idle_nodes", "partition", f[1])
		}
		if !seen[f[0]] {
			seen[f[0]] = true
			c.add(1, "slurm_nodes", "state", word)
			if r := reservations[f[0]]; r != "" {
				c.add(1, "slurm_reservation_nodes_by_state", "reservation", r, "state", word)
			}
		}
	}
	for _, f := range c.rows("sinfo", "-a", "-h", "-o", "%R|%C") {
		c.addCPUStates(f[1], "slurm_partition_cpus", "partition", f[0])
	}
	for _, f := range c.rows("sinfo", "-a", "-h", "-o", "%C") {
		c.addCPUStates(f[0], "slurm_cpus")
	}
}

// addCPUStates parses sinfo's allocated/idle/other/total.
func (c *Commands) addCPUStates(text, name string, labels ...string) {
	parts := strings.Split(text, "/")
	for i, state := range []string{"allocated", "idle", "other"} {
		c.add(c.parseNumber(parts[i]), name, append(labels, "state", state)...)
	}
}

// parseFields parses the NAME=VALUE words of a line of "scontrol -o show".
func parseFields(line string) map[string]string {
	out := map[string]string{}
	for word := range strings.FieldsSeq(line) {
		if name, value, ok := strings.Cut(word, "="); ok {
			out[name] = value
		}
	}
	return out
}

func (c *Commands) showRecords(what string) []map[string]string {
	var out []map[string]string
	for line := range strings.Lines(c.run("env", "SLURM_TIME_FORMAT=%s", "scontrol", "-a", "-o", "show", what)) {
		if strings.Contains(line, "=") {
			out = append(out, parseFields(line))
		}
	}
	return out
}

// gpuPattern matches the GPUs of one type in a GRES column: gpu:2, gpu:h100:2(S:0-1) and, for
// allocated GPUs without a type, gpu:(null):2(IDX:0-1).
var gpuPattern = regexp.MustCompile(`(?:^|,)gpu:(?:(\(null\)|\w+):)?(\d+)`)

// countGPUs counts the GPUs of a GRES column by type; the type of untyped GPUs is empty.
func (c *Commands) countGPUs(column string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range gpuPattern.FindAllStringSubmatch(column, -1) {
		out[strings.TrimPrefix(m[1], "(null)")] += c.parseNumber(m[2])
	}
	return out
}

func (c *Commands) addNodes() {
	const mebibyte = 1 << 20
	for _, f := range c.showRecords("node") {
		name := f["NodeName"]
		c.add(c.parseNumber(f["CPUTot"]), "slurm_node_cpus", "node", name)
		c.add(c.parseNumber(f["CPUEfctv"]), "slurm_node_cpus_effective", "node", name)
		c.add(c.parseNumber(f["CPUAlloc"]), "slurm_node_cpus_allocated", "node", name)
		c.add(c.parseNumber(f["RealMemory"])*mebibyte, "slurm_node_memory_bytes", "node", name)
		c.add(c.parseNumber(f["AllocMem"])*mebibyte, "slurm_node_memory_allocated_bytes", "node", name)
		c.add(c.parseNumber(f["Weight"]), "slurm_node_weight", "node", name)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(c.run("sinfo", "-a", "-h", "-N", "-O", "NodeList:60,Gres:400,GresUsed:800")) {
		f := strings.Fields(line)
		if len(f) < 3 || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		for kind, n := range c.countGPUs(f[1]) {
			c.add(n, "slurm_node_gpus", "node", f[0], "type", kind)
		}
		for kind, n := range c.countGPUs(f[2]) {
			c.add(n, "slurm_node_gpus_allocated", "node", f[0], "type", kind)
			c.add(n, "slurm_gpus_allocated", "type", kind)
		}
		c.addOtherGRES(f[1], "slurm_node_gres", f[0])
		c.addOtherGRES(f[2], "slurm_node_gres_allocated", f[0])
	}
}

// gresPattern matches one generic resource in a GRES column: its name, its type and its count.
var gresPattern = regexp.MustCompile(`(?:^|,)([a-z]\w*):(?:(\(null\)|[a-zA-Z]\w*):)?(\d+)`)

// addOtherGRES adds the generic resources of a GRES column that are no GPUs.
func (c *Commands) addOtherGRES(column, name, node string) {
	for _, m := range gresPattern.FindAllStringSubmatch(column, -1) {
		if m[1] != "gpu" {
			c.add(c.parseNumber(m[3]), name, "node", node, "gres", m[1], "type", strings.TrimPrefix(m[2], "(null)"))
		}
	}
}

func (c *Commands) addPartitions() {
	for _, f := range c.showRecords("partition") {
		c.add(1, "slurm_partition_state", "partition", f["PartitionName"], "state", strings.ToLower(f["State"]))
		c.add(c.parseNumber(f["PriorityTier"]), "slurm_partition_priority_tier", "partition", f["PartitionName"])
	}
}

func (c *Commands) addLicenses() {
	for _, f := range c.showRecords("licenses") {
		c.add(c.parseNumber(f["Total"]), "slurm_license_capacity", "license", f["LicenseName"], "nodes", f["Nodes"])
		c.add(c.parseNumber(f["Used"]), "slurm_license_used", "license", f["LicenseName"], "nodes", f["Nodes"])
		c.add(c.parseNumber(f["Free"]), "slurm_license_free", "license", f["LicenseName"], "nodes", f["Nodes"])
	}
}

func (c *Commands) addReservations() {
	for _, f := range c.showRecords("reservation") {
		name := f["ReservationName"]
		c.add(c.parseNumber(f["NodeCnt"]), "slurm_reservation_nodes", "reservation", name)
		c.add(c.parseNumber(f["CoreCnt"]), "slurm_reservation_cores", "reservation", name)
		start, end := c.parseNumber(f["StartTime"]), c.parseNumber(f["EndTime"])
		if strings.Contains(f["Flags"], "TIME_FLOAT") {
			start, end = math.NaN(), math.NaN() // they move with the clock
		}
		c.add(start, "slurm_reservation_start_time_seconds", "reservation", name)
		c.add(end, "slurm_reservation_end_time_seconds", "reservation", name)
	}
}

// addStatistics adds the values of sdiag that stay the same while no job is submitted.
func (c *Commands) addStatistics() {
	text := c.run("sdiag")
	for name, metric := range map[string]string{
		"Jobs submitted":       "slurm_controller_jobs_submitted_total",
		"Jobs started":         "slurm_controller_jobs_started_total",
		"Jobs completed":       "slurm_controller_jobs_completed_total",
		"Jobs canceled":        "slurm_controller_jobs_canceled_total",
		"Jobs failed":          "slurm_controller_jobs_failed_total",
		"DBD Agent queue size": "slurm_controller_dbd_queue_length",
		"Agent queue size":     "slurm_controller_agent_queue_length",
	} {
		c.add(c.parseNumber(findSubmatch(c.t, text, `(?m)^`+name+`:\s+(\d+)$`)), metric)
	}
	c.add(c.parseNumber(findSubmatch(c.t, text, `Data since .*\((\d+)\)`)), "slurm_controller_stats_start_time_seconds")
	c.add(c.parseNumber(findSubmatch(c.t, text, `(?m)^\tTotal backfilled jobs \(since last slurm start\): (\d+)$`)),
		"slurm_backfill_jobs_total")
	c.add(c.parseNumber(findSubmatch(c.t, text, `REQUEST_SUBMIT_BATCH_JOB\s*\(\s*\d+\) count:(\d+)`)),
		"slurm_rpc_requests_total", "type", "REQUEST_SUBMIT_BATCH_JOB")
	for _, m := range userCallsPattern.FindAllStringSubmatch(text, -1) {
		calls := c.parseNumber(m[2])
		if m[1] == "root" || m[1] == "slurm" {
			calls = math.NaN() // the comparison itself calls slurmctld, and so does slurmrestd
		}
		c.add(calls, "slurm_rpc_user_requests_total", "user", m[1])
	}
}

// userCallsPattern matches a row of sdiag's calls by user, whose uid is in brackets, unlike the number of a type of call: only
// types are in capital letters.
var userCallsPattern = regexp.MustCompile(`(?m)^\t([a-z][-\w]*)\s*\(\s*\d+\) count:(\d+)`)

func findSubmatch(t testing.TB, text, pattern string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the output of sdiag does not match %s:\n%s", pattern, text)
	}
	return m[1]
}

func (c *Commands) addAccounting() {
	for _, f := range c.rows("sacctmgr", "-nP", "show", "qos", "format=Name,Priority,MaxJobsPU,MaxSubmitPU") {
		c.add(c.parseNumber(f[1]), "slurm_qos_priority", "qos", f[0])
		if f[2] != "" {
			c.add(c.parseNumber(f[2]), "slurm_qos_max_jobs_per_user", "qos", f[0])
		}
	}
	parents := map[string]string{}
	for _, f := range c.rows("sacctmgr", "-nP", "show", "association", "format=Account,User,ParentName") {
		if f[1] == "" {
			parents[f[0]] = f[2]
		}
	}
	for _, f := range c.rows("sshare", "-a", "-hP", "-o", "Account,User,RawShares") {
		account := strings.TrimSpace(f[0])
		if f[1] == "" && f[2] != "" && f[2] != "parent" {
			c.add(c.parseNumber(f[2]), "slurm_fairshare_account_shares", "account", account, "parent", parents[account])
		}
	}
}
