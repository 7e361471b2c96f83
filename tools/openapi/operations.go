package main

// operations are the operations that slurmtide calls. {V} stands for the version, and name is the name of
// the generated method. A version may lack some of them.
var operations = []struct{ method, path, name string }{
	{"get", "/slurm/{V}/ping/", "Ping"},
	{"get", "/slurm/{V}/nodes/", "GetNodes"},
	{"get", "/slurm/{V}/node/{node_name}", "GetNode"},
	{"post", "/slurm/{V}/node/{node_name}", "UpdateNode"},
	{"delete", "/slurm/{V}/node/{node_name}", "DeleteNode"},
	{"post", "/slurm/{V}/new/node/", "CreateNode"},
	{"get", "/slurm/{V}/jobs/", "GetJobs"},
	{"get", "/slurm/{V}/jobs/state/", "GetJobsState"},
	{"get", "/slurm/{V}/job/{job_id}", "GetJob"},
	{"post", "/slurm/{V}/job/{job_id}", "UpdateJob"},
	{"delete", "/slurm/{V}/job/{job_id}", "CancelJob"},
	{"get", "/slurm/{V}/job/{job_id}/requeue", "RequeueJob"},
	{"post", "/slurm/{V}/job/submit", "SubmitJob"},
	{"get", "/slurm/{V}/partitions/", "GetPartitions"},
	{"get", "/slurm/{V}/partition/{partition_name}", "GetPartition"},
	{"get", "/slurm/{V}/reservations/", "GetReservations"},
	{"get", "/slurm/{V}/reservation/{reservation_name}", "GetReservation"},
	{"delete", "/slurm/{V}/reservation/{reservation_name}", "DeleteReservation"},
	{"post", "/slurm/{V}/reservation", "CreateReservation"},
	{"get", "/slurm/{V}/licenses/", "GetLicenses"},
	{"get", "/slurm/{V}/diag/", "GetDiag"},
	{"get", "/slurm/{V}/conf", "GetConf"},
	{"get", "/slurm/{V}/shares", "GetShares"},
	{"get", "/slurm/{V}/reconfigure/", "Reconfigure"},
	{"get", "/slurmdb/{V}/ping/", "PingDB"},
	{"get", "/slurmdb/{V}/associations/", "GetAssociations"},
	{"get", "/slurmdb/{V}/accounts/", "GetAccounts"},
	{"get", "/slurmdb/{V}/users/", "GetUsers"},
	{"get", "/slurmdb/{V}/qos/", "GetQOS"},
}

// repeatable are the query parameters that slurmrestd accepts more than once, although its documents say
// that they are strings. It refuses a list with commas.
var repeatable = map[string]bool{"flags": true, "job_id": true}
