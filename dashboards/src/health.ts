import { framed } from './frame.js';
import { bars, number, rows, series } from './panels.js';
import { gauge, rate, ratio, sum } from './queries.js';
import { badFrom, goodFromOne, steps } from './style.js';

const yes = { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } };
/** Selects processes of the exporter, the adapter and the operator. */
const ours = 'and on (job, instance) ({__name__=~"slurm_exporter_build_info|slurm_metrics_adapter_build_info|slurm_operator_slurm_up"})';
const mean = (seconds: string, count: string, by: string[] = []) => ratio(rate(seconds, by), rate(count, by));

const now = [
  number({ title: 'Slurm readable', description: 'Whether slurmctld responds and the last polls succeeded, in every cluster.', unit: 'short', width: 4, query: { expr: 'min(max by (cluster) (slurm_up{cluster=~"$cluster"}))' }, thresholds: goodFromOne(), words: yes, past: 'hidden' }),
  number({ title: 'Controllers up', description: 'Instances of slurmctld that answer slurmrestd\'s ping, including backups.', unit: 'short', width: 4, query: { expr: sum(gauge('slurm_controller_up', ['controller', 'role'])) }, thresholds: goodFromOne(), past: 'hidden' }),
  number({ title: 'Oldest data', description: 'Age of the oldest resource. Shares and QOS are read every five minutes.', unit: 's', width: 4, decimals: 0, query: { expr: 'max(min by (cluster, resource) (slurm_exporter_snapshot_age_seconds{cluster=~"$cluster"}))' }, thresholds: badFrom(600, 1200) }),
  number({ title: 'Token expires in', description: 'Time until the current token for slurmrestd expires. Tokens that are renewed in time do not come close to 0.', unit: 's', width: 4, decimals: 0, noValue: 'not known', query: { expr: 'min(max by (cluster) (slurm_exporter_token_expiry_time_seconds{cluster=~"$cluster"})) - time()' }, thresholds: steps('red', [900, 'orange'], [3600, 'green']) }),
  number({ title: 'Server threads', description: 'Threads of slurmctld that serve requests; it stops answering at 256.', unit: 'short', width: 4, query: { expr: 'max(' + gauge('slurm_controller_server_threads') + ')' }, thresholds: badFrom(100, 200) }),
  number({ title: 'Waiting for slurmdbd', description: 'Messages that wait for slurmdbd. They accumulate while slurmdbd is down.', unit: 'short', width: 4, query: { expr: 'max(' + gauge('slurm_controller_dbd_queue_length') + ')' }, thresholds: badFrom(1000, 10000) }),
];

const scheduler = [
  series({
    title: 'Cycle duration', description: 'Mean duration of the cycles of the main and the backfill scheduler.', unit: 's', width: 8,
    queries: [
      { expr: mean('slurm_scheduler_cycle_seconds_total', 'slurm_scheduler_cycles_total'), legend: 'main {{cluster}}' },
      { expr: mean('slurm_backfill_cycle_seconds_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}' },
    ],
  }),
  series({
    title: 'Jobs considered in a cycle', description: 'Mean depth of the cycles of both schedulers, and the jobs that backfill tried to start.', unit: 'short', width: 8,
    queries: [
      { expr: mean('slurm_scheduler_depth_total', 'slurm_scheduler_cycles_total'), legend: 'main {{cluster}}' },
      { expr: mean('slurm_backfill_depth_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}' },
      { expr: mean('slurm_backfill_tried_depth_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}, tried' },
    ],
  }),
  series({
    title: 'Why cycles end', description: 'Cycles per minute by the reason for which they ended. Any reason but the end of the queue means that some jobs were not considered.', unit: 'suffix:/min', width: 8, stacked: 'areas',
    queries: [
      { expr: `${sum(rate('slurm_scheduler_exits_total', ['reason']), ['reason'])} * 60 > 0`, legend: 'main: {{reason}}' },
      { expr: `${sum(rate('slurm_backfill_exits_total', ['reason']), ['reason'])} * 60 > 0`, legend: 'backfill: {{reason}}' },
    ],
  }),
  series({
    title: 'Jobs through slurmctld', description: 'Jobs submitted, started, completed, cancelled and failed per minute, as slurmctld counts them.', unit: 'suffix:/min', width: 8,
    queries: ['submitted', 'started', 'completed', 'canceled', 'failed'].map((what) => ({ expr: `${sum(rate(`slurm_controller_jobs_${what}_total`))} * 60`, legend: what })),
  }),
  series({
    title: 'Queues', description: 'Jobs in the schedulers\' queues in their last cycles.', unit: 'short', width: 8,
    queries: [
      { expr: sum(gauge('slurm_scheduler_queue_length')), legend: 'main' },
      { expr: sum(gauge('slurm_backfill_queue_length')), legend: 'backfill' },
    ],
  }),
  series({
    title: 'Started by backfill', description: 'Jobs per minute that backfill started ahead of their turn.', unit: 'suffix:/min', width: 8,
    queries: [{ expr: `${sum(rate('slurm_backfill_jobs_total'))} * 60`, legend: 'by backfill' }],
  }),
];

const controller = [
  series({
    title: 'Remote procedure calls', description: 'The ten most frequent calls to slurmctld, per second.', unit: 'ops', width: 12, decimals: 2, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: `topk(10, ${sum(rate('slurm_rpc_requests_total', ['type']), ['type'])})`, legend: '{{type}}' }],
  }),
  series({
    title: 'Time in remote procedure calls', description: 'The ten calls on which slurmctld spends the most time, in seconds per second; 100 % is one thread that is always busy.', unit: 'percentunit', width: 12, decimals: 3, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: `topk(10, ${sum(rate('slurm_rpc_seconds_total', ['type']), ['type'])})`, legend: '{{type}}' }],
  }),
  series({
    title: 'Threads and agents of slurmctld', description: 'Threads that serve requests, agents that send messages to nodes, and messages that wait for an agent.', unit: 'short', width: 12,
    queries: [
      { expr: sum(gauge('slurm_controller_server_threads')), legend: 'server threads' },
      { expr: sum(gauge('slurm_controller_agents')), legend: 'agents' },
      { expr: sum(gauge('slurm_controller_agent_queue_length')), legend: 'messages to nodes' },
      { expr: sum(gauge('slurm_controller_dbd_queue_length')), legend: 'messages to slurmdbd' },
    ],
  }),
  series({
    title: 'Ping latency', description: 'Time that each slurmctld took to answer slurmrestd\'s ping.', unit: 's', width: 12,
    queries: [{ expr: gauge('slurm_controller_latency_seconds', ['controller', 'role']), legend: '{{controller}} ({{role}}) {{cluster}}' }],
  }),
];

const polls = [
  series({
    title: 'Age of the data', description: 'Time since each resource was last read from Slurm. If a line keeps rising, the resource cannot be read.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: 'max by (resource) (min by (cluster, resource) (slurm_exporter_snapshot_age_seconds{cluster=~"$cluster"}))', legend: '{{resource}}' }],
  }),
  series({
    title: 'Poll duration', description: 'Duration of the last poll of each resource.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: 'max by (resource) (slurm_exporter_poll_duration_seconds{cluster=~"$cluster"})', legend: '{{resource}}' }],
  }),
  series({
    title: 'Requests to slurmrestd', description: 'Requests per minute by HTTP status; 0 means no response, 304 means no change.', unit: 'suffix:/min', width: 8, stacked: 'areas',
    queries: [{ expr: 'sum by (status) (rate(slurm_exporter_requests_total{cluster=~"$cluster"}[$__rate_interval])) * 60', legend: '{{status}}' }],
  }),
  series({
    title: 'Request duration', description: '95th percentile of the duration of requests to slurmrestd, by operation.', unit: 's', width: 8,
    queries: [{ expr: 'histogram_quantile(0.95, sum by (operation, le) (rate(slurm_exporter_request_duration_seconds_bucket{cluster=~"$cluster"}[$__rate_interval])))', legend: '{{operation}}' }],
  }),
  series({
    title: 'Read from slurmrestd', description: 'Bytes of responses per second, by operation.', unit: 'Bps', width: 8, stacked: 'areas',
    queries: [{ expr: 'sum by (operation) (rate(slurm_exporter_response_bytes_total{cluster=~"$cluster"}[$__rate_interval]))', legend: '{{operation}}' }],
  }),
  rows({
    title: 'Slurm releases', description: 'The release of slurmrestd and the API version in use, for each cluster.', width: 8,
    labels: { cluster: 'Cluster', release: 'Release', api_version: 'API' }, sort: { by: 'Cluster', descending: false },
    columns: [{ name: 'Here', expr: 'max by (cluster, release, api_version) (slurm_cluster_info{cluster=~"$cluster"})', shown: 'no' }],
  }),
  rows({
    title: 'Resources', description: 'Whether the last poll of each resource succeeded, and the number of consecutive failures.', width: 8,
    labels: { cluster: 'Cluster', resource: 'Resource' }, sort: { by: 'Failed in a row', descending: true },
    columns: [
      { name: 'Read', expr: gauge('slurm_exporter_resource_up', ['resource']), words: yes },
      { name: 'Failed in a row', expr: gauge('slurm_exporter_poll_consecutive_failures', ['resource']), decimals: 0, thresholds: badFrom(1, 3) },
      { name: 'Pause', expr: gauge('slurm_exporter_poll_period_seconds', ['resource']), unit: 's', decimals: 0 },
    ],
  }),
  bars({
    title: 'Series by collector', description: 'Number of series of each collector, which Prometheus stores.', unit: 'short', width: 8, decimals: 0,
    query: { expr: `sort_desc(${sum(gauge('slurm_exporter_collector_series', ['collector']), ['collector'])} > 0)`, legend: '{{collector}}' },
  }),
];

const stack = [
  series({
    title: 'Memory', description: 'Resident memory of the exporter, the adapter and the operator.', unit: 'bytes', width: 8,
    queries: [{ expr: `process_resident_memory_bytes ${ours}`, legend: '{{job}} {{instance}}' }],
  }),
  series({
    title: 'CPU', description: 'CPUs that the exporter, the adapter and the operator use.', unit: 'short', width: 8,
    queries: [{ expr: `rate(process_cpu_seconds_total[$__rate_interval]) ${ours}`, legend: '{{job}} {{instance}}' }],
  }),
  series({
    title: 'Reconciliations', description: 'Reconciliations of the operator per minute, by result. Persistent errors are in its log.', unit: 'suffix:/min', width: 8,
    queries: [{ expr: 'sum by (controller, result) (rate(controller_runtime_reconcile_total{controller=~"nodeset|wakeup|cluster|token"}[$__rate_interval])) * 60 > 0', legend: '{{controller}}: {{result}}' }],
  }),
  rows({
    title: 'Clusters as the operator sees them', description: 'Whether the operator can read each Slurm cluster, and the age of its data. Without a fresh reading the operator deletes nothing.', width: 12,
    labels: { cluster: 'Cluster' }, sort: { by: 'Cluster', descending: false },
    columns: [
      { name: 'Read', expr: 'max by (cluster) (slurm_operator_slurm_up)', words: yes },
      { name: 'Age', expr: 'max by (cluster) (min by (cluster, resource) (slurm_operator_reading_age_seconds))', unit: 's', decimals: 0, thresholds: badFrom(60, 300) },
    ],
  }),
  series({
    title: 'Requests of the operator', description: '95th percentile of the duration of the operator\'s requests to slurmrestd, by operation.', unit: 's', width: 12,
    queries: [{ expr: 'histogram_quantile(0.95, sum by (operation, le) (rate(slurm_operator_slurm_request_duration_seconds_bucket[$__rate_interval])))', legend: '{{operation}}' }],
  }),
];

/** The health of Slurm's programs and of ours. */
export const health = () => framed({
  uid: 'slurmtide-health', title: 'Slurm / Scheduler and stack health',
  description: 'slurmctld and its schedulers, and the programs that read Slurm: exporter, adapter and operator.', from: 'now-3h',
  rows: [
    { title: 'Now', panels: now },
    { title: 'Scheduler', panels: scheduler },
    { title: 'slurmctld', panels: controller },
    { title: 'Reading Slurm', panels: polls },
    { title: 'Exporter, adapter, operator', panels: stack },
  ],
});
