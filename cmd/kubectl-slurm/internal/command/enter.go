package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/enter"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/metricsapi/view/convert"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/slurmclient/slurm"
)

// logsCommand returns the command "logs".
func (s *session) logsCommand() *cobra.Command {
	p, o := &recordPlace{}, enter.Output{}
	cmd := &cobra.Command{
		Use:        "logs JOB",
		SuggestFor: []string{"log", "tail", "output", "cat"},
		Short:      "Shows the output of a job",
		Long: `Shows the file to which a job writes its output, or its errors with --stderr. The
command reads it in the worker pod of the node that runs or ran the job's script, or
in a login pod, with the rights of the job's user. slurmctld forgets the file some
minutes after the end of the job (MinJobAge). The command needs the view and the
right to create pods/exec.`,
		Example:           "  kubectl slurm logs 1234\n  kubectl slurm logs 77_3 --follow --tail=20",
		Args:              oneArgument("the job ID, such as 7, 7_3 or 8+1"),
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.enterJob(cmd.Context(), p, args[0], observe.Exec{}, func(j *slurm.Job, cluster string, pods []corev1.Pod) (enter.Target, error) {
				return enter.Logs(j, cluster, pods, o)
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "Show what the job adds, until interrupted")
	cmd.Flags().IntVar(&o.Lines, "tail", -1, "Number of last lines to show. Default: all")
	cmd.Flags().BoolVar(&o.Stderr, "stderr", false, "Show the file of errors")
	return cmd
}

// shellCommand returns the command "shell".
func (s *session) shellCommand() *cobra.Command {
	p := &recordPlace{}
	var node string
	cmd := &cobra.Command{
		Use:        "shell JOB [-- COMMAND...]",
		SuggestFor: []string{"exec", "attach", "ssh", "srun", "bash", "sh", "login"},
		Short:      "Opens a shell on a node of a running job, within its resources",
		Long: `Opens a shell, or runs a command, on a node of a running job: as a step of the job
(srun --overlap), with its resources and as its user. The command starts the step in
a login pod, or in the worker pod of the node if no login pod runs. Standard input
goes to the step, as with ssh. It needs the view and the right to create pods/exec, with which one can act
as any user of Slurm anyway.`,
		Example: `  kubectl slurm shell 1234
  kubectl slurm shell 1234 --node=gpu-3 -- nvidia-smi
  kubectl slurm shell 1234 < look.sh`,
		Args:              jobAndCommand,
		ValidArgsFunction: s.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			terminal, argv := s.streams.Size != nil && s.streams.Terminal != nil, args[1:]
			if len(argv) == 0 {
				argv = []string{"bash", "-l"}
			}
			e := observe.Exec{In: s.streams.In, Terminal: terminal}
			return s.enterJob(cmd.Context(), p, args[0], e, func(j *slurm.Job, cluster string, pods []corev1.Pod) (enter.Target, error) {
				return enter.Shell(j, cluster, node, pods, terminal, argv)
			})
		},
	}
	s.addPlaceFlags(cmd, p)
	cmd.Flags().StringVar(&node, "node", "", "Node of the job. Default: the node that runs its script")
	_ = cmd.RegisterFlagCompletionFunc("node", s.completeNodes)
	return cmd
}

// jobAndCommand requires a job, and a command only after --.
func jobAndCommand(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	if len(args) == 0 || dash == 0 || len(args) > 1 && dash != 1 {
		return fmt.Errorf("%s takes the job ID, such as 7, 7_3 or 8+1, and a command after --", cmd.CommandPath())
	}
	return nil
}

// chooseFunc chooses the container and the command for a job.
type chooseFunc func(j *slurm.Job, cluster string, pods []corev1.Pod) (enter.Target, error)

// enterJob finds a job and the pods of its cluster, and runs a command in one of them, with the input and terminal of e.
func (s *session) enterJob(ctx context.Context, p *recordPlace, id string, e observe.Exec, choose chooseFunc) error {
	api, err := s.connect()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	a := p.request(namespace)
	found, err := findJob(ctx, api, a.scope.Namespace, a.cluster, id)
	s.printNotes(api.TakeWarnings())
	if err != nil {
		return err
	}
	pods, err := api.Pods(ctx, observe.Scope{Namespace: found.Namespace,
		Labels: fmt.Sprintf("%s in (%s,%s)", v1beta1.LabelAppName, v1beta1.AppSlurmd, v1beta1.AppLogin)})
	if err != nil {
		return wrapReadError(observe.Workers, err)
	}
	target, err := choose(convert.JobRecord(found), found.Spec.Cluster.Name, pods)
	if err != nil {
		return err
	}
	e.Namespace, e.Pod, e.Container, e.Command = found.Namespace, target.Pod, target.Container, target.Command
	e.Out, e.Err = s.streams.Out, s.streams.Err
	if !e.Terminal {
		return api.Exec(ctx, e)
	}
	sizes, restore, err := s.streams.Terminal()
	if err != nil {
		return err
	}
	defer restore()
	e.Sizes = sizes
	return api.Exec(ctx, e)
}
