package doctor

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Observed contains everything that the checks use. What was not read is nil and described in
// NotRead or Denied.
type Observed struct {
	Now time.Time
	// User is the name of the user.
	User string
	// APIServices are the APIServices that were read, by name. A value is nil if the APIService
	// does not exist.
	APIServices map[string]*apiregistrationv1.APIService

	NodeSets    []v1beta1.NodeSet
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Clusters    []v1beta1.Cluster
	Controllers []v1beta1.Controller
	Accountings []v1beta1.Accounting
	LoginSets   []v1beta1.LoginSet
	RestAPIs    []v1beta1.RestApi
	Services    []corev1.Service
	// Workers are the pods of NodeSets.
	Workers []corev1.Pod
	// Read says which of these lists were read.
	Read map[Kind]bool

	// Required is the metric that HPAs should use, by NodeSet. Running is one metric of each
	// Controller and Cluster, which shows whether the adapter reads its Slurm cluster.
	Required map[Object]Metric
	Running  map[Object]Metric
	// Tokens are the tokens in the Secrets of Clusters.
	Tokens []Token
	// TokenWarning is how long before its expiry a token is reported.
	TokenWarning time.Duration
	// Operator is nil if it could not be read.
	Operator *Operator

	// Denied are the permissions that the plugin needs and the user lacks.
	Denied []Denied
	// NotRead describes other things that could not be read.
	NotRead []string
}

// Kind is a kind of object that is listed.
type Kind string

// The kinds that are listed.
const (
	NodeSets    Kind = "nodesets"
	Autoscalers Kind = "horizontalpodautoscalers"
	Clusters    Kind = "clusters"
	Controllers Kind = "controllers"
	Accountings Kind = "accountings"
	LoginSets   Kind = "loginsets"
	RestAPIs    Kind = "restapis"
	Services    Kind = "services"
	Workers     Kind = "pods"
)

// Metric is the result of reading one metric.
type Metric struct {
	Number uint64
	// Fault is why there is no number, empty if there is one.
	Fault MetricFault
	// Message is the server's text.
	Message string
}

// MetricFault is why a metric has no number.
type MetricFault string

// The faults of metrics.
const (
	NoFault MetricFault = ""
	// NotServed: the API server has no such metric or object.
	NotServed MetricFault = "not served"
	// Unavailable: the adapter does not respond or its data is too old.
	Unavailable MetricFault = "unavailable"
	// OtherFault: all other errors, including missing permissions.
	OtherFault MetricFault = "other"
)

// Token is the token in the Secret of a Cluster.
type Token struct {
	Cluster     Object
	Secret, Key string
	State       TokenState
	// ExpiresAt is the expiry if State is TokenGood. It is zero for a token that never expires.
	ExpiresAt time.Time
	// RenewedBy is the Token that owns the Secret, empty if there is none. Lifetime is the lifetime
	// of the token, 0 if unknown.
	RenewedBy string
	Lifetime  time.Duration
}

// TokenState is the state of the token in a Secret.
type TokenState string

// The states of a token.
const (
	// TokenGood is a token with or without expiry.
	TokenGood TokenState = "good"
	// NoSecret and NoKey: the Secret or its key does not exist.
	NoSecret TokenState = "no secret"
	NoKey    TokenState = "no key"
	// NoToken: the text is not a JSON Web Token.
	NoToken TokenState = "no token"
)

// Operator is the observed state of slurm-operator.
type Operator struct {
	// Leases are its leader election leases. ReadyPods counts its ready pods.
	Leases    []coordinationv1.Lease
	ReadyPods int
	// Namespaces are the Leases by which one of several operators works in a namespace.
	Namespaces []coordinationv1.Lease
}

// Denied is a permission that the user lacks.
type Denied struct {
	// Access is the denied request, such as "list nodesets.slinky.slurm.net". Namespace is empty
	// for all namespaces.
	Access, Namespace string
	// Message is the API server's text.
	Message string
}
