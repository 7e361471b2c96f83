import { named, needs } from './dcgm.js';
import { choice, framed } from './frame.js';
import { bars, number, rows, series } from './panels.js';
import { gauge, sum } from './queries.js';
import { badFrom, calm, fullness, steps } from './style.js';

const chosen = 'node=~"$node"';
/** The GPUs that Slurm has allocated, by node. */
const allocated = sum(gauge('slurm_node_gpus_allocated', ['node', 'type'], chosen), ['node']);
const present = sum(gauge('slurm_node_gpus', ['node', 'type'], chosen), ['node']);
const utilization = `max by (node, gpu, modelName) (${named('DCGM_FI_DEV_GPU_UTIL')}) / 100`;
const ofChosen = (expr: string) => `${expr} and on (node) ${present}`;
/** GPUs that were at least 5 % busy in the last ten minutes. */
const busy = `sum by (node) (max by (node, gpu) (${named('avg_over_time(DCGM_FI_DEV_GPU_UTIL[10m])')}) >= bool 5)`;
const held = `clamp_min(${allocated} - on (node) ${busy}, 0)`;
const power = `sum by (node) (max by (node, gpu) (${named('DCGM_FI_DEV_POWER_USAGE')}))`;

const now = [
  number({ title: 'GPUs', description: 'GPUs of the selected nodes, as Slurm has them.', unit: 'short', width: 5, query: { expr: `sum(${present})` } }),
  number({ title: 'Allocated', description: 'GPUs that Slurm has allocated to jobs.', unit: 'short', width: 5, query: { expr: `sum(${allocated})` } }),
  number({ title: 'Busy', description: 'GPUs that were at least 5 % busy in the last ten minutes.' + needs, unit: 'short', width: 5, noValue: 'no dcgm-exporter', query: { expr: `sum(${ofChosen(busy)})` } }),
  number({ title: 'Held idle', description: 'Allocated GPUs that were not busy in the last ten minutes.' + needs, unit: 'short', width: 5, noValue: 'no dcgm-exporter', thresholds: steps('green', [1, 'orange']), query: { expr: `sum(${held})` } }),
  number({ title: 'Power', description: 'Electrical power of the GPUs.' + needs, unit: 'watt', width: 4, noValue: 'no dcgm-exporter', query: { expr: `sum(${ofChosen(power)})` } }),
];

const use = [
  series({
    title: 'Allocated and busy GPUs', description: 'Allocated GPUs, and those that were at least 5 % busy in the last ten minutes. The gap is held idle.' + needs, unit: 'short', width: 12,
    queries: [{ expr: `sum(${present})`, legend: 'all' }, { expr: `sum(${allocated})`, legend: 'allocated' }, { expr: `sum(${ofChosen(busy)})`, legend: 'busy' }],
  }),
  series({
    title: 'Utilization by model', description: 'Mean utilization of the GPUs of each model, allocated or not.' + needs, unit: 'percentunit', width: 12, max: 1, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: `avg by (modelName) (${ofChosen(utilization)})`, legend: '{{modelName}}' }],
  }),
  series({
    title: 'Power by node', description: 'Electrical power of the GPUs of each node.' + needs, unit: 'watt', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: ofChosen(power), legend: '{{node}}' }],
  }),
  bars({ title: 'GPUs held idle by node', description: 'The ten nodes with the most allocated GPUs that were not busy in the last ten minutes.' + needs, unit: 'short', width: 12, decimals: 0, thresholds: calm(), query: { expr: `sort_desc(topk(10, ${held}))`, legend: '{{node}}' } }),
];

const nodes = [
  rows({
    title: 'GPUs by node', description: 'What each node has, what Slurm has allocated of it, and what jobs use. XID is the code of the last error of a GPU, 0 for none.' + needs, width: 24, height: 10,
    labels: { node: 'Node' }, sort: { by: 'Held idle', descending: true },
    columns: [
      { name: 'GPUs', expr: present, decimals: 0 },
      { name: 'Allocated', expr: allocated, decimals: 0 },
      { name: 'Held idle', expr: held, decimals: 0, thresholds: badFrom(1, 4) },
      { name: 'Utilization', expr: `avg by (node) (${ofChosen(utilization)})`, unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'Memory', expr: `avg by (node) (${ofChosen(`max by (node, gpu) (${named('DCGM_FI_DEV_FB_USED')}) / (max by (node, gpu) (${named('DCGM_FI_DEV_FB_USED')}) + max by (node, gpu) (${named('DCGM_FI_DEV_FB_FREE')}) > 0)`)})`, unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'Power', expr: ofChosen(power), unit: 'watt', decimals: 0 },
      { name: 'XID', expr: ofChosen(`max by (node) (${named('DCGM_FI_DEV_XID_ERRORS')})`), decimals: 0, thresholds: badFrom(1, 1) },
    ],
  }),
];

/** What Slurm has allocated of GPUs beside what dcgm-exporter sees of them. */
export const gpus = () => framed({
  uid: 'slurmtide-gpus', title: 'Slurm / GPUs',
  description: 'Allocated, busy and idle GPUs: what Slurm has allocated beside what dcgm-exporter sees.',
  variables: [choice('node', 'Node', 'label_values(slurm_node_gpus{cluster=~"$cluster"}, node)', 'Nodes with GPUs')],
  rows: [
    { title: 'Now', panels: now },
    { title: 'Use', panels: use },
    { title: 'Nodes', panels: nodes },
  ],
});
