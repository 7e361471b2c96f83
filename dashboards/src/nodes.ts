import { choice, framed } from './frame.js';
import { bars, number, rows, series } from './panels.js';
import { gauge, ratio, sum } from './queries.js';
import { badFrom, calm, fullness, nodeStates, steps } from './style.js';

const chosen = 'node=~"$node"';
const node = (metric: string, by: string[] = [], extra?: string) => gauge(metric, ['node', ...by], [chosen, extra].filter(Boolean).join(', '));
const count = (title: string, states: string, description: string, thresholds = calm()) => number({
  title, description, unit: 'short', width: 4, thresholds, query: { expr: sum(gauge('slurm_nodes', ['state'], `state=~"${states}"`)) },
});

const now = [
  number({ title: 'Nodes', description: 'Nodes that Slurm knows, whatever their state.', unit: 'short', width: 4, query: { expr: sum(gauge('slurm_nodes', ['state'])) } }),
  count('With work', 'allocated|mixed|completing', 'Nodes that are allocated, mixed or completing.'),
  count('Idle', 'idle|planned', 'Nodes that could start a job now.', steps('green')),
  count('Drained or draining', 'drained|draining', 'Nodes that somebody has taken out of service.', steps('green', [1, 'orange'])),
  count('Down or failed', 'down|error|fail|failing|inval', 'Nodes that do not work.', steps('green', [1, 'red'])),
  number({ title: 'Not responding', description: 'Nodes whose slurmd does not answer.', unit: 'short', width: 4, thresholds: steps('green', [1, 'orange']), query: { expr: sum(gauge('slurm_nodes_flagged', ['flag'], 'flag="not_responding"')) } }),
];

const states = [
  series({
    title: 'Nodes by state', description: 'Nodes by the word that sinfo has for their state; a node is in exactly one.', unit: 'short', width: 12, stacked: 'areas',
    named: nodeStates,
    queries: [{ expr: `${sum(gauge('slurm_nodes', ['state']), ['state'])} > 0`, legend: '{{state}}' }],
  }),
  rows({
    title: 'Nodes out of service', description: 'Nodes that are drained or down with a reason, who gave it, and how long ago.', width: 12,
    labels: { cluster: 'Cluster', node: 'Node', reason: 'Reason', user: 'By' }, sort: { by: 'For', descending: true }, widths: { Node: 110, By: 90, For: 110 },
    columns: [{
      name: 'For', unit: 's', decimals: 0, thresholds: badFrom(24 * 3600, 7 * 24 * 3600),
      expr: `(time() - ${node('slurm_node_reason_time_seconds')}) * on (cluster, node) group_right () ${node('slurm_node_reason_info', ['reason', 'user'])}`,
    }],
  }),
];

/** The highest, the mean and the lowest of what nodes have. */
const spread = (expr: string) => [['max', 'highest'], ['avg', 'mean'], ['min', 'lowest']].map(([f, legend]) => ({ expr: `${f}(${expr})`, legend }));

const use = [
  series({
    title: 'CPUs of nodes', description: 'Part of a node\'s CPUs that jobs have: the fullest node, the mean, the emptiest.', unit: 'percentunit', width: 12, max: 1,
    queries: spread(ratio(node('slurm_node_cpus_allocated'), node('slurm_node_cpus_effective'))),
  }),
  series({
    title: 'Load beside allocated CPUs', description: 'Load average of one minute over the CPUs that jobs have. Far above 1: jobs run more than they asked for. Far below: they ask for more than they use.', unit: 'short', decimals: 1, width: 12,
    queries: spread(ratio(node('slurm_node_load1'), node('slurm_node_cpus_allocated'))),
  }),
  series({
    title: 'Memory of nodes', description: 'Part of a node\'s memory that jobs have: the fullest node, the mean, the emptiest.', unit: 'percentunit', width: 12, max: 1,
    queries: spread(ratio(node('slurm_node_memory_allocated_bytes'), node('slurm_node_memory_bytes'))),
  }),
  series({
    title: 'Memory that the system calls free', description: 'Free memory as the operating systems of nodes see it: the most, the mean, the least. Choose a node above to see it alone.', unit: 'bytes', width: 12,
    queries: spread(node('slurm_node_memory_free_bytes')),
  }),
];

const gres = [
  series({
    title: 'GPUs', description: 'GPUs by what becomes of them: allocated to jobs, idle, or other, which is idle on nodes that are down or drained.', unit: 'short', width: 8, stacked: 'areas', named: ['allocated', 'idle', 'other'],
    queries: [{ expr: sum(gauge('slurm_gpus', ['type', 'state']), ['state']), legend: '{{state}}' }],
  }),
  series({
    title: 'GPUs allocated, by type', description: 'Part of the GPUs of each type that jobs have.', unit: 'percentunit', width: 8, max: 1,
    queries: [{ expr: ratio(sum(gauge('slurm_gpus', ['type', 'state'], 'state="allocated"'), ['type']), sum(gauge('slurm_gpus', ['type', 'state']), ['type'])), legend: '{{type}}' }],
  }),
  bars({
    title: 'GPUs in use on each node', description: 'GPUs that jobs have, of all GPUs of the node.', unit: 'percentunit', width: 8, max: 1, decimals: 0, thresholds: fullness(),
    query: { expr: `sort_desc(${ratio(sum(node('slurm_node_gpus_allocated', ['type']), ['node']), sum(node('slurm_node_gpus', ['type']), ['node']))})`, legend: '{{node}}' },
  }),
];

const all = [
  rows({
    title: 'All nodes', description: 'Each node in a line.', width: 24, height: 10,
    labels: { cluster: 'Cluster', node: 'Node', state: 'State', flags: 'Flags' }, sort: { by: 'Node', descending: false }, widths: { Flags: 180 },
    columns: [
      { name: 'Here', expr: node('slurm_node_state', ['state', 'flags']), shown: 'no' },
      { name: 'CPUs', expr: node('slurm_node_cpus_effective'), decimals: 0 },
      { name: 'CPUs allocated', expr: ratio(node('slurm_node_cpus_allocated'), node('slurm_node_cpus_effective')), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'Load', expr: node('slurm_node_load1'), decimals: 1 },
      { name: 'Memory', expr: node('slurm_node_memory_bytes'), unit: 'bytes', decimals: 0 },
      { name: 'Memory allocated', expr: ratio(node('slurm_node_memory_allocated_bytes'), node('slurm_node_memory_bytes')), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'GPUs', expr: sum(node('slurm_node_gpus', ['type']), ['cluster', 'node']), decimals: 0 },
      { name: 'GPUs allocated', expr: sum(node('slurm_node_gpus_allocated', ['type']), ['cluster', 'node']), decimals: 0 },
      { name: 'Up for', expr: `time() - ${node('slurm_node_boot_time_seconds')}`, unit: 's', decimals: 0 },
    ],
  }),
  bars({
    title: 'Versions of slurmd', description: 'Nodes by the version of their slurmd.', unit: 'short', width: 12, height: 5, decimals: 0,
    query: { expr: 'count by (version) (max by (cluster, node, version) (slurm_node_info{cluster=~"$cluster"}))', legend: '{{version}}' },
  }),
  rows({
    title: 'Reservations', description: 'Advance reservations, and when they end.', width: 12, height: 5,
    labels: { cluster: 'Cluster', reservation: 'Reservation' }, sort: { by: 'Starts in', descending: false },
    columns: [
      { name: 'Nodes', expr: gauge('slurm_reservation_nodes', ['reservation']), decimals: 0 },
      { name: 'Starts in', expr: `${gauge('slurm_reservation_start_time_seconds', ['reservation'])} - time()`, unit: 's', decimals: 0 },
      { name: 'Ends in', expr: `${gauge('slurm_reservation_end_time_seconds', ['reservation'])} - time()`, unit: 's', decimals: 0 },
    ],
  }),
];

/** The machines: what state they are in, what is in use of them. */
export const nodes = () => framed({
  uid: 'slurmtide-nodes', title: 'Slurm / Nodes and GRES',
  description: 'Nodes by state, who took them out of service and why, and what jobs have of their CPUs, memory and GPUs.',
  variables: [choice('node', 'Node', 'label_values(slurm_node_cpus{cluster=~"$cluster"}, node)', 'Nodes of the clusters that are chosen')],
  rows: [
    { title: 'Now', panels: now },
    { title: 'States', panels: states },
    { title: 'GPUs', panels: gres },
    { title: 'Use', panels: use },
    { title: 'One by one', panels: all },
  ],
});
