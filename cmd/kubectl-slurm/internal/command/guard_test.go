package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/top"
	view "github.com/slurmtide/slurmtide/metricsapi/view/v1alpha1"
)

func viewJobOf(cluster, user string) view.SlurmJob {
	var j view.SlurmJob
	j.Namespace, j.Spec.Cluster.Name, j.Spec.User, j.Status.State = "slurm", cluster, user, "RUNNING"
	return j
}

// usersTablePanickingOn panics if there is a job of the user.
func usersUnless(name string) func([]view.SlurmJob) printer {
	return func(jobs []view.SlurmJob) printer {
		for _, j := range jobs {
			if j.Spec.User == name {
				panic("unexpected record")
			}
		}
		return top.Users(top.ManyNamespaces, jobs)
	}
}

func TestAClusterWhoseRecordsPanicIsNamedAndTheOthersAreShown(t *testing.T) {
	jobs := []view.SlurmJob{viewJobOf("a", "alice"), viewJobOf("b", "bob"), viewJobOf("a", "carol")}
	table, err := tableOf(jobs, clusterOfJob, usersUnless("bob"))
	if table == nil || table.Len() != 2 {
		t.Fatalf("the table is %v", table)
	}
	text := Report(err)
	if !strings.HasPrefix(text, "error: cluster slurm/b is not shown") ||
		!strings.Contains(text, "unexpected record") || !strings.Contains(text, "_test.go") {
		t.Errorf("it says %s", text)
	}
	if status := Status(err); status != 1 {
		t.Errorf("the exit status is %d", status)
	}
	if _, err := tableOf(jobs, clusterOfJob, usersUnless("nobody")); err != nil {
		t.Error(err)
	}
}

func TestAPanicOfACommandIsAnError(t *testing.T) {
	err := Run(t.Context(), &cobra.Command{Run: func(*cobra.Command, []string) { panic("at last") }})
	if Status(err) != 1 || !strings.Contains(Report(err), "at last") {
		t.Errorf("%d, %s", Status(err), Report(err))
	}
	err = Run(t.Context(), &cobra.Command{SilenceErrors: true, SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error { return errors.New("refused") }})
	if Status(err) != 2 || Report(err) != "error: refused" {
		t.Errorf("%d, %s", Status(err), Report(err))
	}
	if text := Report(&FoundError{Count: 1}); text != "" {
		t.Errorf("the text for findings is %s", text)
	}
}
