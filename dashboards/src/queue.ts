import { framed, partition } from './frame.js';
import { bars, buckets, number, rows, series } from './panels.js';
import { gauge, growth, quantile, ratio, sum } from './queries.js';
import { badFrom, classes, fullness, steps } from './style.js';

const chosen = 'partition=~"$partition"';
const each = (metric: string, by: string[] = [], extra?: string) => gauge(metric, ['partition', ...by], [chosen, extra].filter(Boolean).join(', '));
const oldest = 'time() - min by (cluster, partition) (slurm_partition_oldest_eligible_time_seconds{cluster=~"$cluster", partition=~"$partition"})';

const now = [
  number({ title: 'Pending', description: 'Pending jobs of these partitions, whatever they wait for; a job in several partitions counts in each.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_pending_jobs')) } }),
  number({ title: 'Could run', description: 'Pending jobs that more nodes would help: neither held nor waiting for a time, a job, a licence or a limit.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_eligible_pending_jobs')) } }),
  number({ title: 'Running', description: 'Jobs that run in these partitions.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_jobs', ['state'], 'state="running"')) } }),
  number({ title: 'Longest wait', description: 'How long the job has waited that has been able to run for the longest time.', unit: 's', width: 4, decimals: 0, query: { expr: `max(${oldest}) or vector(0)` }, thresholds: badFrom(4 * 3600, 24 * 3600) }),
  number({ title: 'Median wait', description: 'Half of the jobs that started within the time shown had waited no longer since they could run.', unit: 's', width: 4, decimals: 0, past: 'hidden', noValue: 'none started', query: { expr: `histogram_quantile(0.5, sum by (le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[$__range]))))` } }),
  number({ title: 'Can never run', description: 'Pending jobs that no node of the partition could run. Their owners must change them.', unit: 'short', width: 4, query: { expr: `${sum(each('slurm_partition_unsatisfiable_jobs', ['reason']))} or vector(0)` }, thresholds: steps('green', [1, 'orange']) }),
];

const partitions = rows({
  title: 'Partitions', description: 'Each partition in a line.', width: 24, height: 8,
  labels: { cluster: 'Cluster', partition: 'Partition' }, sort: { by: 'Pending', descending: true }, leads: { label: 'partition', uid: 'slurmtide-queue' },
  columns: [
    { name: 'State', expr: `max by (cluster, partition) (slurm_partition_state{cluster=~"$cluster", ${chosen}, state="up"})`, words: { 0: { text: 'not up', color: 'red' }, 1: { text: 'up', color: 'green' } } },
    { name: 'Running', expr: gauge('slurm_partition_jobs', ['partition'], `${chosen}, state="running"`), decimals: 0 },
    { name: 'Pending', expr: each('slurm_partition_pending_jobs'), decimals: 0 },
    { name: 'Could run', expr: each('slurm_partition_eligible_pending_jobs'), decimals: 0 },
    { name: 'Longest wait', expr: oldest, unit: 's', decimals: 0, thresholds: badFrom(4 * 3600, 24 * 3600) },
    { name: 'Busy nodes', expr: each('slurm_partition_busy_nodes'), decimals: 0 },
    { name: 'Idle nodes', expr: each('slurm_partition_idle_nodes'), decimals: 0 },
    { name: 'Required nodes', expr: each('slurm_partition_required_nodes'), decimals: 0 },
    { name: 'CPUs allocated', expr: ratio(gauge('slurm_partition_cpus', ['partition'], `${chosen}, state="allocated"`), sum(each('slurm_partition_cpus', ['state']), ['cluster', 'partition'])), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
    { name: 'Time limit', expr: each('slurm_partition_max_time_seconds'), unit: 's', decimals: 0, endless: 'none' },
  ],
});

const waits = [
  buckets({
    title: 'Waiting for a start', unit: 's', width: 12,
    description: 'How long the jobs that started had waited since they could run: one column for each step of time, one line for each span of waiting, darker where more jobs fell.',
    query: sum(growth('slurm_job_start_wait_seconds_bucket', ['partition', 'le'], chosen), ['le']),
  }),
  buckets({
    title: 'Waiting to be eligible', unit: 's', width: 12,
    description: 'How long the jobs that started had waited after their submission for what is not capacity: a dependency, a begin time, a limit.',
    query: sum(growth('slurm_job_eligible_wait_seconds_bucket', ['partition', 'le'], chosen), ['le']),
  }),
  series({
    title: 'Wait for a start, by partition', description: 'The wait that 95 of 100 jobs did not exceed, of the jobs that started in the quarter of an hour before.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: `histogram_quantile(0.95, sum by (partition, le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[15m]))))`, legend: '{{partition}}' }],
  }),
  series({
    title: 'Wait for a start, all', description: 'Waits that 50, 90 and 99 of 100 jobs did not exceed.', unit: 's', width: 12,
    queries: [0.5, 0.9, 0.99].map((q) => ({ expr: quantile(q, 'slurm_job_start_wait_seconds', ['partition'], [], chosen), legend: `${q * 100} %` })),
  }),
];

const reasons = [
  series({
    title: 'Pending jobs by partition', description: 'Pending jobs, whatever they wait for.', unit: 'short', width: 12, stacked: 'areas',
    queries: [{ expr: sum(each('slurm_partition_pending_jobs'), ['partition']), legend: '{{partition}}' }],
  }),
  series({
    title: 'What they wait for', description: 'Pending jobs by the class of Slurm\'s reason. Only those of the class capacity would be helped by more nodes.', unit: 'short', width: 12, stacked: 'areas',
    named: classes,
    queries: [{ expr: `${sum(each('slurm_partition_pending_jobs_by_class', ['class']), ['class'])} > 0`, legend: '{{class}}' }],
  }),
  bars({
    title: 'Reasons now', description: 'Pending jobs by Slurm\'s reason.', unit: 'short', width: 12, decimals: 0,
    query: { expr: `sort_desc(${sum(each('slurm_partition_pending_jobs_by_reason', ['reason', 'class']), ['reason'])} > 0)`, legend: '{{reason}}' },
  }),
  rows({
    title: 'Jobs that can never run', description: 'Pending jobs that no node of their partition could run, and why.', width: 12,
    labels: { cluster: 'Cluster', partition: 'Partition', reason: 'Reason' }, sort: { by: 'Jobs', descending: true }, widths: { Cluster: 120, Partition: 120, Jobs: 70 },
    columns: [{ name: 'Jobs', expr: `${each('slurm_partition_unsatisfiable_jobs', ['reason'])} > 0`, decimals: 0 }],
  }),
];

/** Who waits where, for how long and why. */
export const queue = () => framed({
  uid: 'slurmtide-queue', title: 'Slurm / Partitions and queue',
  description: 'Partitions, what waits in them, for how long and for what.', variables: [partition()],
  rows: [
    { title: 'Now', panels: [...now, partitions] },
    { title: 'Waiting times', panels: waits },
    { title: 'Reasons', panels: reasons },
  ],
});
