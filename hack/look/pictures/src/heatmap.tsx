// A heatmap with a cell for each step and bucket. Grafana's component library has no heatmap.
import { getValueFormat, type GrafanaTheme2, formattedValueToString } from '@grafana/data';
import type { Panel } from './frames';

const shades = ['#fff5eb', '#fee6ce', '#fdd0a2', '#fdae6b', '#fd8d3c', '#f16913', '#d94801', '#a63603', '#7f2704'];

/** The counts of each bucket alone, of cumulative ones, lowest bucket first. */
function rowsOf(p: Panel, columns: number[]) {
  const sorted = [...p.data[0].result].sort((a, b) => bound(a.metric.le) - bound(b.metric.le));
  const cumulative = sorted.map((s) => { const at = new Map(s.values!.map(([t, v]) => [t, Number(v)])); return columns.map((t) => at.get(t) ?? 0); });
  return sorted.map((s, i) => ({ le: s.metric.le, counts: cumulative[i].map((v, j) => Math.max(0, v - (i ? cumulative[i - 1][j] : 0))) }));
}

const bound = (le: string) => (le === '+Inf' ? Infinity : Number(le));

export function Heatmap({ p, data, theme, width, height }: { p: Panel; data: { from: number; to: number; step: number }; theme: GrafanaTheme2; width: number; height: number }) {
  const columns = [...new Set(p.data[0].result.flatMap((s) => s.values!.map(([t]) => t)))].sort((a, b) => a - b);
  let rows = rowsOf(p, columns);
  const top = rows.findLastIndex((r) => r.counts.some((c) => c > 1e-9));
  rows = rows.slice(0, Math.max(3, top + 1));
  const most = Math.max(...rows.flatMap((r) => r.counts), 1e-9);
  const left = 56, bottom = 22, w = (width - left) / columns.length, h = (height - bottom - 8) / rows.length;
  const format = getValueFormat(p.options.yAxis.unit);
  const label = (le: string) => (le === '+Inf' ? '+Inf' : formattedValueToString(format(Number(le), 0)));
  const shade = (c: number) => shades[Math.min(shades.length - 1, Math.floor(Math.sqrt(c / most) * shades.length))];
  const every = Math.ceil(columns.length / 6);
  return <svg width={width} height={height} style={{ fontSize: 12, fill: theme.colors.text.secondary }}>
    {rows.map((r, i) => <g key={r.le}>
      <text x={left - 6} y={height - bottom - i * h - h + 4} textAnchor="end" dominantBaseline="middle">{label(r.le)}</text>
      <line x1={left} x2={width} y1={height - bottom - i * h} y2={height - bottom - i * h} stroke={theme.colors.border.weak} />
      {r.counts.map((c, j) => c > 1e-9 && <rect key={j} x={left + j * w + 0.5} y={height - bottom - (i + 1) * h + 0.5} width={w - 1} height={h - 1} fill={shade(c)} />)}
    </g>)}
    {columns.map((t, j) => j % every === 0 && <text key={t} x={left + j * w} y={height - 5}>{new Date(t * 1000).toISOString().slice(11, 16)}</text>)}
  </svg>;
}
