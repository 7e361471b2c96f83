package access

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/net/publicsuffix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/refs"
)

// tokenAnnotationOf returns the servers to which a Secret may be sent as a token. It is the value of the annotation
// AnnotationSlurmToken, or else of the label with that name, or else empty.
func tokenAnnotationOf(s *corev1.Secret) string {
	if value, there := s.Annotations[v1beta1.AnnotationSlurmToken]; there {
		return value
	}
	if value, there := s.Labels[v1beta1.AnnotationSlurmToken]; there {
		return value
	}
	return ""
}

// isOfToken reports whether a Token controls a Secret.
func isOfToken(s *corev1.Secret) bool {
	owner := metav1.GetControllerOf(s)
	if owner == nil || owner.Kind != v1beta1.KindToken {
		return false
	}
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == v1beta1.GroupName
}

// NotSendableError reports that a Secret does not permit its content to be sent to a server.
type NotSendableError struct {
	Ref refs.KeyRef
	// ListsServers is true if the Secret lists servers and the Cluster's is not among them.
	ListsServers bool
	// IsOfToken is true if a Token made the Secret, and the server is no Service of its namespace.
	IsOfToken bool
}

// Error names the remedy. It contains nothing of the content.
func (e *NotSendableError) Error() string {
	switch {
	case e.ListsServers:
		return fmt.Sprintf("Secret %s/%s is not sent to this server: its annotation %s does not list spec.server",
			e.Ref.Namespace, e.Ref.Name, v1beta1.AnnotationSlurmToken)
	case e.IsOfToken:
		return fmt.Sprintf("the token of Secret %[1]s/%[2]s is not sent outside of its namespace: spec.server is not SERVICE.%[1]s.svc. "+
			"Annotate the Token that makes it with %[3]s=<spec.server>", e.Ref.Namespace, e.Ref.Name, v1beta1.AnnotationSlurmToken)
	}
	return fmt.Sprintf("%s is not sent: nothing says that it is a Slurm token. Have a Token create the Secret, or annotate it with %s=%s",
		e.Ref, v1beta1.AnnotationSlurmToken, v1beta1.SlurmTokenAnyServer)
}

// readSendableToken returns the endpoint's token if its Secret permits sending it there. Without this check, any user who may
// write a Cluster could send any Secret anywhere.
func readSendableToken(ctx context.Context, kube SecretReader, t refs.Endpoint) ([]byte, error) {
	secret, err := readObjectWithKey(ctx, kube, t.Token)
	if err != nil {
		return nil, err
	}
	raw, mark := secret.Data[t.Token.Key], secret.TokenAnnotation
	isSendable := mark == v1beta1.SlurmTokenAnyServer
	switch {
	case isSendable:
	case mark != "":
		isSendable = listsServer(mark, t.URL)
	case secret.HoldsToken:
		isSendable = isServiceOf(t.Token.Namespace, t.URL)
	default:
		isSendable = namesSlurmUser(raw)
	}
	if !isSendable {
		return nil, &NotSendableError{Ref: t.Token, ListsServers: mark != "", IsOfToken: secret.HoldsToken}
	}
	return raw, nil
}

// isServiceOf reports whether the host of a URL is a Service of a namespace: no other host has its name. A name with two
// parts, such as restapi.dev, may also be an Internet host if no such Service exists.
func isServiceOf(namespace, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	service, domain, _ := strings.Cut(host, ".")
	if service == "" {
		return false
	}
	switch domain {
	case namespace + ".svc", namespace + ".svc.cluster.local":
		return true
	case namespace:
		// Domains of companies, such as pages.dev, are in the list as well, but not as public.
		_, isPublic := publicsuffix.PublicSuffix("-." + domain)
		return !isPublic
	}
	return false
}

// listsServer reports whether the comma-separated list of URLs contains url.
func listsServer(servers, url string) bool {
	for server := range strings.SplitSeq(servers, ",") {
		if strings.TrimSuffix(strings.TrimSpace(server), "/") == url {
			return true
		}
	}
	return false
}

// namesSlurmUser reports whether raw is a JSON Web Token with the claim sun. Slurm reads the user name from this claim, and
// only its tokens have it.
func namesSlurmUser(raw []byte) bool {
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(trimToken(raw), claims); err != nil {
		return false
	}
	user, ok := claims["sun"].(string)
	return ok && user != ""
}
