// A table as in the panel: responses merged by labels, columns ordered, cells formatted.
import { FieldType, getDisplayProcessor, type GrafanaTheme2, formattedValueToString } from '@grafana/data';
import { configFor, type Panel } from './frames';

type Row = Record<string, string | number>;

/** Joins the answers by the labels that all of them have, as Grafana's merge does. */
function merged(p: Panel): { rows: Row[]; labels: string[] } {
  const kinds = p.data.filter((t) => t.result.length).map((t) => Object.keys(t.result[0].metric));
  const common = (kinds[0] ?? []).filter((l) => kinds.every((k) => k.includes(l)));
  const rows: Row[] = [];
  for (const target of p.data) {
    const column = p.data.length === 1 ? 'Value' : `Value #${target.refId}`;
    for (const s of target.result) {
      const fits = (r: Row) => common.every((l) => r[l] === s.metric[l]) && Object.entries(s.metric).every(([l, v]) => r[l] === undefined || r[l] === v) && r[column] === undefined;
      let row = rows.find(fits);
      if (!row) rows.push(row = {});
      Object.assign(row, s.metric, { [column]: s.value![1] === '+Inf' ? Infinity : Number(s.value![1]) });
    }
  }
  return { rows, labels: [...new Set(kinds.flat())] };
}

const collator = new Intl.Collator('en', { numeric: true });
type Value = string | number | undefined;

/** Orders values as Grafana's tables do: n2 is before n10. */
const natural = (a: Value, b: Value) => (typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a ?? ''), String(b ?? '')));

export function PanelTable({ p, theme, width, height }: { p: Panel; theme: GrafanaTheme2; width: number; height: number }) {
  const { rows } = merged(p);
  const how = p.transformations!.find((t) => t.id === 'organize')!.options;
  const order = Object.entries(how.indexByName as Record<string, number>).sort((a, b) => a[1] - b[1]).map(([n]) => n).filter((n) => !how.excludeByName[n]);
  const columns = order.filter((n) => rows.some((r) => r[n] !== undefined)).map((n) => ({ key: n, heading: how.renameByName[n] ?? n, config: configFor(p, how.renameByName[n] ?? n) }));
  const sort = p.options.sortBy?.[0];
  const by = columns.find((c) => c.heading === sort?.displayName)?.key;
  if (by) rows.sort((a, b) => natural(a[by], b[by]) * (sort.desc ? -1 : 1));
  const shown = rows.slice(0, Math.floor((height - 32) / 33));
  return <table style={{ width, borderCollapse: 'collapse', fontSize: 14, tableLayout: 'fixed', color: theme.colors.text.primary }}>
    <thead><tr>{columns.map((c) => <th key={c.key} style={{ width: c.config.custom?.width, textAlign: c.key.startsWith('Value') && !cellType(c.config).includes('text') ? 'right' : 'left', fontWeight: 500, color: theme.colors.text.link, padding: '6px 8px', whiteSpace: 'nowrap', borderBottom: `1px solid ${theme.colors.border.medium}` }}>{c.heading}</th>)}</tr></thead>
    <tbody>{shown.map((r, i) => <tr key={i}>{columns.map((c) => <Cell key={c.key} column={c} value={r[c.key]} theme={theme} />)}</tr>)}</tbody>
  </table>;
}

const cellType = (config: any): string => (config.mappings ? 'text' : config.custom?.cellOptions?.type ?? 'auto').replace('color-text', config.mappings ? 'text' : 'colour');

function Cell({ column, value, theme }: { column: { key: string; config: any }; value: string | number | undefined; theme: GrafanaTheme2 }) {
  const style = { padding: '5px 8px', height: 33, borderBottom: `1px solid ${theme.colors.border.weak}`, whiteSpace: 'nowrap' as const, overflow: 'hidden', textOverflow: 'ellipsis' };
  if (!column.key.startsWith('Value') || value === undefined || Number.isNaN(value)) return <td style={style}>{column.key.startsWith('Value') ? '' : value}</td>;
  const field = { name: column.key, type: FieldType.number, values: [value], config: { ...column.config, color: { mode: 'thresholds' } } } as any;
  const shown = getDisplayProcessor({ field, theme })(value);
  const text = formattedValueToString(shown);
  const kind = column.config.custom?.cellOptions?.type;
  if (kind === 'gauge') {
    return <td style={style}><div style={{ display: 'flex', alignItems: 'center', gap: 8 }}>
      <div style={{ flex: 1, height: 18, background: theme.colors.background.secondary }}><div style={{ width: `${100 * Math.min(1, Number(value))}%`, height: 18, background: shown.color, opacity: 0.85 }} /></div>
      <span style={{ width: 42, textAlign: 'right', color: shown.color }}>{text}</span></div></td>;
  }
  return <td style={{ ...style, textAlign: column.config.mappings ? 'left' : 'right', color: kind === 'color-text' ? shown.color : undefined }}>{text}</td>;
}
