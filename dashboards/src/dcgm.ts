// Metrics of dcgm-exporter, by the names of Slurm nodes.

/** The end of the description of a panel that shows them. */
export const needs = ' Requires dcgm-exporter.';

/** A metric of dcgm-exporter by Slurm node: the worker's pod that has the GPU, or else the host's name without its domain. */
export const named = (metric: string) => `label_replace(label_replace(${metric}, "node", "$1", "Hostname", "([^.]+).*"), "node", "$1", "exported_pod", "(.+)")`;
