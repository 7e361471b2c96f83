// Converts Prometheus responses to the data frames that Grafana's components draw.
import {
  type DataFrame, type Field, FieldType, type GrafanaTheme2, type DynamicConfigValue, getDisplayProcessor, getFieldSeriesColor, toDataFrame,
} from '@grafana/data';

export interface Series { metric: Record<string, string>; values?: [number, string][]; value?: [number, string] }
export interface Target { refId: string; legend: string; result: Series[] }
export interface Panel {
  type: string; title: string; description?: string; gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig: { defaults: any; overrides: { matcher: { id: string; options: string }; properties: DynamicConfigValue[] }[] };
  options: any; transformations?: { id: string; options: any }[]; data: Target[];
}

/** The name of a series, by the legend of its query. */
export function nameOf(legend: string, labels: Record<string, string>, fallback: string): string {
  if (legend && legend !== '__auto') return legend.replace(/{{\s*(\w+)\s*}}/g, (_, l) => labels[l] ?? '');
  const { __name__, ...rest } = labels;
  return Object.values(rest).join(' ') || __name__ || fallback;
}

const number = (text: string) => (text === 'NaN' ? null : text === '+Inf' ? Infinity : Number(text));

/** Values at each step, null where Prometheus has none: lines break there. */
function onGrid(values: [number, string][], from: number, to: number, step: number): (number | null)[] {
  const at = new Map(values.map(([t, v]) => [Math.round((t - from) / step), number(v)]));
  return Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => at.get(i) ?? null);
}

function set(config: any, id: string, value: unknown): void {
  const path = id.split('.');
  const last = path.pop()!;
  let at = config;
  for (const part of path) at = at[part] ??= {};
  at[last] = value;
}

/** The configuration of a field by its name: the panel's own, and what overrides it. */
export function configFor(panel: Panel, name: string): any {
  const config = structuredClone(panel.fieldConfig.defaults ?? {});
  for (const o of panel.fieldConfig.overrides ?? []) {
    const hit = o.matcher.id === 'byRegexp' ? new RegExp(o.matcher.options.replace(/^\/|\/$/g, '')).test(name) : o.matcher.options === name;
    if (hit) for (const p of o.properties) set(config, p.id, p.value);
  }
  config.color ??= { mode: panel.type === 'timeseries' ? 'palette-classic' : 'thresholds' };
  return config;
}

/** A frame for each series. */
export function frames(panel: Panel, theme: GrafanaTheme2, from: number, to: number, step: number): DataFrame[] {
  let index = 0;
  return panel.data.flatMap((target) => target.result.map((s) => {
    const name = nameOf(target.legend, s.metric, panel.title);
    const times = s.values ? Array.from({ length: Math.round((to - from) / step) + 1 }, (_, i) => (from + i * step) * 1000) : [s.value![0] * 1000];
    const values = s.values ? onGrid(s.values, from, to, step) : [number(s.value![1])];
    const config = { ...configFor(panel, name), displayName: name };
    const frame = toDataFrame({ refId: target.refId, name, fields: [
      { name: 'Time', type: FieldType.time, values: times, config: {} },
      { name: 'Value', type: FieldType.number, values, config, labels: s.metric },
    ] });
    finish(frame.fields[1], theme, index++);
    return frame;
  }));
}

/** Gives a field its colour and the words for its values. */
export function finish(field: Field, theme: GrafanaTheme2, index: number): void {
  field.state = { seriesIndex: index, displayName: field.config.displayName ?? null };
  field.display = getDisplayProcessor({ field, theme });
  getFieldSeriesColor(field, theme);
}
