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
  number({ title: 'Nodes', description: 'All nodes of Slurm, in any state.', unit: 'short', width: 4, query: { expr: sum(gauge('slurm_nodes', ['state'])) } }),
  count('Busy', 'allocated|mixed|completing', 'Nodes that are allocated, mixed or completing.'),
  count('Idle', 'idle|planned', 'Nodes that can start a job now.', steps('green')),
  count('Drained or draining', 'drained|draining', 'Nodes that were taken out of service.', steps('green', [1, 'orange'])),
  count('Down or failed', 'down|error|fail|failing|inval', 'Nodes that are down, failed, failing or invalid.', steps('green', [1, 'red'])),
  number({ title: 'Not responding', description: 'Nodes whose slurmd does not respond.', unit: 'short', width: 4, thresholds: steps('green', [1, 'orange']), query: { expr: sum(gauge('slurm_nodes_flagged', ['flag'], 'flag="not_responding"')) } }),
];

const states = [
  series({
    title: 'Nodes by state', description: 'Nodes by state as sinfo shows it; a node is in exactly one state.', unit: 'short', width: 12, stacked: 'areas',
    named: nodeStates,
    queries: [{ expr: `${sum(gauge('slurm_nodes', ['state']), ['state'])} > 0`, legend: '{{state}}' }],
  }),
  rows({
    title: 'Nodes out of service', description: 'Nodes that are drained or down with a reason, who set the reason, and how long ago.', width: 12,
    labels: { cluster: 'Cluster', node: 'Node', reason: 'Reason', user: 'By' }, sort: { by: 'For', descending: true }, widths: { Node: 110, By: 90, For: 110 },
    columns: [{
      name: 'For', unit: 's', decimals: 0, thresholds: badFrom(24 * 3600, 7 * 24 * 3600),
      expr: `(time() - ${node('slurm_node_reason_time_seconds')}) * on (cluster, node) group_right () ${node('slurm_node_reason_info', ['reason', 'user'])}`,
    }],
  }),
];

/** The highest, mean and lowest value over nodes. */
const spread = (expr: string) => [['max', 'highest'], ['avg', 'mean'], ['min', 'lowest']].map(([f, legend]) => ({ expr: `${f}(${expr})`, legend }));

const use = [
  series({
    title: 'CPUs of nodes', description: 'Ratio of allocated CPUs to all CPUs of a node: highest, mean and lowest over nodes.', unit: 'percentunit', width: 12, max: 1,
    queries: spread(ratio(node('slurm_node_cpus_allocated'), node('slurm_node_cpus_effective'))),
  }),
  series({
    title: 'Load per allocated CPU', description: 'One-minute load average divided by allocated CPUs. Far above 1, jobs use more CPUs than they requested; far below 1, they request more than they use.', unit: 'short', decimals: 1, width: 12,
    queries: spread(ratio(node('slurm_node_load1'), node('slurm_node_cpus_allocated'))),
  }),
  series({
    title: 'Memory of nodes', description: 'Ratio of allocated memory to all memory of a node: highest, mean and lowest over nodes.', unit: 'percentunit', width: 12, max: 1,
    queries: spread(ratio(node('slurm_node_memory_allocated_bytes'), node('slurm_node_memory_bytes'))),
  }),
  series({
    title: 'Free memory', description: 'Free memory as the nodes\' operating systems report it: highest, mean and lowest. Select a node above to show only that node.', unit: 'bytes', width: 12,
    queries: spread(node('slurm_node_memory_free_bytes')),
  }),
];

const gres = [
  series({
    title: 'GPUs', description: 'GPUs by state: allocated, idle, or other (idle on nodes that are down or drained).', unit: 'short', width: 8, stacked: 'areas', named: ['allocated', 'idle', 'other'],
    queries: [{ expr: sum(gauge('slurm_gpus', ['type', 'state']), ['state']), legend: '{{state}}' }],
  }),
  series({
    title: 'Allocated GPUs by type', description: 'Ratio of allocated GPUs to all GPUs of each type.', unit: 'percentunit', width: 8, max: 1,
    queries: [{ expr: ratio(sum(gauge('slurm_gpus', ['type', 'state'], 'state="allocated"'), ['type']), sum(gauge('slurm_gpus', ['type', 'state']), ['type'])), legend: '{{type}}' }],
  }),
  bars({
    title: 'GPUs in use on each node', description: 'Ratio of allocated GPUs to all GPUs of the node.', unit: 'percentunit', width: 8, max: 1, decimals: 0, thresholds: fullness(),
    query: { expr: `sort_desc(${ratio(sum(node('slurm_node_gpus_allocated', ['type']), ['node']), sum(node('slurm_node_gpus', ['type']), ['node']))})`, legend: '{{node}}' },
  }),
];

const all = [
  rows({
    title: 'All nodes', description: 'One row per node.', width: 24, height: 10,
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
    title: 'Reservations', description: 'Advance reservations, and when they start and end.', width: 12, height: 5,
    labels: { cluster: 'Cluster', reservation: 'Reservation' }, sort: { by: 'Starts in', descending: false },
    columns: [
      { name: 'Nodes', expr: gauge('slurm_reservation_nodes', ['reservation']), decimals: 0 },
      { name: 'Starts in', expr: `${gauge('slurm_reservation_start_time_seconds', ['reservation'])} - time()`, unit: 's', decimals: 0 },
      { name: 'Ends in', expr: `${gauge('slurm_reservation_end_time_seconds', ['reservation'])} - time()`, unit: 's', decimals: 0 },
    ],
  }),
];

/** The states of nodes and the use of their resources. */
export const nodes = () => framed({
  uid: 'slurmtide-nodes', title: 'Slurm / Nodes and GRES',
  description: 'Nodes by state, who took them out of service and why, and the allocation of CPUs, memory and GPUs.',
  variables: [choice('node', 'Node', 'label_values(slurm_node_cpus{cluster=~"$cluster"}, node)', 'Nodes of the selected clusters')],
  rows: [
    { title: 'Now', panels: now },
    { title: 'States', panels: states },
    { title: 'GPUs', panels: gres },
    { title: 'Use', panels: use },
    { title: 'All nodes', panels: all },
  ],
});
