package access

import (
	"context"
	"fmt"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// markOf is what a Secret says about its use as a token: the value of the annotation
// MarkSlurmToken, else of the label, else MarkAnyServer where a Token made the Secret,
// else nothing.
func markOf(s *corev1.Secret) string {
	if value, there := s.Annotations[v1beta1.MarkSlurmToken]; there {
		return value
	}
	if value, there := s.Labels[v1beta1.MarkSlurmToken]; there {
		return value
	}
	if owner := metav1.GetControllerOf(s); owner != nil && owner.Kind == v1beta1.KindToken {
		if gv, err := schema.ParseGroupVersion(owner.APIVersion); err == nil && gv.Group == v1beta1.GroupName {
			return v1beta1.MarkAnyServer
		}
	}
	return ""
}

// NotSendableError says that a Secret does not let its content be sent to a server.
type NotSendableError struct {
	Ref Ref
	// Listed is true where the Secret names servers, and the Cluster's is not among them.
	Listed bool
}

// Error says what to do. It tells nothing of the content.
func (e *NotSendableError) Error() string {
	if e.Listed {
		return fmt.Sprintf("Secret %s/%s is not sent to this server: its annotation %s does not list spec.server",
			e.Ref.Namespace, e.Ref.Name, v1beta1.MarkSlurmToken)
	}
	return fmt.Sprintf("%s is not sent: nothing says that it is a Slurm token. Let a Token make the Secret, or annotate it with %s=%s",
		e.Ref, v1beta1.MarkSlurmToken, v1beta1.MarkAnyServer)
}

// readToken returns the target's token if its Secret lets it be sent to the target: who
// may write a Cluster must not be able to send any Secret anywhere.
func readToken(ctx context.Context, kube Kube, t Target) ([]byte, error) {
	secret, err := readKey(ctx, kube, t.Token)
	if err != nil {
		return nil, err
	}
	raw := secret.Data[t.Token.Key]
	switch mark := secret.Mark; {
	case mark == v1beta1.MarkAnyServer, mark == "" && namesSlurmUser(raw):
		return raw, nil
	case mark != "" && lists(mark, t.URL):
		return raw, nil
	default:
		return nil, &NotSendableError{Ref: t.Token, Listed: mark != ""}
	}
}

// lists reports whether a list of URLs has the one.
func lists(servers, url string) bool {
	for server := range strings.SplitSeq(servers, ",") {
		if strings.TrimSuffix(strings.TrimSpace(server), "/") == url {
			return true
		}
	}
	return false
}

// namesSlurmUser reports whether a text is a JSON Web Token with the claim sun, by which
// Slurm knows a user, and which no other token has.
func namesSlurmUser(raw []byte) bool {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(tokenText(raw), claims); err != nil {
		return false
	}
	user, ok := claims["sun"].(string)
	return ok && user != ""
}
