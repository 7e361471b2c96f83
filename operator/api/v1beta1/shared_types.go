package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Metadata contains labels and annotations that a user adds to a generated object.
type Metadata struct {
	// labels are added to the labels of the object.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the annotations of the object.
	// +optional
	// +nullable
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate is merged into the pods of an object. Unknown fields are preserved.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PodTemplate struct {
	// metadata is added to the pods' metadata.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec is a PodSpec (core/v1). Every field is optional.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// Extra contains the unknown fields. They are preserved and have no effect.
	Extra map[string]Raw `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (t PodTemplate) MarshalJSON() ([]byte, error) {
	type plain PodTemplate
	return marshalOpen(plain(t), t.Extra)
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *PodTemplate) UnmarshalJSON(text []byte) (err error) {
	type plain PodTemplate
	t.Extra, err = unmarshalOpen(text, (*plain)(t), "metadata", "spec")
	return err
}

// ServiceSpec is merged into the Service of an object.
type ServiceSpec struct {
	// metadata is added to the Service's metadata.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec is a ServiceSpec (core/v1). Every field is optional.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// port is the Service's port. If unset, it is the port of the daemon.
	// +optional
	Port int `json:"port,omitempty"`

	// nodePort is the port on every Kubernetes node, for Services of type NodePort and LoadBalancer. If
	// unset, Kubernetes chooses one.
	// +optional
	NodePort int `json:"nodePort,omitempty"`
}

// ExternalConfig says where a daemon listens that the operator does not run.
type ExternalConfig struct {
	// host is the name or address of the daemon.
	// +required
	Host string `json:"host"`

	// port is the port of the daemon.
	// +required
	Port int `json:"port"`
}

// Metrics says how a daemon's built-in metrics are collected.
type Metrics struct {
	// enabled turns on the daemon's metrics.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`

	// serviceMonitor configures a ServiceMonitor for the Prometheus operator.
	// +optional
	// +nullable
	ServiceMonitor *ServiceMonitor `json:"serviceMonitor,omitempty"`
}

// ServiceMonitor describes a ServiceMonitor of the Prometheus operator.
type ServiceMonitor struct {
	// enabled creates the ServiceMonitor.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`

	// labels are added to the labels of the ServiceMonitor.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the annotations of the ServiceMonitor.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// interval is the time between two scrapes, in the syntax of Prometheus ("30s").
	// +optional
	Interval string `json:"interval,omitempty"`

	// scrapeTimeout is the time that a scrape may take, in the syntax of Prometheus ("25s").
	// +optional
	ScrapeTimeout string `json:"scrapeTimeout,omitempty"`

	// endpoints are the paths to scrape.
	// +optional
	// +listType=atomic
	Endpoints []MetricsEndpoint `json:"endpoints,omitempty"`
}

// MetricsEndpoint is one path with metrics.
type MetricsEndpoint struct {
	// path is the path of the URL ("/metrics/jobs").
	// +required
	Path string `json:"path"`

	// interval overrides the ServiceMonitor's interval.
	// +optional
	Interval string `json:"interval,omitempty"`

	// scrapeTimeout overrides the ServiceMonitor's scrapeTimeout.
	// +optional
	ScrapeTimeout string `json:"scrapeTimeout,omitempty"`
}

// ReleaseStatus says which image and which release of Slurm the pods of an object have, and which they are to have. The
// operator looks releases up when an image of the Slurm cluster changes. It is a slurmtide extension.
type ReleaseStatus struct {
	// image is the image of the daemon that all pods have, or had before nextImage.
	// +optional
	Image string `json:"image,omitempty"`

	// release is the release of Slurm in image, such as "26.05". It is empty until an image of the Slurm cluster changes.
	// +optional
	Release string `json:"release,omitempty"`

	// nextImage is the image that the pods are to have, as long as not all of them have it. The condition
	// ReleaseAllowed says whether they are being given it.
	// +optional
	NextImage string `json:"nextImage,omitempty"`

	// imageReleases are the releases of Slurm in images of the daemon, as far as they matter and were looked up.
	// +optional
	// +listType=map
	// +listMapKey=image
	ImageReleases []ImageRelease `json:"imageReleases,omitempty"`

	// restoredState is the value of the annotation slinky.slurm.net/restored-state that has allowed an older image. The
	// same value does not allow another one.
	// +optional
	RestoredState string `json:"restoredState,omitempty"`

	// hasRun is true once a pod with image, or with an earlier image, was ready.
	// +optional
	HasRun bool `json:"hasRun,omitempty"`

	// neverRan is true if image cannot be pulled and no pod was ever ready. Other daemons do not wait for its release.
	// +optional
	NeverRan bool `json:"neverRan,omitempty"`
}

// ImageRelease is the release of Slurm in an image.
type ImageRelease struct {
	// image is the name of the image, as in a container.
	// +required
	Image string `json:"image"`

	// release is the release of Slurm in it, such as "26.05". It is empty while it is being looked up.
	// +optional
	Release string `json:"release,omitempty"`
}

// ReleaseOf returns the release of Slurm in an image, or "" if it is not known.
func (s *ReleaseStatus) ReleaseOf(image string) string {
	for _, known := range s.ImageReleases {
		if known.Image == image {
			return known.Release
		}
	}
	return ""
}

// ReleaseStatusOf returns the releases of the slurmctld, and its conditions. Both may be changed.
func (c *Controller) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &c.Status.ReleaseStatus, &c.Status.Conditions
}

// ReleaseStatusOf returns the releases of the slurmdbd, and its conditions. Both may be changed.
func (a *Accounting) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &a.Status.ReleaseStatus, &a.Status.Conditions
}

// ReleaseStatusOf returns the releases of the slurmrestd, and its conditions. Both may be changed.
func (r *RestApi) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &r.Status.ReleaseStatus, &r.Status.Conditions
}

// ReleaseStatusOf returns the releases of the login pods, and their conditions. Both may be changed.
func (l *LoginSet) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &l.Status.ReleaseStatus, &l.Status.Conditions
}

// ReleaseStatusOf returns the releases of the workers, and the conditions of the NodeSet. Both may be changed.
func (n *NodeSet) ReleaseStatusOf() (*ReleaseStatus, *[]metav1.Condition) {
	return &n.Status.ReleaseStatus, &n.Status.Conditions
}

// ConditionsOf returns the conditions of the Accounting, which may be changed.
func (a *Accounting) ConditionsOf() *[]metav1.Condition { return &a.Status.Conditions }

// ConditionsOf returns the conditions of the Cluster, which may be changed.
func (c *Cluster) ConditionsOf() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionsOf returns the conditions of the Controller, which may be changed.
func (c *Controller) ConditionsOf() *[]metav1.Condition { return &c.Status.Conditions }

// ConditionsOf returns the conditions of the LoginSet, which may be changed.
func (l *LoginSet) ConditionsOf() *[]metav1.Condition { return &l.Status.Conditions }

// ConditionsOf returns the conditions of the NodeSet, which may be changed.
func (n *NodeSet) ConditionsOf() *[]metav1.Condition { return &n.Status.Conditions }

// ConditionsOf returns the conditions of the RestApi, which may be changed.
func (r *RestApi) ConditionsOf() *[]metav1.Condition { return &r.Status.Conditions }

// ConditionsOf returns the conditions of the Token, which may be changed.
func (t *Token) ConditionsOf() *[]metav1.Condition { return &t.Status.Conditions }
