package rotation

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// resignInterval is the interval of reads of the Tokens' Secrets while tokens are signed with another key.
const resignInterval = 5 * time.Second

var jwtKeyRefs = keyRefs{
	func(c *v1beta1.Controller) *corev1.SecretKeySelector {
		return cmp.Or(c.Spec.JWTKeyRef, c.Spec.JWTHS256KeyRef)
	},
	func(a *v1beta1.Accounting) *corev1.SecretKeySelector {
		return cmp.Or(a.Spec.JWTKeyRef, a.Spec.JWTHS256KeyRef)
	},
}

// rotateJWTKey takes the next step of a rotation of the key of auth/jwt.
func (r *Reconciler) rotateJWTKey(ctx context.Context, c *v1beta1.Controller) (metav1.Condition, time.Duration, error) {
	var none metav1.Condition
	ref := jwtKeyRefs.ofController(c)
	if ref == nil {
		return none, 0, problem.New(v1beta1.ReasonInvalidSpec, "spec.jwtKeyRef must be given")
	}
	all, err := r.findSharers(ctx, c, jwtKeyRefs)
	if err != nil {
		return none, 0, err
	}
	if err := checkKeySetIsRead(all); err != nil {
		return none, 0, err
	}
	secret, err := r.readJWTSecret(ctx, c.Namespace, *ref)
	if err != nil {
		return none, 0, err
	}
	in := plan.JWTInput{Now: r.now(), Written: secret.keys, NewBridge: toBeMade,
		Requested: secret.isNewRequest(c, v1beta1.AnnotationRotateJWTKeys)}
	last := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionJWTKeysRotated)
	if !in.Requested && secret.keys.Bridge == "" && last != nil && last.Status == metav1.ConditionTrue {
		// A pod that starts has the written keys from its start.
		return *last, 0, r.keepOwners(ctx, secret.rotationSecret, all)
	}
	if secret.keys.Bridge == "" {
		if err := r.checkAccountingIsOurs(ctx, all); err != nil {
			return none, 0, err
		}
	}
	if in.NewID, err = r.newKeyID(r.now()); err != nil {
		return none, 0, err
	}
	if in.Daemons, err = r.observeVerifiers(ctx, c.Namespace, all, secret.keys.Loaded()); err != nil {
		return none, 0, err
	}
	if secret.keys.Bridge != "" {
		if in.Tokens, in.PickUpDelay, err = r.observeTokens(ctx, c.Namespace, ref, secret.data(signingKey)); err != nil {
			return none, 0, err
		}
	}
	step := plan.NextJWT(in)
	if step.Write != nil {
		err = r.writeJWTKeys(ctx, c, all, secret, *step.Write)
	}
	return jwtConditionOf(step), lookAgain(step), err
}

// isJWTKeyUnfinished reports whether daemons have a key besides that for HS256.
func (r *Reconciler) isJWTKeyUnfinished(ctx context.Context, namespace string, key corev1.SecretKeySelector) (
	rotationSecret, bool, error) {
	secret, err := r.readJWTSecret(ctx, namespace, key)
	return secret.rotationSecret, secret.keys.Bridge != "", err
}

// lookAgain returns when to look again after a step, 0 for not at all.
func lookAgain(step plan.JWTStep) time.Duration {
	switch step.Phase {
	case plan.Rotated:
		return 0
	case plan.Resigning:
		return resignInterval
	}
	return lookInterval
}

// checkKeySetIsRead returns an error if a daemon does not read the key set where a rotation adds keys. Included files must
// not set keys.
func checkKeySetIsRead(all sharers) error {
	for _, c := range all.controllers {
		if setsKeys(c.Spec.ExtraConf) {
			return newUnreadKeySetError(v1beta1.KindController, c.Name)
		}
	}
	for _, a := range all.accountings {
		if setsKeys(a.Spec.ExtraConf) {
			return newUnreadKeySetError(v1beta1.KindAccounting, a.Name)
		}
	}
	return nil
}

// checkAccountingIsOurs returns an error if a slurmdbd outside verifies tokens, which would not get the new key.
func (r *Reconciler) checkAccountingIsOurs(ctx context.Context, all sharers) error {
	for i := range all.controllers {
		slurmdbd, err := r.findOutsideAccounting(ctx, &all.controllers[i])
		if err != nil {
			return err
		}
		if slurmdbd != "" {
			return problem.New(v1beta1.ReasonExternal, "%s names a slurmdbd outside of the operator's control, which would "+
				"refuse the new tokens; replace the key by hand", slurmdbd)
		}
	}
	return nil
}

// setsKeys reports whether lines of a configuration file set the keys of auth/jwt.
func setsKeys(text string) bool {
	for _, s := range slurmconf.ParseSettings(text) {
		if strings.EqualFold(s.Name, "AuthAltParameters") {
			return true
		}
	}
	return false
}

func newUnreadKeySetError(kind, name string) error {
	return problem.New(v1beta1.ReasonInvalidSpec, "spec.extraConf of %s %s sets AuthAltParameters, so that the daemon does not "+
		"read the keys of a rotation; remove the line", kind, name)
}

// observeVerifiers returns the daemons that verify tokens, and makes the kubelet bring the written keys to daemons without
// them.
func (r *Reconciler) observeVerifiers(ctx context.Context, namespace string, all sharers, written string) (
	[]plan.JWTDaemon, error) {
	selectors, expected := all.keyVerifiers()
	answers, err := r.askAgents(ctx, namespace, selectors, expected)
	if err != nil {
		return nil, err
	}
	var out []plan.JWTDaemon
	for _, a := range answers {
		daemon := plan.JWTDaemon{Name: a.name, Loaded: a.status.JWTKeys, Problem: a.problem}
		if daemon.Problem != "" || daemon.Loaded != written {
			daemon.Problem = cmp.Or(daemon.Problem, a.status.Problem())
			if err := r.requestSync(ctx, a.pod); err != nil {
				return nil, err
			}
		}
		out = append(out, daemon)
	}
	return out, nil
}

// jwtConditionOf returns the condition JWTKeysRotated after a step.
func jwtConditionOf(step plan.JWTStep) metav1.Condition {
	out := metav1.Condition{Status: metav1.ConditionFalse, Reason: string(step.Phase), Message: map[plan.Phase]string{
		plan.NotBegun:     "another key takes the place of the present one when slurmctld and slurmdbd are known to have that",
		plan.Distributing: "slurmctld and slurmdbd are being given a key for the time in between",
		plan.Resigning:    "tokens are signed with another key, and those who use them are given time to notice",
		plan.Switching:    "slurmctld and slurmdbd are being given the new key",
		plan.Retiring:     "slurmctld and slurmdbd are being told to accept the new key alone",
		plan.Rotated:      "slurmctld and slurmdbd accept tokens of the new key alone",
	}[step.Phase]}
	if step.Phase == plan.Rotated {
		out.Status = metav1.ConditionTrue
	}
	var members []plan.Member
	for _, name := range step.Waiting {
		members = append(members, plan.Member{Name: name, Problem: step.Problems[name]})
	}
	switch {
	case len(members) > 0:
		out.Message += "; waiting for " + describeWaiting(members)
	case !step.Until.IsZero() && step.Write == nil:
		out.Message += fmt.Sprintf("; until %s", step.Until.UTC().Format(time.RFC3339))
	}
	return out
}

// readJWTSecret reads the Secret with the keys that replace a key of auth/jwt. The error is *problem.Error if the operator
// did not make it.
func (r *Reconciler) readJWTSecret(ctx context.Context, namespace string, key corev1.SecretKeySelector) (jwtSecret, error) {
	secret, err := r.readSecret(ctx, namespace, names.JWTKeysSecret(key.Name, key.Key))
	if err != nil {
		return jwtSecret{}, err
	}
	return parseJWTSecret(secret)
}
