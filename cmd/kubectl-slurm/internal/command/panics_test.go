package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

func newViewJob(cluster, user string) view.SlurmJob {
	var j view.SlurmJob
	j.Namespace, j.Spec.Cluster.Name, j.Spec.User, j.Status.State = "slurm", cluster, user, "RUNNING"
	return j
}

// usersTablePanickingOn panics if there is a job of the user.
func usersTablePanickingOn(name string) func([]view.SlurmJob) rowTable {
	return func(jobs []view.SlurmJob) rowTable {
		for _, j := range jobs {
			if j.Spec.User == name {
				panic("unexpected record")
			}
		}
		return top.Users(top.ManyNamespaces, jobs)
	}
}

func TestAClusterWhoseRecordsPanicIsNamedAndTheOthersAreShown(t *testing.T) {
	jobs := []view.SlurmJob{newViewJob("a", "alice"), newViewJob("b", "bob"), newViewJob("a", "carol")}
	table, err := makeTable(jobs, clusterOfJob, usersTablePanickingOn("bob"))
	if table == nil || table.Len() != 2 {
		t.Fatalf("the table is %v", table)
	}
	text := ErrorText(err)
	if !strings.HasPrefix(text, "error: cluster slurm/b is not shown") ||
		!strings.Contains(text, "unexpected record") || !strings.Contains(text, "_test.go") {
		t.Errorf("it says %s", text)
	}
	if status := ExitStatus(err); status != 1 {
		t.Errorf("the exit status is %d", status)
	}
	if _, err := makeTable(jobs, clusterOfJob, usersTablePanickingOn("nobody")); err != nil {
		t.Error(err)
	}
}

func TestAPanicOfACommandIsAnError(t *testing.T) {
	err := Run(t.Context(), &cobra.Command{Run: func(*cobra.Command, []string) { panic("at last") }})
	if ExitStatus(err) != 1 || !strings.Contains(ErrorText(err), "at last") {
		t.Errorf("%d, %s", ExitStatus(err), ErrorText(err))
	}
	err = Run(t.Context(), &cobra.Command{SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return errors.New("refused") }})
	if ExitStatus(err) != 2 || ErrorText(err) != "error: refused" {
		t.Errorf("%d, %s", ExitStatus(err), ErrorText(err))
	}
	if text := ErrorText(&FindingsError{Count: 1}); text != "" {
		t.Errorf("the text for findings is %s", text)
	}
}
