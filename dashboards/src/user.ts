import { named } from './dcgm.js';
import { endedJobs } from './ended.js';
import { framed, prices, single } from './frame.js';
import { number, rows, series } from './panels.js';
import { gauge, sum, total } from './queries.js';
import { calm, fullness } from './style.js';

const chosen = 'user="$user"';
const optional = ' Requires --collector.users.';
const now = (metric: string, state: string) => sum(gauge(metric, ['user', 'state'], `${chosen}, state="${state}"`));

const present = [
  number({ title: 'Running jobs', description: 'Running jobs of the user.' + optional, unit: 'short', width: 4, decimals: 0, query: { expr: now('slurm_user_jobs', 'running') } }),
  number({ title: 'Pending jobs', description: 'Pending jobs of the user.' + optional, unit: 'short', width: 4, decimals: 0, query: { expr: now('slurm_user_jobs', 'pending') } }),
  number({ title: 'CPUs', description: 'CPUs that running jobs of the user have.' + optional, unit: 'short', width: 4, decimals: 0, query: { expr: now('slurm_user_cpus', 'running') } }),
  number({ title: 'GPUs', description: 'GPUs that running jobs of the user have.' + optional, unit: 'short', width: 4, decimals: 0, query: { expr: now('slurm_user_gpus', 'running') } }),
  number({ title: 'Memory', description: 'Memory that running jobs of the user have.' + optional, unit: 'bytes', width: 4, decimals: 0, query: { expr: now('slurm_user_memory_bytes', 'running') } }),
  number({ title: 'GPUs requested', description: 'GPUs that pending jobs of the user request.' + optional, unit: 'short', width: 4, decimals: 0, query: { expr: now('slurm_user_gpus', 'pending') } }),
];

const past = (title: string, metric: string, what: string) => series({
  title, description: what + optional, unit: 'short', width: 8,
  queries: [{ expr: now(metric, 'running'), legend: 'running' }, { expr: now(metric, 'pending'), legend: 'pending' }],
});

const history = [
  past('Jobs over time', 'slurm_user_jobs', 'Running and pending jobs of the user.'),
  past('CPUs over time', 'slurm_user_cpus', 'CPUs that running jobs of the user have, and that pending jobs request.'),
  past('GPUs over time', 'slurm_user_gpus', 'GPUs that running jobs of the user have, and that pending jobs request.'),
];

const itsJobs = gauge('slurm_job_info', ['job_id', 'job_name', 'account', 'qos', 'partition'], chosen);
const ofJobs = (metric: string) => `${gauge(metric, ['job_id'])} * on (cluster, job_id) group_right () ${itsJobs}`;
/** The mean use of the GPUs of each job. dcgm-exporter knows no clusters; the nodes tell apart jobs of several clusters. */
const useOnNodes = `avg by (job_id, node) (max by (job_id, node, gpu) (${named('label_replace(DCGM_FI_DEV_GPU_UTIL{hpc_job!=""}, "job_id", "$1", "hpc_job", "(.+)")')}))`;
const useOfGPUs = `avg by (cluster, job_id) (${gauge('slurm_job_node_info', ['job_id', 'node'])} * on (job_id, node) group_left () ${useOnNodes}) / 100`;

const jobs = [
  rows({
    title: 'Running jobs', description: 'Running jobs of the user. Requires --collector.job_info. The use of GPUs is shown where dcgm-exporter knows the jobs (its option for the mapping of HPC jobs).', width: 24, height: 9,
    labels: { cluster: 'Cluster', job_id: 'Job', job_name: 'Name', account: 'Account', qos: 'QOS', partition: 'Partition' }, sort: { by: 'GPUs', descending: true },
    leads: { label: 'job_id', uid: 'slurmtide-job' },
    columns: [
      { name: 'Running for', expr: `(time() - ${gauge('slurm_job_start_time_seconds', ['job_id'])}) * on (cluster, job_id) group_right () ${itsJobs}`, unit: 's', decimals: 0 },
      { name: 'CPUs', expr: ofJobs('slurm_job_cpus'), decimals: 0 },
      { name: 'GPUs', expr: ofJobs('slurm_job_gpus'), decimals: 0 },
      { name: 'Use of GPUs', expr: `${useOfGPUs} * on (cluster, job_id) group_right () ${itsJobs}`, unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
    ],
  }),
];

const hours = (resource: string) => `${sum(total(`slurm_user_${resource}_seconds_total`, ['user'], chosen))} / 3600`;
const usage = ' Requires --collector.user_usage.';
const cost = [
  number({ title: 'CPU-hours', description: 'Hours of CPUs that running jobs of the user had in the time range.' + usage, unit: 'short', width: 8, decimals: 1, past: 'hidden', query: { expr: hours('cpu') } }),
  number({ title: 'GPU-hours', description: 'Hours of GPUs that running jobs of the user had in the time range.' + usage, unit: 'short', width: 8, decimals: 1, past: 'hidden', query: { expr: hours('gpu') } }),
  number({ title: 'Cost', description: 'Hours of CPUs and GPUs times the prices above.' + usage, unit: 'short', width: 8, decimals: 2, past: 'hidden', query: { expr: `${hours('cpu')} * $cpu_price + ${hours('gpu')} * $gpu_price` } }),
];

const ended = ' Of jobs that ended in the last day, as slurmdbd recorded them. Requires --collector.user_efficiency.';
const { inDay, efficiency } = endedJobs('user', chosen);
const efficiencies = [
  number({ title: 'Ended jobs', description: 'Jobs of the user that ran.' + ended, unit: 'short', width: 6, decimals: 0, past: 'hidden', query: { expr: inDay('jobs_total', ['state']) } }),
  number({ title: 'Not measured', description: 'Jobs of the user whose use Slurm did not gather.' + ended, unit: 'short', width: 6, decimals: 0, past: 'hidden', query: { expr: inDay('jobs_unmeasured_total') } }),
  number({ title: 'CPU efficiency', description: 'CPU time that jobs used, of the CPU time that they had.' + ended, unit: 'percentunit', width: 6, decimals: 0, max: 1, thresholds: calm(), query: { expr: efficiency('cpu', 'seconds') } }),
  number({ title: 'Memory efficiency', description: 'The most memory that jobs used at once, of the memory that they had.' + ended, unit: 'percentunit', width: 6, decimals: 0, max: 1, thresholds: calm(), query: { expr: efficiency('memory', 'byte_seconds') } }),
];

/** What one user has, waits for, pays and uses. */
export const user = () => framed({
  uid: 'slurmtide-user', title: 'Slurm / One user', from: 'now-24h',
  description: 'The jobs of one user, what they cost, and how much of what they had they used.',
  variables: [single('user', 'User', 'label_values(slurm_user_jobs{cluster=~"$cluster"}, user)', 'A user with jobs'), ...prices()],
  rows: [
    { title: 'Now', panels: present },
    { title: 'Over time', panels: history },
    { title: 'Jobs', panels: jobs },
    { title: 'Cost in the time range', panels: cost },
    { title: 'Efficiency', panels: efficiencies },
  ],
});
