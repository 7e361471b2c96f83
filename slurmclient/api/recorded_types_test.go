package api_test

import (
	"github.com/slurmtide/slurmtide/slurmclient/api/v0040"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0041"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0042"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0043"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0044"
	"github.com/slurmtide/slurmtide/slurmclient/api/v0045"
)

// recording is a folder of recorded answers and the types they decode into.
type recording struct {
	folder string
	types  map[string]func() any // by the name of the file, up to the first part that distinguishes cases
}

func recordedFolders() []recording {
	t40 := typesByFile[v0040.OpenapiPingArrayResp, v0040.OpenapiNodesResp, v0040.OpenapiJobInfoResp,
		v0040.OpenapiGetJobsStateResp,
		v0040.OpenapiPartitionResp, v0040.OpenapiReservationResp, v0040.OpenapiLicensesResp,
		v0040.OpenapiDiagResp, v0040.OpenapiSharesResp, v0040.OpenapiAssocsResp, v0040.OpenapiAccountsResp,
		v0040.OpenapiUsersResp, v0040.OpenapiSlurmdbdQOSResp, v0040.OpenapiJobSubmitResponse]()
	t41 := typesByFile[v0041.OpenapiPingArrayResp, v0041.OpenapiNodesResp, v0041.OpenapiJobInfoResp,
		v0041.OpenapiGetJobsStateResp,
		v0041.OpenapiPartitionResp, v0041.OpenapiReservationResp, v0041.OpenapiLicensesResp,
		v0041.OpenapiDiagResp, v0041.OpenapiSharesResp, v0041.OpenapiAssocsResp, v0041.OpenapiAccountsResp,
		v0041.OpenapiUsersResp, v0041.OpenapiSlurmdbdQOSResp, v0041.OpenapiJobSubmitResponse]()
	t42 := typesByFile[v0042.OpenapiPingArrayResp, v0042.OpenapiNodesResp, v0042.OpenapiJobInfoResp,
		v0042.OpenapiGetJobsStateResp,
		v0042.OpenapiPartitionResp, v0042.OpenapiReservationResp, v0042.OpenapiLicensesResp,
		v0042.OpenapiDiagResp, v0042.OpenapiSharesResp, v0042.OpenapiAssocsResp, v0042.OpenapiAccountsResp,
		v0042.OpenapiUsersResp, v0042.OpenapiSlurmdbdQOSResp, v0042.OpenapiJobSubmitResponse]()
	t43 := typesByFile[v0043.OpenapiPingArrayResp, v0043.OpenapiNodesResp, v0043.OpenapiJobInfoResp,
		v0043.OpenapiGetJobsStateResp,
		v0043.OpenapiPartitionResp, v0043.OpenapiReservationResp, v0043.OpenapiLicensesResp,
		v0043.OpenapiDiagResp, v0043.OpenapiSharesResp, v0043.OpenapiAssocsResp, v0043.OpenapiAccountsResp,
		v0043.OpenapiUsersResp, v0043.OpenapiSlurmdbdQOSResp, v0043.OpenapiJobSubmitResponse]()
	t44 := typesByFile[v0044.OpenapiPingArrayResp, v0044.OpenapiNodesResp, v0044.OpenapiJobInfoResp,
		v0044.OpenapiGetJobsStateResp,
		v0044.OpenapiPartitionResp, v0044.OpenapiReservationResp, v0044.OpenapiLicensesResp,
		v0044.OpenapiDiagResp, v0044.OpenapiSharesResp, v0044.OpenapiAssocsResp, v0044.OpenapiAccountsResp,
		v0044.OpenapiUsersResp, v0044.OpenapiSlurmdbdQOSResp, v0044.OpenapiJobSubmitResponse]()
	t45 := typesByFile[v0045.OpenapiPingArrayResp, v0045.OpenapiNodesResp, v0045.OpenapiJobInfoResp,
		v0045.OpenapiGetJobsStateResp,
		v0045.OpenapiPartitionResp, v0045.OpenapiReservationResp, v0045.OpenapiLicensesResp,
		v0045.OpenapiDiagResp, v0045.OpenapiSharesResp, v0045.OpenapiAssocsResp, v0045.OpenapiAccountsResp,
		v0045.OpenapiUsersResp, v0045.OpenapiSlurmdbdQOSResp, v0045.OpenapiJobSubmitResponse]()
	// From v0.0.42 on, the answers to cancelling and to slurmdbd's ping have types of their own.
	t42["job_delete"], t42["slurmdb_ping"] = newZero[v0042.OpenapiKillJobResp], newZero[v0042.OpenapiSlurmdbdPingResp]
	t43["job_delete"], t43["slurmdb_ping"] = newZero[v0043.OpenapiKillJobResp], newZero[v0043.OpenapiSlurmdbdPingResp]
	t44["job_delete"], t44["slurmdb_ping"] = newZero[v0044.OpenapiKillJobResp], newZero[v0044.OpenapiSlurmdbdPingResp]
	t45["job_delete"], t45["slurmdb_ping"] = newZero[v0045.OpenapiKillJobResp], newZero[v0045.OpenapiSlurmdbdPingResp]
	t45["conf"] = newZero[v0045.OpenapiConfResp]
	return []recording{
		{"24.11/v0.0.40", t40}, {"24.11/v0.0.41", t41}, {"24.11/v0.0.42", t42},
		{"26.05/v0.0.42", t42}, {"26.05/v0.0.43", t43}, {"26.05/v0.0.44", t44}, {"26.05/v0.0.45", t45},
	}
}

func newZero[T any]() any { return new(T) }

// typesByFile maps the names of files, without the part that distinguishes cases, to the types of one
// version.
func typesByFile[Pings, Nodes, Jobs, States, Partitions, Reservations, Licenses, Diag, Shares,
	Associations, Accounts, Users, QOS, Submitted any]() map[string]func() any {
	return map[string]func() any{
		"ping": newZero[Pings], "nodes": newZero[Nodes], "node": newZero[Nodes],
		"jobs": newZero[Jobs], "job": newZero[Jobs], "jobs_states": newZero[Jobs], "jobs_state": newZero[States],
		"partitions": newZero[Partitions], "partition": newZero[Partitions],
		"reservations": newZero[Reservations], "reservation": newZero[Reservations],
		"licenses": newZero[Licenses], "diag": newZero[Diag], "shares": newZero[Shares],
		"slurmdb_associations": newZero[Associations], "slurmdb_accounts": newZero[Accounts],
		"slurmdb_users": newZero[Users], "slurmdb_qos": newZero[QOS], "job_submit": newZero[Submitted],
	}
}
