// Draws a whole dashboard from data.json beside the page.
import { createTheme, getDisplayProcessor, dateTime, type DataFrame, type GrafanaTheme2, ThemeContext } from '@grafana/data';
import { BarGauge, BigValue, TimeSeries, BigValueColorMode, BigValueGraphMode } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { frames, type Panel } from './frames';
import { Heatmap } from './heatmap';
import { PanelTable } from './table';

interface Data { title: string; from: number; to: number; step: number; panels: Panel[]; variables: [string, string][] }

const unit = 38, gap = 8, width = 1600;
const column = (width - 2 * gap + gap) / 24;
const theme = createTheme({ colors: { mode: 'light' } });

const box = (p: Panel) => ({
  left: gap + p.gridPos.x * column, top: 56 + p.gridPos.y * unit,
  width: p.gridPos.w * column - gap, height: p.gridPos.h * unit - gap,
});

function Panels({ data }: { data: Data }) {
  return <ThemeContext.Provider value={theme}>
    <div style={{ position: 'absolute', left: 16, top: 14, fontSize: 20, fontWeight: 500, color: theme.colors.text.primary }}>{data.title}</div>
    <div style={{ position: 'absolute', right: 16, top: 14, display: 'flex', gap: 8 }}>{data.variables.map(([n, v]) =>
      <span key={n} style={{ border: `1px solid ${theme.colors.border.medium}`, borderRadius: 4, padding: '4px 8px', fontSize: 12, background: '#fff' }}>
        <b style={{ fontWeight: 500, color: theme.colors.text.secondary }}>{n}</b>&nbsp; {v}</span>)}</div>
    {data.panels.map((p, i) => p.type === 'row' ? <RowHead key={i} p={p} /> : <Chrome key={i} p={p} data={data} />)}
  </ThemeContext.Provider>;
}

const RowHead = ({ p }: { p: Panel }) => {
  const b = box(p);
  return <div style={{ position: 'absolute', ...b, height: unit, fontSize: 15, fontWeight: 500, paddingTop: 8, color: theme.colors.text.primary }}>⌄ {p.title}</div>;
};

function Chrome({ p, data }: { p: Panel; data: Data }) {
  const b = box(p), head = 30, pad = 8;
  return <div style={{ position: 'absolute', ...b, background: '#fff', border: `1px solid ${theme.colors.border.weak}`, borderRadius: 4, overflow: 'hidden' }}>
    <div style={{ height: head, padding: '6px 8px', fontSize: 14, fontWeight: 500, whiteSpace: 'nowrap', overflow: 'hidden', color: theme.colors.text.primary }}>{p.title}</div>
    <div style={{ position: 'absolute', left: pad, top: head }}>
      <Content p={p} data={data} width={b.width - 2 * pad - 2} height={b.height - head - pad} />
    </div>
  </div>;
}

const Nothing = ({ width, height, text }: { width: number; height: number; text: string }) =>
  <div className="nodata" style={{ width, height, display: 'flex', alignItems: 'center', justifyContent: 'center', fontSize: 18, color: theme.colors.text.secondary }}>{text}</div>;

function Content({ p, data, width, height }: { p: Panel; data: Data; width: number; height: number }) {
  const range = { from: dateTime(data.from * 1000), to: dateTime(data.to * 1000), raw: { from: 'now-1h', to: 'now' } };
  const some = p.data.some((t) => t.result.length > 0);
  if (!some) return <Nothing width={width} height={height} text={p.fieldConfig.defaults.noValue ?? 'No data'} />;
  switch (p.type) {
    case 'table': return <PanelTable p={p} theme={theme} width={width} height={height} />;
    case 'heatmap': return <Heatmap p={p} data={data} theme={theme} width={width} height={height} />;
  }
  const all = frames(p, theme, data.from, data.to, data.step);
  if (p.type === 'timeseries') {
    return <TimeSeries frames={all} timeRange={range} timeZone="utc" width={width} height={height} legend={legendOf(p)} />;
  }
  if (p.type === 'bargauge') return <Bars p={p} all={all} theme={theme} width={width} height={height} />;
  return <Stat p={p} frame={all[0]} width={width} height={height} />;
}

const legendOf = (p: Panel) => ({ ...p.options.legend, calcs: p.options.legend.calcs ?? [] });

function Stat({ p, frame, width, height }: { p: Panel; frame: DataFrame; width: number; height: number }) {
  const field = frame.fields[1];
  const known = field.values.filter((v) => v !== null);
  const value = field.display!(known[known.length - 1]);
  const past = p.options.graphMode === 'none' ? undefined : { y: { ...field, values: field.values.map((v) => v ?? 0) }, x: frame.fields[0] };
  return <BigValue theme={theme} width={width} height={height} value={{ ...value, title: '' }} sparkline={past as any}
    colorMode={BigValueColorMode.Value} graphMode={past ? BigValueGraphMode.Area : BigValueGraphMode.None} />;
}

function Bars({ p, all, theme, width, height }: { p: Panel; all: DataFrame[]; theme: GrafanaTheme2; width: number; height: number }) {
  const max = p.fieldConfig.defaults.max ?? Math.max(...all.map((f) => f.fields[1].values[0] ?? 0), 1);
  const rows = Math.max(1, Math.min(all.length, Math.floor(height / 24)));
  const each = Math.min(40, height / rows);
  const alignment = {
    title: all.map((f) => f.name!).reduce((a, b) => (b.length > a.length ? b : a), ''),
    text: all.map((f) => f.fields[1].display!(f.fields[1].values[0]).text).reduce((a, b) => (b.length > a.length ? b : a), ''),
  };
  return <div>{all.slice(0, rows).map((f, i) => {
    const field = { ...f.fields[1], config: { ...f.fields[1].config, max } };
    const display = getDisplayProcessor({ field, theme });
    const value = { ...display(field.values[0]), title: f.name };
    return <div key={i} style={{ height: each }}><BarGauge theme={theme} width={width} height={each - 6} field={field.config} display={display} value={value}
      orientation={'horizontal' as any} displayMode={'basic' as any} showUnfilled={true} itemSpacing={6} alignmentFactors={alignment as any} valueDisplayMode={'color' as any} namePlacement={'auto' as any} /></div>;
  })}</div>;
}

fetch('data.json').then((r) => r.json()).then((data: Data) => {
  createRoot(document.getElementById('root')!).render(<Panels data={data} />);
});
