package render

import (
	"testing"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/test/harness/golden"
)

func TestServiceMonitor(t *testing.T) {
	c := loadInput(t, "minimal").Controller
	for name, monitor := range map[string]v1beta1.ServiceMonitor{
		"service-monitor": {Enabled: true},
		"service-monitor-of-a-user": {Enabled: true, Interval: "30s", ScrapeTimeout: "25s",
			Labels:      map[string]string{"release": "prometheus", v1beta1.LabelAppName: "other"},
			Annotations: map[string]string{"example.com/team": "hpc"},
			Endpoints: []v1beta1.MetricsEndpoint{{Path: "/metrics/jobs"},
				{Path: "/metrics/jobs-users-accts", Interval: "5m", ScrapeTimeout: "1m"}}},
	} {
		c.Spec.Metrics = v1beta1.Metrics{Enabled: true, ServiceMonitor: &monitor}
		golden.CheckObjects(t, name, []podspec.KubeObject{ServiceMonitor(c)})
	}
}
