import { choice, framed, partition } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, sum, total } from './queries.js';
import { badFrom, classes, goodFromOne, steps } from './style.js';

const chosen = 'partition=~"$partition"';
const served = 'namespace=~"$namespace", nodeset=~"$nodeset"';
const one = ['namespace', 'nodeset'];

/** A metric of each selected NodeSet. */
const of = (metric: string, by: string[] = [], extra = '') => gauge(`slurm_nodeset_${metric}`, [...one, ...by], served + extra);
const nodes = (kind: string) => sum(of(`${kind}_nodes`));
const supply = sum(`${of('busy_nodes')} + ${of('idle_nodes')} + ${of('booting_nodes')}`);
const hours = (state: string) => `${sum(total('slurm_nodeset_node_seconds_total', one, `${served}, state="${state}"`))} / 3600`;

// Selects the HPAs that scale a NodeSet from the metrics of kube-state-metrics.
const ours = 'on (namespace, horizontalpodautoscaler) group_left (scaletargetref_name) max by (namespace, horizontalpodautoscaler, scaletargetref_name) (kube_horizontalpodautoscaler_info{scaletargetref_kind="NodeSet", namespace=~"$namespace", scaletargetref_name=~"$nodeset"})';
const hpa = (metric: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_${metric}{namespace=~"$namespace"}) * ${ours}`;
const condition = (name: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_condition{namespace=~"$namespace", condition="${name}", status="true"}) * ${ours}`;
const operator = (metric: string, by: string[], extra = '') => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (${metric}{namespace=~"$namespace", nodeset=~"$nodeset"${extra}})`;
const changes = (metric: string, by: string[]) => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (increase(${metric}{namespace=~"$namespace", nodeset=~"$nodeset"}[$__rate_interval]))`;
const drains = (q: number) => `histogram_quantile(${q}, sum by (cause, le) (increase(slurm_operator_worker_drain_duration_seconds_bucket[$__range])))`;

const now = [
  number({ title: 'Required nodes', description: 'Nodes that the NodeSets should run now, as HPAs read it: busy nodes, nodes that pending jobs need, nodes within the idle grace, and replacements.', unit: 'short', width: 4, query: { expr: nodes('required') } }),
  number({ title: 'Available nodes', description: 'Nodes of the NodeSets that are busy, idle or booting.', unit: 'short', width: 4, query: { expr: supply } }),
  number({ title: 'Missing', description: 'Nodes that eligible pending jobs need in addition to idle and booting nodes. A value that persists means that scaling out is blocked or at its maximum.', unit: 'short', width: 4, query: { expr: nodes('pending') }, thresholds: steps('green', [1, 'orange']) }),
  number({ title: 'Idle node-hours', description: 'Sum of the hours during which nodes were idle, within the time range. Time without data does not count.', unit: 'short', width: 4, decimals: 2, past: 'hidden', query: { expr: `${hours('idle')}` } }),
  number({ title: 'Idle ratio', description: 'Ratio of idle node-hours to idle and busy node-hours, within the time range.', unit: 'percentunit', width: 4, max: 1, decimals: 0, past: 'hidden', thresholds: badFrom(0.25, 0.5), query: { expr: `${hours('idle')} / (${hours('idle')} + ${hours('busy')} > 0)` } }),
  number({ title: 'Waiting scale-ins', description: 'Workers that are being removed and wait for their jobs to end or for a reading of Slurm.', unit: 'short', width: 4, query: { expr: `sum(${operator('slurm_operator_workers_waiting', ['cause', 'for'])})` }, thresholds: steps('green', [1, 'orange']), noValue: 'no operator' }),
];

const demand = [
  series({
    title: 'Demand and supply', description: 'Areas: existing nodes by state. Lines: required nodes and spec.replicas. If a line is above the areas, nodes are missing; if it is far below, nodes are idle.', unit: 'short', width: 12, height: 10, stacked: 'areas', steps: 'yes', dashed: '/required|replicas/', decimals: 0,
    queries: [
      { expr: nodes('busy'), legend: 'busy' }, { expr: nodes('booting'), legend: 'booting' }, { expr: nodes('idle'), legend: 'idle' },
      { expr: nodes('unusable'), legend: 'unusable' }, { expr: sum(of('replicas')), legend: 'replicas' }, { expr: nodes('required'), legend: 'required' },
    ],
  }),
  series({
    title: 'Components of required nodes', description: 'Busy nodes, free nodes that pending jobs will use, free nodes within the idle grace, additional nodes that pending jobs need, and replacements of unusable nodes. If the areas exceed the line, the maximum limits the required nodes.', unit: 'short', width: 12, height: 10, stacked: 'areas', steps: 'yes', dashed: '/required/', decimals: 0,
    queries: [
      { expr: nodes('busy'), legend: 'busy' }, { expr: nodes('claimed'), legend: 'claimed' },
      { expr: sum(`clamp_min(${of('grace_nodes')} - ${of('claimed_nodes')}, 0)`), legend: 'in grace' },
      { expr: nodes('pending'), legend: 'pending' }, { expr: nodes('replacement'), legend: 'replacements' }, { expr: nodes('required'), legend: 'required' },
    ],
  }),
  rows({
    title: 'NodeSets', description: 'One row per NodeSet: its nodes, the pending jobs of the partitions that it serves, and those of them that create demand for it. Without numbers its HPA gets an error and does not scale, because Slurm was read too long ago or never.', width: 24, height: 6,
    labels: { cluster: 'Cluster', namespace: 'Namespace', nodeset: 'NodeSet' }, sort: { by: 'NodeSet', descending: false }, widths: { Cluster: 150, Namespace: 120, NodeSet: 150 },
    columns: [
      { name: 'Numbers', expr: of('known'), words: { 0: { text: 'none', color: 'red' }, 1: { text: 'known', color: 'green' } } },
      { name: 'Data age', expr: of('snapshot_age_seconds'), unit: 's', decimals: 0, thresholds: badFrom(60, 120) },
      { name: 'Required', expr: of('required_nodes'), decimals: 0 },
      { name: 'Replicas', expr: of('replicas'), decimals: 0 },
      { name: 'Least', expr: of('min_nodes'), decimals: 0 },
      { name: 'Most', expr: of('max_nodes'), decimals: 0 },
      { name: 'Busy', expr: of('busy_nodes'), decimals: 0 },
      { name: 'Idle', expr: of('idle_nodes'), decimals: 0 },
      { name: 'Booting', expr: of('booting_nodes'), decimals: 0 },
      { name: 'Missing', expr: of('pending_nodes'), decimals: 0, thresholds: steps('green', [1, 'orange']) },
      { name: 'Unusable', expr: of('unusable_nodes'), decimals: 0, thresholds: steps('green', [1, 'orange']) },
      { name: 'Jobs', expr: of('pending_jobs'), decimals: 0 },
      { name: 'Eligible', expr: of('eligible_pending_jobs'), decimals: 0 },
    ],
  }),
  series({
    title: 'Required by NodeSet', description: 'Required nodes of each NodeSet, and its maximum.', unit: 'short', width: 8, steps: 'yes', dashed: '/ limit$/', decimals: 0,
    queries: [{ expr: sum(of('required_nodes'), one), legend: '{{namespace}}/{{nodeset}}' }, { expr: sum(of('max_nodes'), one), legend: '{{namespace}}/{{nodeset}} limit' }],
  }),
  series({
    title: 'Jobs that create demand', description: 'Eligible pending jobs by the NodeSet for which they create demand. Each job counts for one NodeSet only.', unit: 'short', width: 8, steps: 'yes', decimals: 0, stacked: 'areas',
    queries: [{ expr: sum(of('eligible_pending_jobs'), one), legend: '{{namespace}}/{{nodeset}}' }],
  }),
  series({
    title: 'Pending jobs by class', description: 'Pending jobs of the partitions that the NodeSets serve, by the class of Slurm\'s reason. Only jobs of the class capacity create demand. A job counts in each NodeSet that serves one of its partitions.', unit: 'short', width: 8, stacked: 'areas', steps: 'yes', named: classes, decimals: 0,
    queries: [{ expr: `${sum(of('pending_jobs_by_class', ['class']), ['class'])} > 0`, legend: '{{class}}' }],
  }),
  series({
    title: 'Replicas of NodeSets', description: 'Current and desired replicas of each NodeSet\'s HPA, and its maximum. From kube-state-metrics.', unit: 'short', width: 12, steps: 'yes', dashed: '/wanted|limit/', decimals: 0,
    queries: [
      { expr: hpa('status_current_replicas'), legend: '{{scaletargetref_name}}' },
      { expr: hpa('status_desired_replicas'), legend: '{{scaletargetref_name}} wanted' },
      { expr: hpa('spec_max_replicas'), legend: '{{scaletargetref_name}} limit' },
    ],
  }),
  rows({
    title: 'HPAs of NodeSets', description: 'Whether the HPA can read its metric (ScalingActive) and change the NodeSet (AbleToScale), and whether a limit restricts it (ScalingLimited). From kube-state-metrics.', width: 12,
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
    title: 'Reaction of NodeSets', description: 'Time from when more nodes were required than spec.replicas until spec.replicas was raised. It includes the adapter, the HPA and the API server, but not the start of the worker.', unit: 's', width: 8,
    queries: [0.5, 0.95].map((q) => ({ expr: `histogram_quantile(${q}, sum by (le) (max by (cluster, namespace, nodeset, le) (increase(slurm_nodeset_reaction_seconds_bucket{cluster=~"$cluster", ${served}}[15m]))))`, legend: `${q * 100} % of times` })),
  }),
  series({
    title: 'Wait of started jobs', description: 'Time from when jobs became eligible until they started. With autoscaling, this includes the time until a node is available.', unit: 's', width: 8,
    queries: [0.5, 0.95].map((q) => ({ expr: `histogram_quantile(${q}, sum by (le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[15m]))))`, legend: `${q * 100} % of jobs` })),
  }),
  series({
    title: 'Longest wait now', description: 'Longest time that a job which creates demand for the NodeSet has been eligible.', unit: 's', width: 8,
    queries: [{ expr: `time() - min by (namespace, nodeset) (slurm_nodeset_oldest_eligible_time_seconds{cluster=~"$cluster", ${served}})`, legend: '{{namespace}}/{{nodeset}}' }],
  }),
  series({
    title: 'Created and deleted workers', description: 'Worker pods that the operator created and deleted in each step, by the cause of deletion.', unit: 'short', width: 8, stacked: 'bars', decimals: 0,
    queries: [
      { expr: `sum(${changes('slurm_operator_workers_created_total', [])})`, legend: 'created' },
      { expr: `sum by (cause) (${changes('slurm_operator_workers_deleted_total', ['cause'])})`, legend: 'deleted: {{cause}}' },
    ],
  }),
  series({
    title: 'Workers that wait for removal', description: 'Workers that are being removed, by cause and by what they wait for: the end of jobs, or a reading of Slurm, without which no worker is deleted.', unit: 'short', width: 8, stacked: 'areas', decimals: 0, steps: 'yes',
    queries: [{ expr: `sum by (cause, for) (${operator('slurm_operator_workers_waiting', ['cause', 'for'])})`, legend: '{{cause}}, for {{for}}' }],
  }),
  rows({
    title: 'Drain duration', description: 'Time from the selection of a worker for removal until its deletion, within the time range, by cause.', width: 8,
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
    title: 'Idle nodes', description: 'Nodes that have no job and can start one, by NodeSet. Scaling in could remove them.', unit: 'short', width: 7, steps: 'yes', decimals: 0, stacked: 'areas',
    queries: [{ expr: sum(of('idle_nodes'), one), legend: '{{namespace}}/{{nodeset}}' }],
  }),
  rows({
    title: 'Demand that no node can meet', description: 'Pending jobs that neither this NodeSet with its maximum number of nodes nor any other NodeSet can run, by reason. They create no demand.', width: 10,
    labels: { namespace: 'Namespace', nodeset: 'NodeSet', reason: 'Reason' }, sort: { by: 'Jobs', descending: true }, widths: { Namespace: 100, NodeSet: 90, Jobs: 60 },
    columns: [{ name: 'Jobs', expr: `sum by (namespace, nodeset, reason) (${of('unsatisfiable_jobs', ['reason'])}) > 0`, decimals: 0 }],
  }),
  rows({
    title: 'Metrics APIs', description: 'Whether the API server can reach the adapter. HPAs do not scale if it cannot. From the metrics of the API server.', width: 7,
    labels: { name: 'APIService' }, sort: { by: 'APIService', descending: false },
    columns: [{ name: 'Available', expr: '1 - max by (name) (aggregator_unavailable_apiservice{name=~".*(custom|external)[.]metrics[.]k8s[.]io|v1alpha1[.]view[.]slinky[.]slurm[.]net"})', thresholds: goodFromOne(), words: { 0: { text: 'no', color: 'red' }, 1: { text: 'yes', color: 'green' } }, width: 110 }],
  }),
];

/** Demand of jobs, supply of nodes, and what blocks scaling. */
export const autoscaling = () => framed({
  uid: 'slurmtide-autoscaling', title: 'Slurm / Autoscaling',
  description: 'Demand of jobs and supply of nodes, how fast nodes are created, and what blocks their deletion.', from: 'now-3h',
  variables: [
    partition(),
    choice('namespace', 'Namespace', 'label_values(slurm_nodeset_known{cluster=~"$cluster"}, namespace)', 'Namespaces of the NodeSets in the selected clusters'),
    choice('nodeset', 'NodeSet', 'label_values(slurm_nodeset_known{cluster=~"$cluster", namespace=~"$namespace"}, nodeset)', 'NodeSets in the selected namespaces'),
  ],
  rows: [
    { title: 'Now', panels: now },
    { title: 'Demand and supply', panels: demand },
    { title: 'Reaction', panels: reaction },
    { title: 'Idle and blocked nodes', panels: blocked },
  ],
});
