// Constructors for each kind of panel, with the common options of that kind.
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as bargauge from '@grafana/grafana-foundation-sdk/bargauge';
import * as heatmap from '@grafana/grafana-foundation-sdk/heatmap';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';
import { calm, colour, colours } from './style.js';

/** The data source of the queries, which users select in the dashboard. */
export const source: common.DataSourceRef = { type: 'prometheus', uid: '${datasource}' };

/** A query with the name of its series. */
export interface Query { expr: string; legend?: string }

type Panel = { build(): dashboard.Panel };

/** Options of every panel. */
interface About {
  title: string;
  /** What the panel shows, and what to do about it. */
  description: string;
  unit: string;
  width: number;
  height?: number;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

function query(q: Query, i: number): prometheus.DataqueryBuilder {
  return new prometheus.DataqueryBuilder().datasource(source).refId(letters[i]).expr(q.expr).legendFormat(q.legend ?? '__auto');
}

interface StatOptions extends About {
  query: Query;
  thresholds?: dashboard.ThresholdsConfigBuilder;
  /** Texts to show instead of values. */
  words?: Record<string, { text: string; color: string }>;
  max?: number;
  decimals?: number;
  /** Whether a sparkline is shown below the value. */
  past?: 'shown' | 'hidden';
  noValue?: string;
}

/** A panel with the last value of a query. */
export function number(o: StatOptions): Panel {
  const p = new stat.PanelBuilder()
    .title(o.title).description(o.description).unit(o.unit).span(o.width).height(o.height ?? 4).datasource(source)
    .thresholds(o.thresholds ?? calm()).colorMode(common.BigValueColorMode.Value)
    .graphMode(o.past === 'hidden' ? common.BigValueGraphMode.None : common.BigValueGraphMode.Area)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false).fields(''))
    .noValue(o.noValue ?? '–')
    .withTarget(query(o.query, 0).range());
  if (o.max !== undefined) p.min(0).max(o.max);
  if (o.decimals !== undefined) p.decimals(o.decimals);
  if (o.words) p.mappings([{ type: dashboard.MappingType.ValueToText, options: o.words }]);
  return p;
}

interface SeriesOptions extends About {
  queries: Query[];
  /** Stacked areas or bars. */
  stacked?: 'areas' | 'bars';
  /** Upper end of the axis, which begins at 0. */
  max?: number;
  decimals?: number;
  /** Columns of a legend table; without them the legend is a list. */
  legend?: string[];
  /** Position of the legend. */
  legendAt?: 'right' | 'bottom';
  thresholds?: dashboard.ThresholdsConfigBuilder;
  /** Series that are dashed lines, by name or regular expression. */
  dashed?: string;
  /** Step interpolation, for whole numbers. */
  steps?: 'yes';
  /** Label values that are series names with a fixed colour. */
  named?: string[];
}

/** Lines or areas over time. */
export function series(o: SeriesOptions): Panel {
  const p = new timeseries.PanelBuilder()
    .title(o.title).description(o.description).unit(o.unit).span(o.width).height(o.height ?? 8).datasource(source)
    .min(0).lineWidth(o.stacked ? 1 : 2).fillOpacity(o.stacked === 'bars' ? 80 : o.stacked ? 60 : o.legend ? 0 : 8)
    .showPoints(o.stacked ? common.VisibilityMode.Never : common.VisibilityMode.Auto).spanNulls(false)
    .drawStyle(o.stacked === 'bars' ? common.GraphDrawStyle.Bars : common.GraphDrawStyle.Line)
    .lineInterpolation(o.steps ? common.LineInterpolation.StepAfter : common.LineInterpolation.Linear)
    .stacking(new common.StackingConfigBuilder().mode(o.stacked ? common.StackingMode.Normal : common.StackingMode.None).group('A'))
    .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi).sort(common.SortOrder.Descending))
    .legend(legend(o))
    .targets(o.queries.map((q, i) => query(q, i).range()));
  if (o.max !== undefined) p.max(o.max);
  if (o.decimals !== undefined) p.decimals(o.decimals);
  if (o.thresholds) {
    p.thresholds(o.thresholds).thresholdsStyle(new common.GraphThresholdsStyleConfigBuilder().mode(common.GraphThresholdsStyleMode.Dashed));
  }
  for (const name of [...(o.named ?? []), ...o.queries.map((q) => q.legend ?? '')]) {
    if (colours[name]) p.overrideByName(name, colour(colours[name]));
  }
  if (o.dashed) {
    p.overrideByRegexp(o.dashed, [
      { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 6] } },
      { id: 'custom.fillOpacity', value: 0 },
      { id: 'custom.stacking', value: { mode: 'none', group: 'A' } },
    ]);
  }
  return p;
}

function legend(o: SeriesOptions): common.VizLegendOptionsBuilder {
  const at = o.legendAt === 'right' ? common.LegendPlacement.Right : common.LegendPlacement.Bottom;
  const mode = o.legend ? common.LegendDisplayMode.Table : common.LegendDisplayMode.List;
  return new common.VizLegendOptionsBuilder().showLegend(true).placement(at).displayMode(mode).calcs(o.legend ?? []);
}

interface HeatmapOptions extends Omit<About, 'unit'> {
  query: string;
  /** Unit of the axis of buckets. */
  unit: string;
}

/** A heatmap of a histogram over time. */
export function buckets(o: HeatmapOptions): Panel {
  return new heatmap.PanelBuilder()
    .title(o.title).description(o.description).span(o.width).height(o.height ?? 9).datasource(source)
    .maxDataPoints(80).calculate(false).cellGap(1).showLegend().decimals(0)
    .color(new heatmap.HeatmapColorOptionsBuilder().mode(heatmap.HeatmapColorMode.Scheme).scheme('Oranges')
      .scale(heatmap.HeatmapColorScale.Exponential).exponent(0.5).steps(64).reverse(false).fill('dark-orange'))
    .yAxis(new heatmap.YAxisConfigBuilder().unit(o.unit).decimals(0).axisPlacement(common.AxisPlacement.Left))
    .cellValues(new heatmap.CellValuesBuilder().unit('short').decimals(1))
    .filterValues(new heatmap.FilterValueRangeBuilder().le(1e-9))
    .tooltip(new heatmap.HeatmapTooltipBuilder().mode(common.TooltipDisplayMode.Single).yHistogram(false).showColorScale(false))
    .withTarget(query({ expr: o.query, legend: '{{le}}' }, 0).range().format(prometheus.PromQueryFormat.Heatmap));
}

interface BarsOptions extends About {
  query: Query;
  max?: number;
  thresholds?: dashboard.ThresholdsConfigBuilder;
  decimals?: number;
}

/** A bar with the last value of each series. */
export function bars(o: BarsOptions): Panel {
  const p = new bargauge.PanelBuilder()
    .title(o.title).description(o.description).unit(o.unit).span(o.width).height(o.height ?? 8).datasource(source)
    .min(0).thresholds(o.thresholds ?? calm()).displayMode(common.BarGaugeDisplayMode.Basic)
    .orientation(common.VizOrientation.Horizontal).showUnfilled(true).valueMode(common.BarGaugeValueMode.Color)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']).values(false).fields(''))
    .withTarget(query(o.query, 0).instant());
  if (o.max !== undefined) p.max(o.max);
  if (o.decimals !== undefined) p.decimals(o.decimals);
  return p;
}

/** A column that a query fills. */
export interface Column {
  name: string;
  expr: string;
  unit?: string;
  decimals?: number;
  /** Maximum of a bar that is shown in the cell. */
  bar?: number;
  thresholds?: dashboard.ThresholdsConfigBuilder;
  words?: Record<string, { text: string; color: string }>;
  /** Text for infinite values, such as limits that are not set. */
  endless?: string;
  width?: number;
  /** The value creates the row but is not shown. */
  shown?: 'no';
}

interface RowsOptions extends Omit<About, 'unit'> {
  /** Labels that identify a row, with their headings, in order. */
  labels: Record<string, string>;
  columns: Column[];
  /** Heading and direction of the column by which rows are sorted. */
  sort: { by: string; descending: boolean };
  /** Widths of label columns. */
  widths?: Record<string, number>;
  /** Dashboard to which the values of a label link, with the label as a variable. */
  leads?: { label: string; uid: string };
}

/** A table with a row for each set of labels and a column for each query. */
export function rows(o: RowsOptions): Panel {
  const p = new table.PanelBuilder()
    .title(o.title).description(o.description).span(o.width).height(o.height ?? 8).datasource(source)
    .cellHeight(common.TableCellHeight.Sm).showHeader(true).cellOptions({ type: common.TableCellDisplayMode.Auto } as common.TableCellOptions)
    .sortBy([new common.TableSortByFieldStateBuilder().displayName(o.sort.by).desc(o.sort.descending)])
    .targets(o.columns.map((c, i) => query({ expr: c.expr, legend: c.name }, i).instant().format(prometheus.PromQueryFormat.Table)))
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({ id: 'organize', options: organised(o) });
  o.columns.forEach((c) => p.overrideByName(c.name, cell(c)));
  for (const [heading, width] of Object.entries(o.widths ?? {})) p.overrideByName(heading, [{ id: 'custom.width', value: width }]);
  if (o.leads) p.overrideByName(o.labels[o.leads.label], lead(o.leads, o.labels[o.leads.label]));
  return p;
}

function organised(o: RowsOptions): object {
  const names = Object.keys(o.labels);
  const value = (i: number) => (o.columns.length === 1 ? 'Value' : `Value #${letters[i]}`);
  const hidden = o.columns.flatMap((c, i) => (c.shown === 'no' ? [[value(i), true]] : []));
  return {
    excludeByName: Object.fromEntries([['Time', true], ...hidden]),
    indexByName: Object.fromEntries([...names.map((n, i) => [n, i]), ...o.columns.map((_, i) => [value(i), names.length + i])]),
    renameByName: { ...o.labels, ...Object.fromEntries(o.columns.map((c, i) => [value(i), c.name])) },
    includeByName: {},
  };
}

function cell(c: Column): dashboard.DynamicConfigValue[] {
  const out: dashboard.DynamicConfigValue[] = [{ id: 'unit', value: c.unit ?? 'short' }];
  if (c.decimals !== undefined) out.push({ id: 'decimals', value: c.decimals });
  if (c.width) out.push({ id: 'custom.width', value: c.width });
  if (c.words) out.push({ id: 'mappings', value: [{ type: 'value', options: c.words }] });
  if (c.endless) out.push({ id: 'mappings', value: [{ type: 'range', options: { from: 1e15, to: null, result: { text: c.endless } } }] });
  if (c.thresholds) out.push({ id: 'thresholds', value: c.thresholds.build() });
  if (c.bar !== undefined) {
    out.push({ id: 'min', value: 0 }, { id: 'max', value: c.bar }, { id: 'custom.cellOptions', value: { type: 'gauge', mode: 'basic' } });
  } else if (c.thresholds || c.words) {
    out.push({ id: 'custom.cellOptions', value: { type: 'color-text' } });
  }
  return out;
}

function lead(to: { label: string; uid: string }, heading: string): dashboard.DynamicConfigValue[] {
  const url = `/d/${to.uid}?\${datasource:queryparam}&var-${to.label}=\${__value.raw}&\${__url_time_range}`;
  return [{ id: 'links', value: [{ title: `Show this ${heading.toLowerCase()}`, url }] }];
}
