package v1beta1

// Metadata is what a user adds to the labels and annotations of a made object.
type Metadata struct {
	// labels are added to the object's.
	// +optional
	// +nullable
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the object's.
	// +optional
	// +nullable
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PodTemplate is laid over the pods that are made for an object. Unknown fields are kept.
//
// +kubebuilder:pruning:PreserveUnknownFields
type PodTemplate struct {
	// metadata is added to the pods' metadata.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec is a PodSpec (core/v1), of which any part may be given.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// Extra is what else the user wrote, by field. It is kept and means nothing.
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

// ServiceSpec is laid over the Service that is made for an object.
type ServiceSpec struct {
	// metadata is added to the Service's metadata.
	// +optional
	Metadata Metadata `json:"metadata,omitzero"`

	// spec is a ServiceSpec (core/v1), of which any part may be given.
	// +optional
	Spec Raw `json:"spec,omitzero"`

	// port is the Service's port. Unset: the daemon's own.
	// +optional
	Port int `json:"port,omitempty"`

	// nodePort is the port on every Kubernetes node, for Services of type NodePort
	// and LoadBalancer. Unset: Kubernetes chooses.
	// +optional
	NodePort int `json:"nodePort,omitempty"`
}

// ExternalConfig says where a daemon listens that is not run by the operator.
type ExternalConfig struct {
	// host is the name or address of the daemon.
	// +required
	Host string `json:"host"`

	// port is the port of the daemon.
	// +required
	Port int `json:"port"`
}

// Metrics says how a daemon's own metrics are collected.
type Metrics struct {
	// enabled switches the daemon's metrics on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`

	// serviceMonitor is what to tell the Prometheus operator.
	// +optional
	// +nullable
	ServiceMonitor *ServiceMonitor `json:"serviceMonitor,omitempty"`
}

// ServiceMonitor describes a ServiceMonitor of the Prometheus operator.
type ServiceMonitor struct {
	// enabled switches the making of the ServiceMonitor on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled,omitempty"`

	// labels are added to the ServiceMonitor's.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the ServiceMonitor's.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// interval is the time between two scrapes, as Prometheus writes it ("30s").
	// +optional
	Interval string `json:"interval,omitempty"`

	// scrapeTimeout is the time that a scrape may take, as Prometheus writes it ("25s").
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
