package doctor

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
)

// Observed is all that a test rests on. What was not read is nil, and in NotRead or
// Denied.
type Observed struct {
	Now time.Time
	// User is who asks.
	User string
	// APIServices are those that were looked for, by name; nil for one that is not there.
	APIServices map[string]*apiregistrationv1.APIService

	NodeSets    []v1beta1.NodeSet
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Clusters    []v1beta1.Cluster
	Controllers []v1beta1.Controller
	// Workers are the pods of NodeSets.
	Workers []corev1.Pod
	// Read tells which of the lists above were read.
	Read map[Kind]bool

	// Required is the metric that HPAs should ask for, by NodeSet; Running one of each
	// Controller and Cluster, by which it is known whether its Slurm is read.
	Required map[Object]Metric
	Running  map[Object]Metric
	// Tokens are what the Secrets of Clusters hold.
	Tokens []Token
	// Warn is how long before its end a token is told of.
	Warn time.Duration
	// Operator is what was seen of it, nil when that could not be read.
	Operator *Operator

	// Denied are the things that the user may not read and the plugin needs.
	Denied []Denied
	// NotRead are sentences about other things that could not be read.
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
	Workers     Kind = "pods"
)

// Metric is what came of a question for one metric.
type Metric struct {
	Number uint64
	// Fault is why there is no number.
	Fault MetricFault
	// Said is the server's text.
	Said string
}

// MetricFault is why a metric has no number.
type MetricFault string

// The faults of metrics.
const (
	NoFault MetricFault = ""
	// NotServed: the API server knows no such metric or object.
	NotServed MetricFault = "not served"
	// Unavailable: nobody answers, or has a number that is young enough.
	Unavailable MetricFault = "unavailable"
	// OtherFault: everything else, rights too.
	OtherFault MetricFault = "other"
)

// Token is what the Secret of a Cluster holds.
type Token struct {
	Cluster     Object
	Secret, Key string
	State       TokenState
	// Ends is when the token does, for TokenGood, zero for never.
	Ends time.Time
	// RenewedBy is the Token that owns the Secret, empty for none, and Lifetime how long
	// what it holds is good for, 0 for not known.
	RenewedBy string
	Lifetime  time.Duration
}

// TokenState is what was found in a Secret.
type TokenState string

// The states of a token.
const (
	// TokenGood is a token with or without an end.
	TokenGood TokenState = "good"
	// NoSecret and NoKey: there is none.
	NoSecret TokenState = "no secret"
	NoKey    TokenState = "no key"
	// NoToken is a text that is no JSON Web Token.
	NoToken TokenState = "no token"
)

// Operator is what was seen of slurm-operator.
type Operator struct {
	// Leases are those by which its replicas agree who works; ReadyPods counts its pods
	// that are ready.
	Leases    []coordinationv1.Lease
	ReadyPods int
}

// Denied is a right that the user lacks.
type Denied struct {
	// What the right is to, such as "list nodesets.slinky.slurm.net", in Namespace, which
	// is empty for all.
	What, Namespace string
	// Said is the API server's text.
	Said string
}
