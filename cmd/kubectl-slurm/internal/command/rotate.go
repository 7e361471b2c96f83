package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/observe"
	"github.com/slurmtide/slurmtide/cmd/kubectl-slurm/internal/table"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// rotateCommand returns the command "rotate".
func (s *session) rotateCommand() *cobra.Command {
	var output, key string
	var wait bool
	cmd := &cobra.Command{
		Use:   "rotate [CONTROLLER]",
		Short: "Replaces a key of a cluster while the cluster runs",
		Long: `Asks slurm-operator to replace a key of a cluster: with --key=slurm the one with which its
daemons authenticate each other (auth/slurm), with --key=jwt the one with which tokens are
signed (auth/jwt). Jobs and clients go on. CONTROLLER may be left out where the namespace
has one Controller.

The command annotates the Controller, for which you need the right to patch it. The
operator replaces the key in steps, and the condition KeysRotated or JWTKeysRotated of the
Controller says how far it is. With --wait the command prints each step and returns after
the last one; if it is interrupted, the rotation goes on.

Hosts outside of Kubernetes with slurmd, sackd or slurmdbd are cut off by a step for which they
do not have the keys. The rotation waits before such a step while it sees such hosts, or cannot
read Slurm; the condition, which --wait prints, has the Secret to copy and the command that
confirms it. It cannot see login hosts that reach slurmctld without a Service for the outside.

Tokens that users have from scontrol are refused after a rotation with --key=jwt.`,
		Example: "  kubectl slurm rotate --wait\n  kubectl slurm rotate blue --key=jwt --namespace=hpc --output=json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := table.ParseObjectFormat(output)
			if err != nil {
				return err
			}
			kind, known := rotatedKeys[key]
			if !known {
				return fmt.Errorf("--key must be slurm or jwt, not %q", key)
			}
			return s.rotate(cmd.Context(), args, kind, wait, format)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", table.Usage(table.ObjectFormats()))
	cmd.Flags().StringVar(&key, "key", "slurm", "Key to replace: slurm or jwt")
	registerCompletion(cmd, "key", "slurm", "jwt")
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait until the daemons have the new key alone")
	registerCompletion(cmd, "output", table.ObjectFormats()...)
	return cmd
}

// rotatedKeys are the kinds of keys that can be replaced, by the value of --key.
var rotatedKeys = map[string]observe.RotatedKey{
	"slurm": {Annotation: v1beta1.AnnotationRotateKeys, Condition: v1beta1.ConditionKeysRotated},
	"jwt":   {Annotation: v1beta1.AnnotationRotateJWTKeys, Condition: v1beta1.ConditionJWTKeysRotated},
}

// rotation is what the command prints.
type rotation struct {
	key observe.RotatedKey

	Namespace  string `json:"namespace"`
	Controller string `json:"controller"`
	// Request is the value of the annotation that asks for new keys.
	Request string `json:"request"`
	// Step and Message are the reason and the message of the condition, empty until the operator has seen the request.
	Step    string `json:"step,omitempty"`
	Message string `json:"message,omitempty"`
	Done    bool   `json:"done"`
}

// Write writes the rotation as a line.
func (r rotation) Write(w io.Writer) error {
	step := r.Message
	if r.Step == "" {
		step = "asked for a new key; the condition " + r.key.Condition + " says how far that is, and what hosts outside need"
	}
	_, err := fmt.Fprintf(w, "controller %s/%s: %s\n", r.Namespace, r.Controller, table.Clean(step))
	return err
}

// rotate asks for a new key and prints what becomes of that.
func (s *session) rotate(ctx context.Context, args []string, key observe.RotatedKey, wait bool, format table.Format) error {
	api, err := s.connect()
	if err != nil {
		return err
	}
	namespace, err := s.namespace()
	if err != nil {
		return err
	}
	name, err := chooseController(ctx, api, namespace, args)
	if err != nil {
		return err
	}
	r := rotation{key: key, Namespace: namespace, Controller: name, Request: s.now().UTC().Format(time.RFC3339Nano)}
	before, err := api.RequestKeyRotation(ctx, key, namespace, name, r.Request)
	if err != nil {
		return fmt.Errorf("annotating Controller %s: %w", name, err)
	}
	if wait {
		err = s.awaitRotation(ctx, api, &r, before, format)
	}
	if err == nil && format != table.Plain {
		return table.PrintObject(s.streams.Out, format, r)
	}
	if err == nil && !wait {
		return r.Write(s.streams.Out)
	}
	return err
}

// chooseController returns the given Controller, or the only one of the namespace.
func chooseController(ctx context.Context, api *observe.API, namespace string, args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	list, err := api.Controllers(ctx, observe.Scope{Namespace: namespace})
	if err != nil {
		return "", wrapReadError(observe.Objects, err)
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("namespace %s has no Controller", namespace)
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("namespace %s has several Controllers: give one of %s", namespace, strings.Join(names, ", "))
}

// rotationInterval is how often the condition is read.
const rotationInterval = 500 * time.Millisecond

// awaitRotation prints each step until all daemons have the new key alone. Steps go to standard error where an
// object is printed in the end.
func (s *session) awaitRotation(ctx context.Context, api *observe.API, r *rotation, before *metav1.Condition,
	format table.Format) error {
	out := s.streams.Out
	if format != table.Plain {
		out = s.streams.Err
	}
	tick := time.NewTicker(rotationInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.printNotes([]string{"the rotation goes on; see the condition " + r.key.Condition})
			return context.Cause(ctx)
		case <-tick.C:
		}
		c, err := api.Controller(ctx, r.Namespace, r.Controller)
		if err != nil {
			if ctx.Err() != nil {
				continue
			}
			return err
		}
		if value := c.Annotations[r.key.Annotation]; value != r.Request {
			return errors.New("somebody else has asked for a new key meanwhile")
		}
		condition := meta.FindStatusCondition(c.Status.Conditions, r.key.Condition)
		if condition == nil || isSameCondition(condition, before) {
			continue // it is of the rotation before
		}
		before = nil
		if condition.Message != r.Message {
			r.Step, r.Message, r.Done = condition.Reason, condition.Message, condition.Status == metav1.ConditionTrue
			if err := r.Write(out); err != nil {
				return err
			}
		}
		if r.Done {
			return nil
		}
	}
}

// isSameCondition reports whether a condition has not been written since.
func isSameCondition(now, before *metav1.Condition) bool {
	return before != nil && now.Reason == before.Reason && now.Message == before.Message &&
		now.LastTransitionTime.Equal(&before.LastTransitionTime)
}
