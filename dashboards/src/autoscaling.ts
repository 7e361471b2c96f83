import { choice, framed, partition } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, sum } from './queries.js';
import { badFrom, classes, goodFromOne, steps } from './style.js';

const chosen = 'partition=~"$partition"';
const served = 'namespace=~"$namespace", nodeset=~"$nodeset"';
const one = ['namespace', 'nodeset'];

/** A metric of each of the NodeSets that are chosen. */
const of = (metric: string, by: string[] = [], extra = '') => gauge(`slurm_nodeset_${metric}`, [...one, ...by], served + extra);
const nodes = (kind: string) => sum(of(`${kind}_nodes`));
const supply = sum(`${of('busy_nodes')} + ${of('idle_nodes')} + ${of('booting_nodes')}`);
const range = (kind: string) => sum(`max by (cluster, namespace, nodeset) (avg_over_time(slurm_nodeset_${kind}_nodes{cluster=~"$cluster", ${served}}[$__range]))`);

// kube-state-metrics tells of HPAs; those that scale a NodeSet are ours.
const ours = 'on (namespace, horizontalpodautoscaler) group_left (scaletargetref_name) max by (namespace, horizontalpodautoscaler, scaletargetref_name) (kube_horizontalpodautoscaler_info{scaletargetref_kind="NodeSet", namespace=~"$namespace", scaletargetref_name=~"$nodeset"})';
const hpa = (metric: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_${metric}{namespace=~"$namespace"}) * ${ours}`;
const condition = (name: string) => `max by (namespace, horizontalpodautoscaler) (kube_horizontalpodautoscaler_status_condition{namespace=~"$namespace", condition="${name}", status="true"}) * ${ours}`;
const operator = (metric: string, by: string[], extra = '') => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (${metric}{namespace=~"$namespace", nodeset=~"$nodeset"${extra}})`;
const changes = (metric: string, by: string[]) => `max by (${['namespace', 'nodeset', ...by].join(', ')}) (increase(${metric}{namespace=~"$namespace", nodeset=~"$nodeset"}[$__rate_interval]))`;
const drains = (q: number) => `histogram_quantile(${q}, sum by (cause, le) (increase(slurm_operator_worker_drain_duration_seconds_bucket[$__range])))`;

const now = [
  number({ title: 'Required nodes', description: 'Nodes that the NodeSets should run now, which HPAs are told: those with work, those that waiting jobs need, and those that are kept or replaced.', unit: 'short', width: 4, query: { expr: nodes('required') } }),
  number({ title: 'Nodes there', description: 'Nodes of the NodeSets that are busy, idle or booting.', unit: 'short', width: 4, query: { expr: supply } }),
  number({ title: 'Missing', description: 'Nodes that eligible pending jobs need beyond those that are idle or booting. A number that stays means that scaling out is blocked or at its maximum.', unit: 'short', width: 4, query: { expr: nodes('pending') }, thresholds: steps('green', [1, 'orange']) }),
  number({ title: 'Idle node-hours', description: 'Hours that nodes stood idle within the time shown, added up.', unit: 'short', width: 4, decimals: 2, past: 'hidden', query: { expr: `${range('idle')} * $__range_s / 3600` } }),
  number({ title: 'Idle of all', description: 'Part of the node-hours within the time shown that nodes stood idle.', unit: 'percentunit', width: 4, max: 1, decimals: 0, past: 'hidden', thresholds: badFrom(0.25, 0.5), query: { expr: `${range('idle')} / ((${range('idle')} + ${range('busy')}) > 0)` } }),
  number({ title: 'Scale-ins that wait', description: 'Workers that are to go and wait, for their jobs to end or for a reading of Slurm.', unit: 'short', width: 4, query: { expr: `sum(${operator('slurm_operator_workers_waiting', ['cause', 'for'])})` }, thresholds: steps('green', [1, 'orange']), noValue: 'no operator' }),
];

const demand = [
  series({
    title: 'Demand against supply', description: 'The nodes that are there, by what they do, and as lines what is required and what spec.replicas says. A line above the areas: nodes are missing. Far below: they are idle.', unit: 'short', width: 12, height: 10, stacked: 'areas', steps: 'yes', dashed: '/required|replicas/', decimals: 0,
    queries: [
      { expr: nodes('busy'), legend: 'busy' }, { expr: nodes('booting'), legend: 'booting' }, { expr: nodes('idle'), legend: 'idle' },
      { expr: nodes('unusable'), legend: 'unusable' }, { expr: sum(of('replicas')), legend: 'replicas' }, { expr: nodes('required'), legend: 'required' },
    ],
  }),
  series({
    title: 'What required is made of', description: 'Nodes with work, free ones that waiting jobs are about to take, free ones within the idle grace, those that waiting jobs need beyond all of these, and those in the place of unusable ones. Areas above the line: the maximum cuts what is asked for.', unit: 'short', width: 12, height: 10, stacked: 'areas', steps: 'yes', dashed: '/required/', decimals: 0,
    queries: [
      { expr: nodes('busy'), legend: 'busy' }, { expr: nodes('claimed'), legend: 'claimed' },
      { expr: sum(`clamp_min(${of('grace_nodes')} - ${of('claimed_nodes')}, 0)`), legend: 'in grace' },
      { expr: nodes('pending'), legend: 'pending' }, { expr: nodes('replacement'), legend: 'replacements' }, { expr: nodes('required'), legend: 'required' },
    ],
  }),
  rows({
    title: 'NodeSets', description: 'Each NodeSet in a line: its nodes, the pending jobs of the partitions that it serves, and those of them that ask it for nodes. Without numbers its HPA gets an error and stands still: Slurm was read too long ago, or never.', width: 24, height: 6,
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
    title: 'Required by NodeSet', description: 'Nodes that each NodeSet should run, and the most that it may.', unit: 'short', width: 8, steps: 'yes', dashed: '/ limit$/', decimals: 0,
    queries: [{ expr: sum(of('required_nodes'), one), legend: '{{namespace}}/{{nodeset}}' }, { expr: sum(of('max_nodes'), one), legend: '{{namespace}}/{{nodeset}} limit' }],
  }),
  series({
    title: 'Jobs that ask for nodes', description: 'Eligible pending jobs by the NodeSet that they ask. No job asks two.', unit: 'short', width: 8, steps: 'yes', decimals: 0, stacked: 'areas',
    queries: [{ expr: sum(of('eligible_pending_jobs'), one), legend: '{{namespace}}/{{nodeset}}' }],
  }),
  series({
    title: 'What their pending jobs wait for', description: 'Pending jobs of the partitions that the NodeSets serve, by the class of Slurm\'s reason. Only those of the class capacity ask for nodes. A job counts in each NodeSet that serves one of its partitions.', unit: 'short', width: 8, stacked: 'areas', steps: 'yes', named: classes, decimals: 0,
    queries: [{ expr: `${sum(of('pending_jobs_by_class', ['class']), ['class'])} > 0`, legend: '{{class}}' }],
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
    title: 'Reaction of NodeSets', description: 'How long more nodes were required than spec.replicas said, until it said as many: the adapter, the HPA and the API server. Then the worker has to start.', unit: 's', width: 8,
    queries: [0.5, 0.95].map((q) => ({ expr: `histogram_quantile(${q}, sum by (le) (max by (cluster, namespace, nodeset, le) (increase(slurm_nodeset_reaction_seconds_bucket{cluster=~"$cluster", ${served}}[15m]))))`, legend: `${q * 100} % of times` })),
  }),
  series({
    title: 'Wait of jobs that started', description: 'How long jobs that started had waited since they could run. Where nodes come by demand, this is the time until a node is there.', unit: 's', width: 8,
    queries: [0.5, 0.95].map((q) => ({ expr: `histogram_quantile(${q}, sum by (le) (max by (cluster, partition, le) (increase(slurm_job_start_wait_seconds_bucket{cluster=~"$cluster", ${chosen}}[15m]))))`, legend: `${q * 100} % of jobs` })),
  }),
  series({
    title: 'Longest wait now', description: 'How long the job has waited that has been able to run for the longest time, of those that ask the NodeSet for nodes.', unit: 's', width: 8,
    queries: [{ expr: `time() - min by (namespace, nodeset) (slurm_nodeset_oldest_eligible_time_seconds{cluster=~"$cluster", ${served}})`, legend: '{{namespace}}/{{nodeset}}' }],
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
    title: 'Idle nodes', description: 'Nodes that could start a job and have none, by NodeSet: what scaling in would save.', unit: 'short', width: 7, steps: 'yes', decimals: 0, stacked: 'areas',
    queries: [{ expr: sum(of('idle_nodes'), one), legend: '{{namespace}}/{{nodeset}}' }],
  }),
  rows({
    title: 'Demand that no node can meet', description: 'Pending jobs that neither the NodeSet could run with all the nodes that it may have, nor any other, and why. They do not count as demand.', width: 10,
    labels: { namespace: 'Namespace', nodeset: 'NodeSet', reason: 'Reason' }, sort: { by: 'Jobs', descending: true }, widths: { Namespace: 100, NodeSet: 90, Jobs: 60 },
    columns: [{ name: 'Jobs', expr: `sum by (namespace, nodeset, reason) (${of('unsatisfiable_jobs', ['reason'])}) > 0`, decimals: 0 }],
  }),
  rows({
    title: 'Metrics APIs', description: 'Whether the API server reaches the adapter. Without it HPAs stand still. From the API server\'s own metrics.', width: 7,
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
    choice('namespace', 'Namespace', 'label_values(slurm_nodeset_known{cluster=~"$cluster"}, namespace)', 'Namespaces of the NodeSets of the clusters that are chosen'),
    choice('nodeset', 'NodeSet', 'label_values(slurm_nodeset_known{cluster=~"$cluster", namespace=~"$namespace"}, nodeset)', 'NodeSets of these namespaces'),
  ],
  rows: [
    { title: 'Now', panels: now },
    { title: 'Demand and supply', panels: demand },
    { title: 'Reaction', panels: reaction },
    { title: 'What is idle, what is blocked', panels: blocked },
  ],
});
