import { endedJobs } from './ended.js';
import { choice, framed, prices } from './frame.js';
import { number, rows, series } from './panels.js';
import { rate, sum, total } from './queries.js';
import { badFrom, fullness } from './style.js';

const types = 'type=~"$gpu_type"';
const gpuHours = (state: string) => `${sum(total('slurm_gpu_seconds_total', ['type', 'state'], `${types}, state="${state}"`))} / 3600`;
const cpuHours = (state: string) => `${sum(total('slurm_cpu_seconds_total', ['state'], `state="${state}"`))} / 3600`;

const cost = [
  number({ title: 'GPU-hours allocated', description: 'Hours of allocated GPUs of the selected types in the time range.', unit: 'short', width: 6, decimals: 1, past: 'hidden', query: { expr: gpuHours('allocated') } }),
  number({ title: 'GPU-hours idle', description: 'Hours of GPUs of the selected types in the time range that no job had although a job could.', unit: 'short', width: 6, decimals: 1, past: 'hidden', query: { expr: gpuHours('idle') } }),
  number({ title: 'Cost of allocated GPUs', description: 'Hours of allocated GPUs times the price above. Select one type at a time where prices differ.', unit: 'short', width: 6, decimals: 2, past: 'hidden', query: { expr: `${gpuHours('allocated')} * $gpu_price` } }),
  number({ title: 'Cost of idle GPUs', description: 'Hours of idle GPUs times the price above.', unit: 'short', width: 6, decimals: 2, past: 'hidden', query: { expr: `${gpuHours('idle')} * $gpu_price` } }),
  number({ title: 'CPU-hours allocated', description: 'Hours of allocated CPUs in the time range.', unit: 'short', width: 6, decimals: 1, past: 'hidden', query: { expr: cpuHours('allocated') } }),
  number({ title: 'CPU-hours idle', description: 'Hours of CPUs in the time range that no job had although a job could.', unit: 'short', width: 6, decimals: 1, past: 'hidden', query: { expr: cpuHours('idle') } }),
  number({ title: 'Cost of allocated CPUs', description: 'Hours of allocated CPUs times the price above.', unit: 'short', width: 6, decimals: 2, past: 'hidden', query: { expr: `${cpuHours('allocated')} * $cpu_price` } }),
  number({ title: 'Cost of idle CPUs', description: 'Hours of idle CPUs times the price above.', unit: 'short', width: 6, decimals: 2, past: 'hidden', query: { expr: `${cpuHours('idle')} * $cpu_price` } }),
  series({
    title: 'GPUs by state', description: 'GPUs of the selected types that are allocated, idle, or neither, on nodes that are down, drained, booting or reserved.', unit: 'short', width: 24, stacked: 'areas', named: ['allocated', 'idle', 'other'],
    queries: [{ expr: sum(rate('slurm_gpu_seconds_total', ['type', 'state'], types), ['state']), legend: '{{state}}' }],
  }),
];

const usage = ' Requires --collector.job_usage.';
const hours = (resource: string, label: string) => `${sum(total(`slurm_${label}_${resource}_seconds_total`, [label], label === 'account' ? 'account=~"$account"' : undefined), [label])} / 3600`;

const costBy = (label: string, heading: string, noun: string) => rows({
  title: `Cost by ${noun}`, description: `Hours of CPUs and GPUs that running jobs of each ${noun} had in the time range, and what they cost at the prices above.` + usage, width: 12,
  labels: { [label]: heading }, sort: { by: 'Cost', descending: true },
  columns: [
    { name: 'CPU-hours', expr: hours('cpu', label), decimals: 1 },
    { name: 'GPU-hours', expr: hours('gpu', label), decimals: 1 },
    { name: 'Cost', expr: `${hours('cpu', label)} * $cpu_price + ${hours('gpu', label)} * $gpu_price`, decimals: 2 },
  ],
});

const accounts = [costBy('account', 'Account', 'account'), costBy('qos', 'QOS', 'QOS')];

const ended = ' Of jobs that ended in the last day, as slurmdbd recorded them. Requires --collector.job_efficiency.';
const { inDay, efficiency } = endedJobs('account', 'account=~"$account"');

const efficiencies = [
  series({
    title: 'CPU efficiency', description: 'CPU time that jobs used, of the CPU time that they had.' + ended, unit: 'percentunit', width: 12, max: 1, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: efficiency('cpu', 'seconds'), legend: '{{account}}' }],
  }),
  series({
    title: 'Memory efficiency', description: 'The most memory that jobs used at once, of the memory that they had.' + ended, unit: 'percentunit', width: 12, max: 1, legend: ['lastNotNull'], legendAt: 'right',
    queries: [{ expr: efficiency('memory', 'byte_seconds'), legend: '{{account}}' }],
  }),
  rows({
    title: 'Efficiency by account', description: 'What jobs of each account used of what they had. Jobs whose use Slurm did not gather are not measured.' + ended, width: 24,
    labels: { account: 'Account' }, sort: { by: 'CPU-hours', descending: true },
    columns: [
      { name: 'CPU', expr: efficiency('cpu', 'seconds'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'Memory', expr: efficiency('memory', 'byte_seconds'), unit: 'percentunit', bar: 1, decimals: 0, thresholds: fullness() },
      { name: 'CPU-hours', expr: `${inDay('job_cpu_allocated_seconds_total')} / 3600`, decimals: 1 },
      { name: 'Jobs', expr: inDay('jobs_total', ['state']), decimals: 0 },
      { name: 'Not measured', expr: inDay('jobs_unmeasured_total'), decimals: 0, thresholds: badFrom(1, 100) },
    ],
  }),
];

/** What CPUs and GPUs cost, who had them, and how much of them jobs used. */
export const costs = () => framed({
  uid: 'slurmtide-cost', title: 'Slurm / Cost and efficiency', from: 'now-24h',
  description: 'Hours and cost of CPUs and GPUs, by account and QOS, and how much of what they had jobs used.',
  variables: [
    choice('account', 'Account', 'label_values(slurm_account_jobs{cluster=~"$cluster"}, account)', 'Accounts with jobs'),
    choice('gpu_type', 'GPU type', 'label_values(slurm_gpu_seconds_total{cluster=~"$cluster"}, type)', 'Types of GPUs'),
    ...prices(),
  ],
  rows: [
    { title: 'Cost in the time range', panels: cost },
    { title: 'Who had them', panels: accounts },
    { title: 'Efficiency', panels: efficiencies },
  ],
});
