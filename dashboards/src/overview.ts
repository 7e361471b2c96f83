import { framed } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, growth, ratio, sum } from './queries.js';
import { badFrom, calm, classes, fullness, goodFromOne, nodeStates, steps } from './style.js';

const share = (metric: string) => ratio(sum(gauge(metric, ['state', 'type'], 'state="allocated"')), sum(gauge(metric, ['state', 'type'])));
const shareByCluster = (metric: string) =>
  ratio(sum(gauge(metric, ['state', 'type'], 'state="allocated"'), ['cluster']), sum(gauge(metric, ['state', 'type']), ['cluster']));
const age = 'max by (cluster) (slurm_exporter_snapshot_age_seconds{cluster=~"$cluster", resource=~"nodes|jobs|partitions"})';

const now = [
  number({
    title: 'Clusters up', description: 'Slurm clusters that respond and can be read. If one is missing, see the dashboard "Scheduler and stack health".',
    unit: 'short', width: 3, query: { expr: sum(gauge('slurm_up')) }, thresholds: goodFromOne(), past: 'hidden',
  }),
  number({
    title: 'Age of the data', description: 'Time since nodes, jobs or partitions were last read from Slurm, whichever is oldest.',
    unit: 's', width: 3, query: { expr: `max(${age})` }, thresholds: badFrom(120, 300), decimals: 0,
  }),
  number({ title: 'Nodes', description: 'All nodes of Slurm.', unit: 'short', width: 3, query: { expr: sum(gauge('slurm_nodes', ['state'])) } }),
  number({
    title: 'Unavailable nodes', description: 'Nodes that are down, drained, draining or failed.', unit: 'short', width: 3,
    query: { expr: sum(gauge('slurm_nodes', ['state'], 'state=~"down|drained|draining|error|fail|failing|inval"')) }, thresholds: steps('green', [1, 'orange']),
  }),
  number({ title: 'CPUs allocated', description: 'Ratio of allocated CPUs to all CPUs.', unit: 'percentunit', width: 3, max: 1, decimals: 0, query: { expr: share('slurm_cpus') }, thresholds: fullness() }),
  number({ title: 'GPUs allocated', description: 'Ratio of allocated GPUs to all GPUs.', unit: 'percentunit', width: 3, max: 1, decimals: 0, query: { expr: share('slurm_gpus') }, thresholds: fullness(), noValue: 'none' }),
  number({ title: 'Running jobs', description: 'Running jobs; every array task counts.', unit: 'short', width: 3, query: { expr: sum(gauge('slurm_jobs', ['state'], 'state="running"')) } }),
  number({ title: 'Pending jobs', description: 'Pending jobs, whatever their reason; every array task counts.', unit: 'short', width: 3, query: { expr: sum(gauge('slurm_jobs', ['state'], 'state="pending"')) }, thresholds: calm() }),
];

const clusters = rows({
  title: 'Clusters', description: 'One row per Slurm cluster. Click a name to show its queue.', width: 24, height: 6,
  labels: { cluster: 'Cluster' }, sort: { by: 'Cluster', descending: false }, leads: { label: 'cluster', uid: 'slurmtide-queue' },
  columns: [
    { name: 'State', expr: 'max by (cluster) (slurm_up{cluster=~"$cluster"})', words: { 0: { text: 'not read', color: 'red' }, 1: { text: 'up', color: 'green' } } },
    { name: 'Data age', expr: age, unit: 's', decimals: 0, thresholds: badFrom(120, 300) },
    { name: 'Nodes', expr: sum(gauge('slurm_nodes', ['state']), ['cluster']), decimals: 0 },
    { name: 'CPUs allocated', expr: shareByCluster('slurm_cpus'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
    { name: 'Memory allocated', expr: shareByCluster('slurm_memory_bytes'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
    { name: 'GPUs allocated', expr: shareByCluster('slurm_gpus'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
    { name: 'Running', expr: gauge('slurm_jobs', [], 'state="running"'), decimals: 0 },
    { name: 'Pending', expr: gauge('slurm_jobs', [], 'state="pending"'), decimals: 0 },
  ],
});

const byState = (title: string, metric: string, what: string, unit = 'short') => series({
  title, description: `${what} by state: allocated, idle, or other (idle on nodes that are down or drained).`,
  unit, width: 8, stacked: 'areas', named: ['allocated', 'idle', 'other'],
  queries: [{ expr: sum(gauge(metric, ['state', 'type']), ['state']), legend: '{{state}}' }],
});

const use = [byState('CPUs', 'slurm_cpus', 'CPUs'), byState('Memory', 'slurm_memory_bytes', 'Memory', 'bytes'), byState('GPUs', 'slurm_gpus', 'GPUs')];

const jobs = [
  series({
    title: 'Jobs', description: 'Unfinished jobs by state. Slurm keeps finished jobs for MinJobAge; they are not shown.', unit: 'short', width: 12, named: ['running', 'pending', 'suspended'],
    queries: [{ expr: sum(gauge('slurm_jobs', ['state'], 'state=~"running|pending|suspended"'), ['state']), legend: '{{state}}' }],
  }),
  series({
    title: 'Pending jobs by class', description: 'Pending jobs by the class of Slurm\'s reason. More nodes help only jobs of the class capacity.',
    unit: 'short', width: 12, stacked: 'areas', named: classes,
    queries: [{ expr: `${sum(gauge('slurm_partition_pending_jobs_by_class', ['partition', 'class']), ['class'])} > 0`, legend: '{{class}}' }],
  }),
  series({
    title: 'Nodes by state', description: 'Nodes by state as sinfo shows it; a node is in exactly one state.', unit: 'short', width: 12, stacked: 'areas',
    named: nodeStates,
    queries: [{ expr: `${sum(gauge('slurm_nodes', ['state']), ['state'])} > 0`, legend: '{{state}}' }],
  }),
  series({
    title: 'Ended jobs', description: 'Jobs that ended within each step, by state.', unit: 'short', width: 12, stacked: 'bars', decimals: 0,
    named: ['completed', 'cancelled', 'failed', 'timeout', 'node_fail', 'out_of_memory', 'preempted'],
    queries: [{ expr: `${sum(growth('slurm_jobs_ended_total', ['partition', 'state']), ['state'])} > 0`, legend: '{{state}}' }],
  }),
];

/** The entry page: health and utilization of all clusters. */
export const overview = () => framed({
  uid: 'slurmtide-overview', title: 'Slurm / Cluster overview',
  description: 'Summary of Slurm clusters: their health, their utilization and pending jobs.',
  rows: [
    { title: 'Now', panels: [...now, clusters] },
    { title: 'Allocation', panels: use },
    { title: 'Jobs and nodes', panels: jobs },
  ],
});
