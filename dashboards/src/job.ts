import { named, needs } from './dcgm.js';
import { framed, single } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, sum } from './queries.js';
import { fullness } from './style.js';

const chosen = 'job_id="$job_id"';
const optional = ' Requires --collector.job_info.';
const ofJob = (metric: string) => gauge(metric, ['job_id'], chosen);
const itsNodes = gauge('slurm_job_node_info', ['node'], chosen);
const onItsNodes = (metric: string) => `${gauge(metric, ['node'])} and on (cluster, node) ${itsNodes}`;
const typesOnItsNodes = (metric: string) => `${sum(gauge(metric, ['node', 'type']), ['cluster', 'node'])} and on (cluster, node) ${itsNodes}`;
/** Nodes where the job may have GPUs. */
const gpuNodes = `(${itsNodes} unless on (cluster) ${ofJob('slurm_job_gpus')} == 0)`;
/** A metric of the job's GPUs: those that dcgm-exporter says it has, or all of a node where dcgm-exporter knows no job. */
const gpus = (metric: string, scaled = '') => {
  const mapped = (matcher: string) => `max by (node, gpu) (${named(`${metric}{${matcher}}`)})`;
  return `(${mapped('hpc_job="$job_id"')} or ${mapped('hpc_job=""')} unless on (node) ${mapped('hpc_job!=""')})${scaled} and on (node) ${gpuNodes}`;
};
const whose = ' These are the GPUs of the job where dcgm-exporter knows the jobs, and otherwise all of its nodes.' + needs;

const about = [
  rows({
    title: 'Job', description: 'What the job is.' + optional, width: 12, height: 4,
    labels: { cluster: 'Cluster', job_id: 'Job', job_name: 'Name', user: 'User', account: 'Account', qos: 'QOS', partition: 'Partition' }, sort: { by: 'Job', descending: false },
    leads: { label: 'user', uid: 'slurmtide-user' },
    columns: [{ name: 'Value', expr: gauge('slurm_job_info', ['job_id', 'job_name', 'user', 'account', 'qos', 'partition'], chosen), shown: 'no' }],
  }),
  number({ title: 'Running for', description: 'Time since the job started.' + optional, unit: 's', width: 3, decimals: 0, past: 'hidden', noValue: 'not running', query: { expr: `time() - ${ofJob('slurm_job_start_time_seconds')}` } }),
  number({ title: 'Nodes', description: 'Nodes that the job has.' + optional, unit: 'short', width: 3, decimals: 0, past: 'hidden', query: { expr: `count(${itsNodes})` } }),
  number({ title: 'CPUs', description: 'CPUs that the job has.' + optional, unit: 'short', width: 3, decimals: 0, past: 'hidden', query: { expr: ofJob('slurm_job_cpus') } }),
  number({ title: 'GPUs', description: 'GPUs that the job has.' + optional, unit: 'short', width: 3, decimals: 0, past: 'hidden', query: { expr: ofJob('slurm_job_gpus') } }),
];

const accelerators = [
  series({ title: 'Use of its GPUs', description: 'How busy the GPUs are.' + whose, unit: 'percentunit', width: 8, max: 1, legend: ['mean'], legendAt: 'right', queries: [{ expr: gpus('DCGM_FI_DEV_GPU_UTIL', ' / 100'), legend: '{{node}} {{gpu}}' }] }),
  series({ title: 'Memory of its GPUs', description: 'Used memory of the GPUs.' + whose, unit: 'mbytes', width: 8, legend: ['max'], legendAt: 'right', queries: [{ expr: gpus('DCGM_FI_DEV_FB_USED'), legend: '{{node}} {{gpu}}' }] }),
  series({ title: 'Power of its GPUs', description: 'Electrical power of the GPUs.' + whose, unit: 'watt', width: 8, legend: ['mean'], legendAt: 'right', queries: [{ expr: gpus('DCGM_FI_DEV_POWER_USAGE'), legend: '{{node}} {{gpu}}' }] }),
];

const shared = ' Other jobs on the nodes are included.';
const nodes = [
  series({ title: 'Load of its nodes', description: 'One-minute load average of the nodes, as slurmd reported it.' + shared, unit: 'short', width: 12, legend: ['mean'], legendAt: 'right', queries: [{ expr: onItsNodes('slurm_node_load1'), legend: '{{node}}' }] }),
  series({ title: 'Free memory of its nodes', description: 'Free memory of the nodes, as their operating systems report it.' + shared, unit: 'bytes', width: 12, legend: ['min'], legendAt: 'right', queries: [{ expr: onItsNodes('slurm_node_memory_free_bytes'), legend: '{{node}}' }] }),
  rows({
    title: 'Its nodes', description: 'What the nodes of the job have, and what is allocated of it.' + shared, width: 24, height: 8,
    labels: { cluster: 'Cluster', node: 'Node' }, sort: { by: 'Node', descending: false },
    columns: [
      { name: 'CPUs', expr: onItsNodes('slurm_node_cpus'), decimals: 0 },
      { name: 'CPUs allocated', expr: onItsNodes('slurm_node_cpus_allocated'), decimals: 0 },
      { name: 'Load', expr: onItsNodes('slurm_node_load1'), decimals: 2 },
      { name: 'Memory allocated', expr: `(${gauge('slurm_node_memory_allocated_bytes', ['node'])} / ${gauge('slurm_node_memory_bytes', ['node'])}) and on (cluster, node) ${itsNodes}`, unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'GPUs', expr: typesOnItsNodes('slurm_node_gpus'), decimals: 0 },
      { name: 'GPUs allocated', expr: typesOnItsNodes('slurm_node_gpus_allocated'), decimals: 0 },
    ],
  }),
];

/** What one running job has, and how busy its nodes and GPUs are. */
export const job = () => framed({
  uid: 'slurmtide-job', title: 'Slurm / One job', from: 'now-3h',
  description: 'A running job: what it has, and how busy its nodes and GPUs are.',
  variables: [single('job_id', 'Job', 'label_values(slurm_job_info{cluster=~"$cluster"}, job_id)', 'A job that ran in the time range')],
  rows: [
    { title: 'Job', panels: about },
    { title: 'GPUs', panels: accelerators },
    { title: 'Nodes', panels: nodes },
  ],
});
