package wakeup

import (
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

func joinNames(hpas []autoscalingv2.HorizontalPodAutoscaler) string {
	var out []string
	for _, hpa := range hpas {
		out = append(out, hpa.Name)
	}
	slices.Sort(out) // the list has no order, and the message must not change
	return strings.Join(out, ", ")
}
