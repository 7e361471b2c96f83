import { choice, framed, partition } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, sum } from './queries.js';
import { badFrom, goodFromOne, steps } from './style.js';

const chosen = 'partition=~"$partition"';
const nodes = (kind: string) => sum(gauge(`slurm_partition_${kind}_nodes`, ['partition'], chosen));
const supply = `${nodes('busy')} + ${nodes('idle')} + ${nodes('booting')}`;
const range = (metric: string) => sum(`max by (cluster, partition) (avg_over_time(${metric}{cluster=~"$cluster", ${chosen}}[$__range]))`);

// kube-state-metrics tells of HPAs; those that scale a NodeSet are ours.
const ours = 'on (namespace, horizontalpodautoscaler) group_left (scaletargetref_name) max by (namespace, horizontalpodautoscaler, scaletargetref_name) (kube_horizontalpodautoscaler_info{scaletargetref_kind="NodeSet", namespace=~"$namespace", scaletargetref_name=~"$nodeset"})';
const hpa = (metric: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_${metric}{namespace=~"$namespace"}) * ${ours}`;
const condition = (name: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_condition{namespace=~"$namespace", condition="${name}", status="true"}) * ${ours}`;
const operator = (metric: string, by: string[], extra = '') => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (${metric}{namespace=~"$namespace", nodeset=~"$nodeset"${extra}})`;
const changes = (metric: string, by: string[]) => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (increase(${metric}{namespace=~"$namespace", nodeset=~"$nodeset"}[$__rate_interval]))`;
const drains = (q: number) => `histogram_quantile(${q}, sum by (cause, le) (increase(slurm_operator_worker_drain_duration_seconds_bucket[$__range])))`;

const now = [
  number({ title: 'Required nodes', description: 'Nodes that the partitions need now: the busy ones and those that eligible pending jobs need beyond the free ones.', unit: 'short', width: 4, query: { expr: nodes('required') } }),
  number({ title: 'Nodes there', description: 'Nodes that are busy, idle or booting.', unit: 'short', width: 4, query: { expr: supply } }),
  number({ title: 'Missing', description: 'Nodes that eligible pending jobs need beyond those that are idle or booting. A number that stays means that scaling out is blocked or at its maximum.', unit: 'short', width: 4, query: { expr: nodes('pending') }, thresholds: steps('green', [1, 'orange']) }),
  number({ title: 'Idle node-hours', description: 'Hours that nodes stood idle within the time shown, added up.', unit: 'short', width: 4, decimals: 2, past: 'hidden', query: { expr: `${range('slurm_partition_idle_nodes')} * $__range_s / 3600` } }),
  number({ title: 'Idle of all', description: 'Part of the node-hours within the time shown that nodes stood idle.', unit: 'percentunit', width: 4, max: 1, decimals: 0, past: 'hidden', thresholds: badFrom(0.25, 0.5), query: { expr: `${range('slurm_partition_idle_nodes')} / ((${range('slurm_partition_idle_nodes')} + ${range('slurm_partition_busy_nodes')}) > 0)` } }),
  number({ title: 'Scale-ins that wait', description: 'Workers that are to go and wait, for their jobs to end or for a reading of Slurm.', unit: 'short', width: 4, query: { expr: `sum(${operator('slurm_operator_workers_waiting', ['cause', 'for'])})` }, thresholds: steps('green', [1, 'orange']), noValue: 'no operator' }),
];

const demand = [
  series({
    title: 'Demand against supply', description: 'The nodes that are there, by what they do, and as a line what is required. The line above the areas: nodes are missing. Far below: they are idle.', unit: 'short', width: 16, height: 10, stacked: 'areas', steps: 'yes', dashed: '/required/', decimals: 0,
    queries: [
      { expr: nodes('busy'), legend: 'busy' }, { expr: nodes('booting'), legend: 'booting' }, { expr: nodes('idle'), legend: 'idle' },
      { expr: nodes('unusable'), legend: 'unusable' }, { expr: nodes('required'), legend: 'required' },
    ],
  }),
  series({
    title: 'Required nodes by partition', description: 'Nodes that each partition needs.', unit: 'short', width: 8, height: 10, steps: 'yes', decimals: 0,
    queries: [{ expr: sum(gauge('slurm_partition_required_nodes', ['partition'], chosen), ['partition']), legend: '{{partition}}' }],
  }),
  series({
    title: 'Replicas of NodeSets', description: 'What the HPA of each NodeSet wants, and what there is. From kube-state-metrics.', unit: 'short', width: 12, steps: 'yes', dashed: '/wanted|limit/', decimals: 0,
    queries: [
      { expr: hpa('status_current_replicas'), legend: '{{scaletargetref_name}}' },
      { expr: hpa('status_desired_replicas'), legend: '{{scaletargetref_name}} wanted' },
      { expr: hpa('spec_max_replicas'), legend: '{{scaletargetref_name}} limit' },
    ],
  }),
  rows({
    title: 'HPAs of NodeSets', description: 'Whether the HPA can read its metric (ScalingActive) and change the NodeSet (AbleToScale), and whether a limit holds it (ScalingLimited). From kube-state-metrics.', width: 12,
    labels: { namespace: 'Namespace', horizontalpodautoscaler: 'HPA', scaletargetref_name: 'NodeSet' }, sort: { by: 'HPA', descending: false }, widths: { Namespace: 110 },
    columns: [
      { name: 'Reads', expr: condition('ScalingActive'), words: { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } } },
      { name: 'Scales', expr: condition('AbleToScale'), words: { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } } },
      { name: 'At a limit', expr: condition('ScalingLimited'), words: { 0: { text: 'no', color: 'green' }, 1: { text: 'yes', color: 'orange' } } },
      { name: 'Now', expr: hpa('status_current_replicas'), decimals: 0 },
      { name: 'Wanted', expr: hpa('status_desired_replicas'), decimals: 0 },
      { name: 'Least', expr: hpa('spec_min_replicas'), decimals: 0 },
      { name: 'Most', expr: hpa('spec_max_replicas'), decimals: 0 },
    ],
  }),
];

const reaction = [
  series({
    title: 'Reaction', description: 'How long jobs that started had waited since they could run. Where nodes come by demand, this is the time until a node is there.', unit: 's', width: 12,
    queries: [0.5, 0.95].map((q) => ({ expr: `histogram_quantile(${q}, sum by (le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[15m]))))`, legend: `${q * 100} % of jobs` })),
  }),
  series({
    title: 'Longest wait now', description: 'How long the job has waited that has been able to run for the longest time, by partition.', unit: 's', width: 12,
    queries: [{ expr: `time() - min by (partition) (slurm_partition_oldest_eligible_time_seconds{cluster=~"$cluster", ${chosen}})`, legend: '{{partition}}' }],
  }),
  series({
    title: 'Workers that come and go', description: 'Workers\' pods that the operator made and deleted in each step, by why they had to go.', unit: 'short', width: 8, stacked: 'bars', decimals: 0,
    queries: [
      { expr: `sum(${changes('slurm_operator_workers_created_total', [])})`, legend: 'created' },
      { expr: `sum by (cause) (${changes('slurm_operator_workers_deleted_total', ['cause'])})`, legend: 'deleted: {{cause}}' },
    ],
  }),
  series({
    title: 'Workers that wait to go', description: 'Workers that are to go, by why, and for what they wait: for jobs to end, or for a reading of Slurm, without which nothing is deleted.', unit: 'short', width: 8, stacked: 'areas', decimals: 0, steps: 'yes',
    queries: [{ expr: `sum by (cause, for) (${operator('slurm_operator_workers_waiting', ['cause', 'for'])})`, legend: '{{cause}}, for {{for}}' }],
  }),
  rows({
    title: 'How long a drain takes', description: 'Time from the choice of a worker that is to go until it was deleted, within the time shown, by why it had to go.', width: 8,
    labels: { cause: 'Cause' }, sort: { by: 'Cause', descending: false },
    columns: [
      { name: 'Median', expr: drains(0.5), unit: 's', decimals: 0 },
      { name: '95 %', expr: drains(0.95), unit: 's', decimals: 0 },
      { name: 'Workers', expr: 'sum by (cause) (increase(slurm_operator_worker_drain_duration_seconds_count[$__range]))', decimals: 0 },
    ],
  }),
];

const blocked = [
  series({
    title: 'Idle nodes', description: 'Nodes that could start a job and have none, by partition: what scaling in would save.', unit: 'short', width: 8, steps: 'yes', decimals: 0, stacked: 'areas',
    queries: [{ expr: sum(gauge('slurm_partition_idle_nodes', ['partition'], chosen), ['partition']), legend: '{{partition}}' }],
  }),
  rows({
    title: 'Demand that no node can meet', description: 'Pending jobs that no node of their partition could run, and why. They do not count as demand.', width: 8,
    labels: { cluster: 'Cluster', partition: 'Partition', reason: 'Reason' }, sort: { by: 'Jobs', descending: true }, widths: { Jobs: 80 },
    columns: [{ name: 'Jobs', expr: `${gauge('slurm_partition_unsatisfiable_jobs', ['partition', 'reason'], chosen)} > 0`, decimals: 0 }],
  }),
  rows({
    title: 'Metrics APIs', description: 'Whether the API server reaches the adapter. Without it HPAs stand still. From the API server\'s own metrics.', width: 8,
    labels: { name: 'APIService' }, sort: { by: 'APIService', descending: false },
    columns: [{ name: 'Available', expr: '1 - max by (name) (aggregator_unavailable_apiservice{name=~".*(custom|external)[.]metrics[.]k8s[.]io|v1alpha1[.]view[.]slinky[.]slurm[.]net"})', thresholds: goodFromOne(), words: { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } }, width: 110 }],
  }),
];

/** Whether nodes come and go as jobs do. */
export const autoscaling = () => framed({
  uid: 'slurmtide-autoscaling', title: 'Slurm / Autoscaling',
  description: 'Demand of jobs against the nodes that are there, how fast nodes come, what keeps them from going.', from: 'now-3h',
  variables: [
    partition(),
    choice('namespace', 'Namespace', 'label_values(kube_horizontalpodautoscaler_info{scaletargetref_kind="NodeSet"}, namespace)', 'Namespaces of NodeSets that an HPA scales'),
    choice('nodeset', 'NodeSet', 'label_values(kube_horizontalpodautoscaler_info{scaletargetref_kind="NodeSet", namespace=~"$namespace"}, scaletargetref_name)', 'NodeSets that an HPA scales'),
  ],
  rows: [
    { title: 'Now', panels: now },
    { title: 'Demand and supply', panels: demand },
    { title: 'Reaction', panels: reaction },
    { title: 'What is idle, what is blocked', panels: blocked },
  ],
});
