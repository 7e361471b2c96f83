import { framed, partition } from './frame.js';
import { bars, buckets, number, rows, series } from './panels.js';
import { gauge, growth, quantile, ratio, sum } from './queries.js';
import { badFrom, classes, fullness, steps } from './style.js';

const chosen = 'partition=~"$partition"';
const each = (metric: string, by: string[] = [], extra?: string) => gauge(metric, ['partition', ...by], [chosen, extra].filter(Boolean).join(', '));
const oldest = 'time() - min by (cluster, partition) (slurm_partition_oldest_eligible_time_seconds{cluster=~"$cluster", partition=~"$partition"})';

const now = [
  number({ title: 'Pending', description: 'Pending jobs of these partitions, whatever their reason; a job in several partitions counts in each.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_pending_jobs')) } }),
  number({ title: 'Eligible', description: 'Pending jobs that more nodes would help: neither held nor waiting for a time, another job, a licence or a limit.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_eligible_pending_jobs')) } }),
  number({ title: 'Running', description: 'Running jobs of these partitions.', unit: 'short', width: 4, query: { expr: sum(each('slurm_partition_jobs', ['state'], 'state="running"')) } }),
  number({ title: 'Longest wait', description: 'Longest time that a pending job has been eligible.', unit: 's', width: 4, decimals: 0, query: { expr: `max(${oldest}) or vector(0)` }, thresholds: badFrom(4 * 3600, 24 * 3600) }),
  number({ title: 'Median wait', description: 'Median time from when jobs became eligible until they started, for jobs that started within the time range.', unit: 's', width: 4, decimals: 0, past: 'hidden', noValue: 'none started', query: { expr: `histogram_quantile(0.5, sum by (le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[$__range]))))` } }),
  number({ title: 'Unsatisfiable', description: 'Pending jobs that no node of the partition can ever run. Their users must change them.', unit: 'short', width: 4, query: { expr: `${sum(each('slurm_partition_unsatisfiable_jobs', ['reason']))} or vector(0)` }, thresholds: steps('green', [1, 'orange']) }),
];

const partitions = rows({
  title: 'Partitions', description: 'One row per partition.', width: 24, height: 8,
  labels: { cluster: 'Cluster', partition: 'Partition' }, sort: { by: 'Pending', descending: true }, leads: { label: 'partition', uid: 'slurmtide-queue' },
  columns: [
    { name: 'State', expr: `max by (cluster, partition) (slurm_partition_state{cluster=~"$cluster", ${chosen}, state="up"})`, words: { 0: { text: 'not up', color: 'red' }, 1: { text: 'up', color: 'green' } } },
    { name: 'Running', expr: gauge('slurm_partition_jobs', ['partition'], `${chosen}, state="running"`), decimals: 0 },
    { name: 'Pending', expr: each('slurm_partition_pending_jobs'), decimals: 0 },
    { name: 'Eligible', expr: each('slurm_partition_eligible_pending_jobs'), decimals: 0 },
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
    title: 'Wait for start', unit: 's', width: 12,
    description: 'Time from when jobs became eligible until they started. Columns are steps of time, rows are ranges of waiting time, and darker cells have more jobs.',
    query: sum(growth('slurm_job_start_wait_seconds_bucket', ['partition', 'le'], chosen), ['le']),
  }),
  buckets({
    title: 'Wait for eligibility', unit: 's', width: 12,
    description: 'Time from the submission of started jobs until they were eligible. They waited for a dependency, a begin time or a limit, not for capacity.',
    query: sum(growth('slurm_job_eligible_wait_seconds_bucket', ['partition', 'le'], chosen), ['le']),
  }),
  series({
    title: 'Wait for start by partition', description: '95th percentile of the waiting time of jobs that started in the last 15 minutes.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: `histogram_quantile(0.95, sum by (partition, le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[15m]))))`, legend: '{{partition}}' }],
  }),
  series({
    title: 'Wait for start, all partitions', description: '50th, 90th and 99th percentile of the waiting time.', unit: 's', width: 12,
    queries: [0.5, 0.9, 0.99].map((q) => ({ expr: quantile(q, 'slurm_job_start_wait_seconds', ['partition'], [], chosen), legend: `${q * 100} %` })),
  }),
];

const reasons = [
  series({
    title: 'Pending jobs by partition', description: 'Pending jobs, whatever their reason.', unit: 'short', width: 12, stacked: 'areas',
    queries: [{ expr: sum(each('slurm_partition_pending_jobs'), ['partition']), legend: '{{partition}}' }],
  }),
  series({
    title: 'Pending jobs by class', description: 'Pending jobs by the class of Slurm\'s reason. More nodes help only jobs of the class capacity.', unit: 'short', width: 12, stacked: 'areas',
    named: classes,
    queries: [{ expr: `${sum(each('slurm_partition_pending_jobs_by_class', ['class']), ['class'])} > 0`, legend: '{{class}}' }],
  }),
  bars({
    title: 'Pending jobs by reason', description: 'Pending jobs by Slurm\'s reason.', unit: 'short', width: 12, decimals: 0,
    query: { expr: `sort_desc(${sum(each('slurm_partition_pending_jobs_by_reason', ['reason', 'class']), ['reason'])} > 0)`, legend: '{{reason}}' },
  }),
  rows({
    title: 'Unsatisfiable jobs', description: 'Pending jobs that no node of their partition can ever run, by reason.', width: 12,
    labels: { cluster: 'Cluster', partition: 'Partition', reason: 'Reason' }, sort: { by: 'Jobs', descending: true }, widths: { Cluster: 120, Partition: 120, Jobs: 70 },
    columns: [{ name: 'Jobs', expr: `${each('slurm_partition_unsatisfiable_jobs', ['reason'])} > 0`, decimals: 0 }],
  }),
];

/** Pending jobs of partitions, their waiting times and reasons. */
export const queue = () => framed({
  uid: 'slurmtide-queue', title: 'Slurm / Partitions and queue',
  description: 'Partitions, their pending jobs, waiting times and reasons.', variables: [partition()],
  rows: [
    { title: 'Now', panels: [...now, partitions] },
    { title: 'Waiting times', panels: waits },
    { title: 'Reasons', panels: reasons },
  ],
});
