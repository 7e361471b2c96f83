package slurmrestd

import (
	"net/http"
	"strings"
)

// route is one operation. Its path leaves out the version and has {} for a placeholder.
type route struct {
	method, path string
	sinceVersion string
	serve        func(*call)
	// failure describes errors of slurmctld: the text and the source that slurmrestd reports.
	failure problem
}

func apiRoutes() []route {
	const get, post, del = http.MethodGet, http.MethodPost, http.MethodDelete
	nodes := problem{description: "Failure to query nodes", source: "_dump_nodes"}
	jobs := problem{description: "Unable to query jobs", source: "slurm_load_jobs()"}
	parts := problem{description: "Unable to query partitions", source: "slurm_load_partitions()"}
	resvs := problem{description: "Unable to query reservations", source: "slurm_load_reservations()"}
	setResv := problem{description: "Failure to update reservation", source: "_parse_resv_update"}
	return []route{
		{get, "/slurm/ping", "", (*call).ping, problem{}},
		{get, "/slurm/diag", "", (*call).diag,
			problem{description: "slurm_get_statistics() failed to get slurmctld statistics",
				source: "_op_handler_diag"}},
		{get, "/slurm/nodes", "", (*call).listNodes, nodes},
		{get, "/slurm/node/{}", "", (*call).getNode, nodes},
		{post, "/slurm/node/{}", "", (*call).updateNode,
			problem{description: "Failure to update node", source: "_update_node"}},
		{del, "/slurm/node/{}", "", (*call).deleteNode,
			problem{description: "Failure to delete node", source: "_delete_node"}},
		{post, "/slurm/new/node", "v0.0.45", (*call).createNode,
			problem{description: "Failure to create node", source: "op_handler_new_node"}},
		{get, "/slurm/jobs", "", (*call).listJobs, jobs},
		{get, "/slurm/jobs/state", "", (*call).listJobStates, jobs},
		{get, "/slurm/job/{}", "", (*call).getJob, jobs},
		{post, "/slurm/job/submit", "", (*call).submitJob,
			problem{description: "Batch job submission failed", source: "slurm_submit_batch_job()"}},
		{post, "/slurm/job/{}", "", (*call).updateJob,
			problem{description: "Job update failed", source: "slurm_update_job2()"}},
		{del, "/slurm/job/{}", "", (*call).cancelJob,
			problem{description: "Unable to signal job", source: "slurm_kill_job2()"}},
		{get, "/slurm/job/{}/requeue", "v0.0.45", (*call).requeueJob,
			problem{description: "Unable to requeue job", source: "slurm_requeue2()"}},
		{get, "/slurm/partitions", "", (*call).listPartitions, parts},
		{get, "/slurm/partition/{}", "", (*call).getPartition, parts},
		{get, "/slurm/reservations", "", (*call).listReservations, resvs},
		{get, "/slurm/reservation/{}", "", (*call).getReservation, resvs},
		{post, "/slurm/reservation", "v0.0.43", (*call).setOneReservation, setResv},
		{post, "/slurm/reservations", "v0.0.43", (*call).setReservations, setResv},
		{del, "/slurm/reservation/{}", "v0.0.43", (*call).removeReservation,
			problem{description: "Failure to delete reservation", source: "slurm_delete_reservation()"}},
		{get, "/slurm/licenses", "", (*call).listLicenses,
			problem{description: "slurm_load_licenses() was unable to load licenses", source: "_op_handler_licenses"}},
		{get, "/slurm/shares", "", (*call).listShares,
			problem{description: "slurm_associations_get_shares() failed", source: "_dump_shares"}},
		{get, "/slurm/conf", "v0.0.45", (*call).conf,
			problem{description: "slurm_load_ctl_conf() failed", source: "_dump_config"}},
		{get, "/slurm/reconfigure", "", (*call).reconfigure,
			problem{description: "slurm_reconfigure() failed", source: "_op_handler_reconfigure"}},
		{get, "/slurmdb/ping", "v0.0.42", (*call).dbPing, problem{}},
		{get, "/slurmdb/associations", "", (*call).listAssociations, problem{}},
		{get, "/slurmdb/accounts", "", (*call).listAccounts, problem{}},
		{get, "/slurmdb/users", "", (*call).listUsers, problem{}},
		{get, "/slurmdb/qos", "", (*call).listQOS, problem{}},
		{get, "/slurmdb/clusters", "", (*call).listClusters, problem{}},
	}
}

func (r route) isDatabase() bool { return strings.HasPrefix(r.path, "/slurmdb/") }

// versionedPath returns the path with the version and named placeholders, as the OpenAPI documents
// write it.
func (r route) versionedPath(version string) string {
	head, tail, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	parts := strings.Split(tail, "/")
	for i := range parts {
		if parts[i] == "{}" {
			parts[i] = placeholderOf(parts[i-1])
		}
	}
	text := "/" + head + "/" + version + "/" + strings.Join(parts, "/")
	switch r.path {
	case "/slurm/conf", "/slurm/job/submit", "/slurm/shares", "/slurm/reservation":
		return text
	}
	if strings.Contains(r.path, "{}") {
		return text
	}
	return text + "/"
}

func placeholderOf(kind string) string {
	if kind == "job" {
		return "{job_id}"
	}
	return "{" + kind + "_name}"
}
