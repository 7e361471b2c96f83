import { choice, framed } from './frame.js';
import { bars, number, rows, series } from './panels.js';
import { gauge, sum } from './queries.js';
import { badFrom, calm, steps } from './style.js';

const optional = ' Requires --collector.users.';
const user = (metric: string, state: string) => sum(gauge(metric, ['user', 'state'], `user=~"$user", state="${state}"`), ['user']);
const account = (metric: string, state: string) => sum(gauge(metric, ['account', 'state'], `account=~"$account", state="${state}"`), ['account']);

const accounts = [
  series({
    title: 'CPUs by account', description: 'CPUs allocated to running jobs of each account.', unit: 'short', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: account('slurm_account_cpus', 'running'), legend: '{{account}}' }],
  }),
  series({
    title: 'GPUs by account', description: 'GPUs allocated to running jobs of each account.', unit: 'short', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: account('slurm_account_gpus', 'running'), legend: '{{account}}' }],
  }),
  series({
    title: 'Running jobs by account', description: 'Running jobs of each account.', unit: 'short', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: account('slurm_account_jobs', 'running'), legend: '{{account}}' }],
  }),
  series({
    title: 'Pending jobs by account', description: 'Pending jobs of each account.', unit: 'short', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: account('slurm_account_jobs', 'pending'), legend: '{{account}}' }],
  }),
];

const users = [
  number({ title: 'Users with jobs', description: 'Users with jobs in the queue.' + optional, unit: 'short', width: 4, height: 8, noValue: 'not shown', query: { expr: `count(${sum(gauge('slurm_user_jobs', ['user', 'state']), ['user'])} > 0)` } }),
  bars({ title: 'CPUs by user', description: 'The ten users with the most allocated CPUs.' + optional, unit: 'short', width: 10, decimals: 0, query: { expr: `sort_desc(topk(10, ${user('slurm_user_cpus', 'running')}))`, legend: '{{user}}' } }),
  bars({ title: 'Pending jobs by user', description: 'The ten users with the most pending jobs.' + optional, unit: 'short', width: 10, decimals: 0, query: { expr: `sort_desc(topk(10, ${user('slurm_user_jobs', 'pending')}))`, legend: '{{user}}' } }),
  rows({
    title: 'Users', description: 'One row per user with jobs.' + optional, width: 24, height: 8,
    labels: { user: 'User' }, sort: { by: 'CPUs allocated', descending: true }, leads: { label: 'user', uid: 'slurmtide-user' },
    columns: [
      { name: 'Running', expr: user('slurm_user_jobs', 'running'), decimals: 0 },
      { name: 'Pending', expr: user('slurm_user_jobs', 'pending'), decimals: 0 },
      { name: 'CPUs allocated', expr: user('slurm_user_cpus', 'running'), decimals: 0 },
      { name: 'CPUs requested', expr: user('slurm_user_cpus', 'pending'), decimals: 0 },
      { name: 'GPUs allocated', expr: user('slurm_user_gpus', 'running'), decimals: 0 },
      { name: 'Memory allocated', expr: user('slurm_user_memory_bytes', 'running'), unit: 'bytes', decimals: 0 },
    ],
  }),
];

const fairshare = (metric: string) => gauge(metric, ['account'], 'account=~"$account"');

const shares = [
  series({
    title: 'Fair-share level', description: 'Shares divided by usage among siblings (LevelFS). Below 1, an account has used more than its share. Accounts without usage have an infinite level and are not shown.', unit: 'short', width: 12, legend: ['lastNotNull'], legendAt: 'right', thresholds: steps('green', [1, 'orange']),
    queries: [{ expr: `${fairshare('slurm_fairshare_account_level')} < Inf`, legend: '{{cluster}} {{account}}' }],
  }),
  rows({
    title: 'Fair share', description: 'Shares and recent usage of each account.', width: 12,
    labels: { cluster: 'Cluster', account: 'Account' }, sort: { by: 'Used', descending: true },
    columns: [
      { name: 'Share', expr: fairshare('slurm_fairshare_account_shares_ratio'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: calm() },
      { name: 'Used', expr: fairshare('slurm_fairshare_account_usage_ratio'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: calm() },
      { name: 'Billing', expr: fairshare('slurm_fairshare_account_usage_seconds'), unit: 's', decimals: 0 },
    ],
  }),
];

const qos = [
  series({
    title: 'Jobs by QOS', description: 'Running jobs of each quality of service.', unit: 'short', width: 12, stacked: 'areas', legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: sum(gauge('slurm_qos_jobs', ['qos', 'state'], 'state="running"'), ['qos']), legend: '{{qos}}' }],
  }),
  rows({
    title: 'Qualities of service', description: 'Jobs of each QOS, its limit on running jobs (GrpJobs), and its priority.', width: 12,
    labels: { cluster: 'Cluster', qos: 'QOS' }, sort: { by: 'Running', descending: true },
    columns: [
      { name: 'Running', expr: sum(gauge('slurm_qos_jobs', ['qos', 'state'], 'state="running"'), ['cluster', 'qos']), decimals: 0 },
      { name: 'Pending', expr: sum(gauge('slurm_qos_jobs', ['qos', 'state'], 'state="pending"'), ['cluster', 'qos']), decimals: 0 },
      { name: 'Limit', expr: gauge('slurm_qos_max_jobs', ['qos']), decimals: 0, endless: 'none' },
      { name: 'Priority', expr: gauge('slurm_qos_priority', ['qos']), decimals: 0 },
      { name: 'CPUs allocated', expr: sum(gauge('slurm_qos_cpus', ['qos', 'state'], 'state="running"'), ['cluster', 'qos']), decimals: 0 },
    ],
  }),
  rows({
    title: 'Licences', description: 'Licences in use, free, reserved and in total, and the nodes of each layer of a hierarchical resource.', width: 24, height: 5,
    labels: { cluster: 'Cluster', license: 'Licence', nodes: 'Nodes' }, sort: { by: 'Licence', descending: false },
    columns: [
      { name: 'Used', expr: gauge('slurm_license_used', ['license', 'nodes']), decimals: 0 },
      { name: 'Free', expr: gauge('slurm_license_free', ['license', 'nodes']), decimals: 0 },
      { name: 'Reserved', expr: gauge('slurm_license_reserved', ['license', 'nodes']), decimals: 0 },
      { name: 'Total', expr: gauge('slurm_license_capacity', ['license', 'nodes']), decimals: 0 },
      { name: 'In use', expr: `${gauge('slurm_license_used', ['license', 'nodes'])} / (${gauge('slurm_license_capacity', ['license', 'nodes'])} > 0)`, unit: 'percentunit', bar: 1, decimals: 0, thresholds: badFrom(0.8, 0.95) },
    ],
  }),
];

/** Resources and fair share of accounts and users. */
export const people = () => framed({
  uid: 'slurmtide-users', title: 'Slurm / Users and accounts',
  description: 'Allocated and requested resources of accounts, users and qualities of service, and their fair share.',
  variables: [
    choice('account', 'Account', 'label_values(slurm_account_jobs{cluster=~"$cluster"}, account)', 'Accounts with jobs'),
    choice('user', 'User', 'label_values(slurm_user_jobs{cluster=~"$cluster"}, user)', 'Users with jobs'),
  ],
  rows: [
    { title: 'Accounts', panels: accounts },
    { title: 'Users', panels: users },
    { title: 'Fair share', panels: shares },
    { title: 'QOS and licences', panels: qos },
  ],
});
