// The common parts of all dashboards: variables, links to the other dashboards, rows of panels.
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import { source } from './panels.js';

/** The tag by which the dashboards link to each other. */
const tag = 'slurmtide';

type Panel = { build(): dashboard.Panel };

/** A heading and the panels below it, in a grid of 24 columns. */
export interface Row { title: string; panels: Panel[] }

interface Frame {
  uid: string;
  title: string;
  description: string;
  variables?: (dashboard.QueryVariableBuilder | dashboard.TextBoxVariableBuilder)[];
  rows: Row[];
  from?: string;
}

/** A variable with the values of a label; users can select several values. */
export function choice(name: string, label: string, query: string, description: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name).label(label).description(description)
    .datasource(source).query({ query, refId: name, qryType: 1 })
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged).sort(dashboard.VariableSort.NaturalAsc)
    .multi(true).includeAll(true).allValue('.*').current({ text: ['All'], value: ['$__all'] });
}

/** A variable with the values of a label; users select one, and the first one is selected at first. */
export function single(name: string, label: string, query: string, description: string): dashboard.QueryVariableBuilder {
  return new dashboard.QueryVariableBuilder(name).label(label).description(description)
    .datasource(source).query({ query, refId: name, qryType: 1 })
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged).sort(dashboard.VariableSort.NaturalAsc)
    .multi(false).includeAll(false);
}

/** A variable with a number that users enter. */
function amount(name: string, label: string, first: string, description: string): dashboard.TextBoxVariableBuilder {
  return new dashboard.TextBoxVariableBuilder(name).label(label).description(description).defaultValue(first);
}

/** The variables for prices. */
export const prices = () => [
  amount('gpu_price', 'GPU-hour', '2.5', 'Price of an hour of a GPU of the selected types, in any currency'),
  amount('cpu_price', 'CPU-hour', '0.05', 'Price of an hour of a CPU, in any currency'),
];

const datasource = () => new dashboard.DatasourceVariableBuilder('datasource').label('Data source').type('prometheus')
  .description('The Prometheus that scrapes the exporter');

const cluster = () => choice('cluster', 'Cluster', 'label_values(slurm_up, cluster)', 'Slurm clusters, by the label cluster of their metrics');

/** The variable for partitions of the selected clusters. */
export const partition = () => choice('partition', 'Partition', 'label_values(slurm_partition_pending_jobs{cluster=~"$cluster"}, partition)', 'Partitions of the selected clusters');

/** A dashboard with the common parts. */
export function framed(f: Frame): dashboard.Dashboard {
  const links = new dashboard.DashboardLinkBuilder('Slurm').type(dashboard.DashboardLinkType.Dashboards)
    .tags([tag]).asDropdown(false).includeVars(true).keepTime(true).icon('external link').tooltip('').url('');
  const b = new dashboard.DashboardBuilder(f.title).uid(f.uid).description(f.description).tags([tag])
    .editable().tooltip(dashboard.DashboardCursorSync.Crosshair).timezone('browser').refresh('30s')
    .time({ from: f.from ?? 'now-6h', to: 'now' }).link(links)
    .variables([datasource(), cluster(), ...(f.variables ?? [])]);
  for (const row of f.rows) {
    b.withRow(new dashboard.RowBuilder(row.title));
    row.panels.forEach((p) => b.withPanel(p));
  }
  const built = b.build();
  (built.panels ?? []).forEach((p, i) => { p.id = i + 1; });
  return tidied(built);
}

/** Removes properties that the SDK adds but Grafana's schema no longer has. */
function tidied(d: dashboard.Dashboard): dashboard.Dashboard {
  const drop = (from: object | undefined, ...names: string[]) => names.forEach((n) => delete (from as Record<string, unknown>)[n]);
  d.templating?.list?.forEach((v) => drop(v, 'auto', 'auto_min', 'auto_count'));
  d.panels?.forEach((p) => { if (p.type === 'table') drop(p.options, 'footer'); });
  return d;
}
