import { framed } from './frame.js';
import { bars, number, rows, series } from './panels.js';
import { gauge, rate, ratio, sum } from './queries.js';
import { badFrom, goodFromOne, steps } from './style.js';

const yes = { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } };
/** Processes that show one of our metrics. */
const ours = 'and on (job, instance) ({__name__=~"slurm_exporter_build_info|slurm_metrics_adapter_build_info|slurm_operator_slurm_up"})';
const mean = (seconds: string, count: string, by: string[] = []) => ratio(rate(seconds, by), rate(count, by));

const now = [
  number({ title: 'Slurm is read', description: 'Whether slurmctld answers and the last polls succeeded, in every cluster.', unit: 'short', width: 4, query: { expr: 'min(max by (cluster) (slurm_up{cluster=~"$cluster"}))' }, thresholds: goodFromOne(), words: yes, past: 'hidden' }),
  number({ title: 'Controllers up', description: 'slurmctlds that answer slurmrestd\'s ping, backups too.', unit: 'short', width: 4, query: { expr: sum(gauge('slurm_controller_up', ['controller', 'role'])) }, thresholds: goodFromOne(), past: 'hidden' }),
  number({ title: 'Oldest data', description: 'Age of the oldest resource of all that are read. Shares and QOS are read every five minutes.', unit: 's', width: 4, decimals: 0, query: { expr: 'max(min by (cluster, resource) (slurm_exporter_snapshot_age_seconds{cluster=~"$cluster"}))' }, thresholds: badFrom(600, 1200) }),
  number({ title: 'Token expires in', description: 'Time until the token in use for slurmrestd is no longer good. Tokens that are minted or read again never get near 0.', unit: 's', width: 4, decimals: 0, noValue: 'not known', query: { expr: 'min(max by (cluster) (slurm_exporter_token_expiry_time_seconds{cluster=~"$cluster"})) - time()' }, thresholds: steps('red', [900, 'orange'], [3600, 'green']) }),
  number({ title: 'Server threads', description: 'Threads of slurmctld that serve requests; it stops answering at 256.', unit: 'short', width: 4, query: { expr: 'max(' + gauge('slurm_controller_server_threads') + ')' }, thresholds: badFrom(100, 200) }),
  number({ title: 'Waiting for slurmdbd', description: 'Messages that wait for slurmdbd. They pile up while it is away.', unit: 'short', width: 4, query: { expr: 'max(' + gauge('slurm_controller_dbd_queue_length') + ')' }, thresholds: badFrom(1000, 10000) }),
];

const scheduler = [
  series({
    title: 'Time of a cycle', description: 'Mean time of the cycles of the main and of the backfill scheduler.', unit: 's', width: 8,
    queries: [
      { expr: mean('slurm_scheduler_cycle_seconds_total', 'slurm_scheduler_cycles_total'), legend: 'main {{cluster}}' },
      { expr: mean('slurm_backfill_cycle_seconds_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}' },
    ],
  }),
  series({
    title: 'Jobs looked at in a cycle', description: 'Mean depth of the cycles of both schedulers, and the jobs that backfill tried to start.', unit: 'short', width: 8,
    queries: [
      { expr: mean('slurm_scheduler_depth_total', 'slurm_scheduler_cycles_total'), legend: 'main {{cluster}}' },
      { expr: mean('slurm_backfill_depth_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}' },
      { expr: mean('slurm_backfill_tried_depth_total', 'slurm_backfill_cycles_total'), legend: 'backfill {{cluster}}, tried' },
    ],
  }),
  series({
    title: 'Why cycles end', description: 'Cycles per minute by why they ended. Anything but the end of the queue means that jobs were not looked at.', unit: 'cpm', width: 8, stacked: 'areas',
    queries: [
      { expr: `${sum(rate('slurm_scheduler_exits_total', ['reason']), ['reason'])} * 60 > 0`, legend: 'main: {{reason}}' },
      { expr: `${sum(rate('slurm_backfill_exits_total', ['reason']), ['reason'])} * 60 > 0`, legend: 'backfill: {{reason}}' },
    ],
  }),
  series({
    title: 'Jobs through slurmctld', description: 'Jobs submitted, started, completed, cancelled and failed per minute, as slurmctld counts.', unit: 'cpm', width: 8,
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
    title: 'Started by backfill', description: 'Jobs per minute that backfill started ahead of their turn.', unit: 'cpm', width: 8,
    queries: [{ expr: `${sum(rate('slurm_backfill_jobs_total'))} * 60`, legend: 'by backfill' }],
  }),
];

const controller = [
  series({
    title: 'Remote procedure calls', description: 'The ten most frequent calls to slurmctld, per second.', unit: 'ops', width: 12, decimals: 2, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: `topk(10, ${sum(rate('slurm_rpc_requests_total', ['type']), ['type'])})`, legend: '{{type}}' }],
  }),
  series({
    title: 'Time in remote procedure calls', description: 'The ten calls that take slurmctld the most time: seconds per second, so 100 % is one thread always at it.', unit: 'percentunit', width: 12, decimals: 3, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: `topk(10, ${sum(rate('slurm_rpc_seconds_total', ['type']), ['type'])})`, legend: '{{type}}' }],
  }),
  series({
    title: 'Threads and agents of slurmctld', description: 'Threads that serve requests, agents that send messages to nodes, and messages that wait for one.', unit: 'short', width: 12,
    queries: [
      { expr: sum(gauge('slurm_controller_server_threads')), legend: 'server threads' },
      { expr: sum(gauge('slurm_controller_agents')), legend: 'agents' },
      { expr: sum(gauge('slurm_controller_agent_queue_length')), legend: 'messages to nodes' },
      { expr: sum(gauge('slurm_controller_dbd_queue_length')), legend: 'messages to slurmdbd' },
    ],
  }),
  series({
    title: 'Answer to a ping', description: 'How long each slurmctld took to answer slurmrestd\'s ping.', unit: 's', width: 12,
    queries: [{ expr: gauge('slurm_controller_latency_seconds', ['controller', 'role']), legend: '{{controller}} ({{role}}) {{cluster}}' }],
  }),
];

const polls = [
  series({
    title: 'Age of the data', description: 'Time since each resource was last read from Slurm. A line that climbs is a resource that cannot be read.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: 'max by (resource) (min by (cluster, resource) (slurm_exporter_snapshot_age_seconds{cluster=~"$cluster"}))', legend: '{{resource}}' }],
  }),
  series({
    title: 'Time of polls', description: 'How long the last poll of each resource took.', unit: 's', width: 12, legend: ['lastNotNull', 'max'], legendAt: 'right',
    queries: [{ expr: 'max by (resource) (slurm_exporter_poll_duration_seconds{cluster=~"$cluster"})', legend: '{{resource}}' }],
  }),
  series({
    title: 'Requests to slurmrestd', description: 'Requests per minute by HTTP status; 0 is no answer, 304 is nothing new.', unit: 'cpm', width: 8, stacked: 'areas',
    queries: [{ expr: 'sum by (status) (rate(slurm_exporter_requests_total{cluster=~"$cluster"}[$__rate_interval])) * 60', legend: '{{status}}' }],
  }),
  series({
    title: 'Time of requests', description: 'Time that 95 of 100 requests to slurmrestd did not exceed, by operation.', unit: 's', width: 8,
    queries: [{ expr: 'histogram_quantile(0.95, sum by (operation, le) (rate(slurm_exporter_request_duration_seconds_bucket{cluster=~"$cluster"}[$__rate_interval])))', legend: '{{operation}}' }],
  }),
  series({
    title: 'Read from slurmrestd', description: 'Bytes of answers per second, by operation.', unit: 'Bps', width: 8, stacked: 'areas',
    queries: [{ expr: 'sum by (operation) (rate(slurm_exporter_response_bytes_total{cluster=~"$cluster"}[$__rate_interval]))', legend: '{{operation}}' }],
  }),
  rows({
    title: 'What is read', description: 'Each Slurm with the release of its slurmrestd and the version of slurmrestd\'s API that is used.', width: 8,
    labels: { cluster: 'Cluster', release: 'Release', api_version: 'API' }, sort: { by: 'Cluster', descending: false },
    columns: [{ name: 'Here', expr: 'max by (cluster, release, api_version) (slurm_cluster_info{cluster=~"$cluster"})', shown: 'no' }],
  }),
  rows({
    title: 'Resources', description: 'Whether the last poll of each resource succeeded, and how many failed in a row.', width: 8,
    labels: { cluster: 'Cluster', resource: 'Resource' }, sort: { by: 'Failed in a row', descending: true },
    columns: [
      { name: 'Read', expr: gauge('slurm_exporter_resource_up', ['resource']), words: yes },
      { name: 'Failed in a row', expr: gauge('slurm_exporter_poll_consecutive_failures', ['resource']), decimals: 0, thresholds: badFrom(1, 3) },
      { name: 'Pause', expr: gauge('slurm_exporter_poll_period_seconds', ['resource']), unit: 's', decimals: 0 },
    ],
  }),
  bars({
    title: 'Series by collector', description: 'Series that each collector shows: what Prometheus has to keep.', unit: 'short', width: 8, decimals: 0,
    query: { expr: `sort_desc(${sum(gauge('slurm_exporter_collector_series', ['collector']), ['collector'])} > 0)`, legend: '{{collector}}' },
  }),
];

const stack = [
  series({
    title: 'Memory', description: 'Resident memory of exporter, adapter and operator.', unit: 'bytes', width: 8,
    queries: [{ expr: `process_resident_memory_bytes ${ours}`, legend: '{{job}} {{instance}}' }],
  }),
  series({
    title: 'CPU', description: 'Processors that exporter, adapter and operator use.', unit: 'short', width: 8,
    queries: [{ expr: `rate(process_cpu_seconds_total[$__rate_interval]) ${ours}`, legend: '{{job}} {{instance}}' }],
  }),
  series({
    title: 'Reconciliations', description: 'Reconciliations of the operator per minute, by how they ended. Errors that go on are told in its log.', unit: 'cpm', width: 8,
    queries: [{ expr: 'sum by (controller, result) (rate(controller_runtime_reconcile_total{controller=~"nodeset|wakeup|cluster|token"}[$__rate_interval])) * 60 > 0', legend: '{{controller}}: {{result}}' }],
  }),
  rows({
    title: 'Clusters as the operator sees them', description: 'Whether the operator can read each Slurm cluster, and how old what it knows is. Without a fresh reading it deletes nothing.', width: 12,
    labels: { cluster: 'Cluster' }, sort: { by: 'Cluster', descending: false },
    columns: [
      { name: 'Read', expr: 'max by (cluster) (slurm_operator_slurm_up)', words: yes },
      { name: 'Age', expr: 'max by (cluster) (min by (cluster, resource) (slurm_operator_reading_age_seconds))', unit: 's', decimals: 0, thresholds: badFrom(60, 300) },
    ],
  }),
  series({
    title: 'Requests of the operator', description: 'Time that 95 of 100 requests of the operator to slurmrestd did not exceed, by operation.', unit: 's', width: 12,
    queries: [{ expr: 'histogram_quantile(0.95, sum by (operation, le) (rate(slurm_operator_slurm_request_duration_seconds_bucket[$__rate_interval])))', legend: '{{operation}}' }],
  }),
];

/** Whether Slurm's own programs and ours are well. */
export const health = () => framed({
  uid: 'slurmtide-health', title: 'Slurm / Scheduler and stack health',
  description: 'slurmctld and its schedulers, and the programs that read it: exporter, adapter, operator.', from: 'now-3h',
  rows: [
    { title: 'Now', panels: now },
    { title: 'Scheduler', panels: scheduler },
    { title: 'slurmctld', panels: controller },
    { title: 'Reading Slurm', panels: polls },
    { title: 'Exporter, adapter, operator', panels: stack },
  ],
});
