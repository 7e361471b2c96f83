// Package migrate runs the pages docs/migrate-from-keda.md and docs/migrate-from-prometheus-adapter.md:
// all their commands, in the order of the page, to the end and back. KEDA, prometheus-adapter and
// Prometheus are real, and so are Slurm, Kubernetes' control plane and its HPA controller.
//
// What differs from a user's cluster:
//
//   - No kubelet runs. The test starts the programs of the Deployments as processes with the rights
//     of their service accounts, and slurmds follow the replicas of the NodeSet.
//   - KEDA and prometheus-adapter have charts that the test makes of the manifests in their modules,
//     because their own charts are on the internet. KEDA's admission webhook is left out.
//   - slurm-exporter with the names of slurmctld's own metrics is what Prometheus scraped before.
//   - Scrapes, polls, cooldowns and windows take seconds, and there are at most six workers.
//
// The tests have the build tag e2e, and the flag -long starts them.
package migrate
