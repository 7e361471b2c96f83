// draw.mjs PROMETHEUS FOLDER [NAME=VALUE …]: draw every dashboard from the data of a
// Prometheus, as FOLDER/dashboard-NAME.png, and note the titles of its panels in
// FOLDER/dashboards.json, by which a test finds pictures that are older than the dashboards.
// Variables are given by name; all of each without, or the first of those with one value.
// minutes=N says how far back, exporter=URL adds the picture of a landing page.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, writeFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

const [prometheus, folder, ...rest] = process.argv.slice(2);
if (!folder) { console.error('usage: draw.mjs PROMETHEUS FOLDER [NAME=VALUE ...]'); process.exit(2); }
const given = Object.fromEntries(rest.map((a) => a.split(/=(.*)/s)));
const minutes = Number(given.minutes ?? 60);
const here = new URL('.', import.meta.url).pathname;
const dashboards = join(here, '../../../dashboards');
const points = 240;
const step = Math.max(2, Math.round((minutes * 60) / points));
const to = Math.floor(Date.now() / 1000 / step) * step;
const from = to - step * points;

function filled(expr, values, stepHere) {
  const rate = Math.max(60, 4 * stepHere);
  let out = expr.replaceAll('$__rate_interval', `${rate}s`).replaceAll('$__range_s', String(minutes * 60)).replaceAll('$__range', `${minutes}m`);
  for (const n of Object.keys(values).sort((a, b) => b.length - a.length)) out = out.replaceAll(`$${n}`, values[n]);
  return out;
}

/** The values of a dashboard's variables, by name. */
async function valuesOf(variables) {
  const out = {};
  for (const v of variables) {
    if (given[v.name]) out[v.name] = given[v.name];
    else if (v.type === 'textbox') out[v.name] = v.query;
    else if (v.type === 'query' && !v.includeAll) out[v.name] = await firstLabel(filled(v.query.query, out, step));
    else out[v.name] = '.*';
  }
  return out;
}

/** The first value of a label, by the query of a variable. */
async function firstLabel(query) {
  const [, match, label] = /^label_values\((.*), (\w+)\)$/.exec(query);
  const r = await fetch(`${prometheus}/api/v1/label/${label}/values?${new URLSearchParams({ 'match[]': match })}`);
  return (await r.json()).data[0] ?? '';
}

async function ask(path, parameters) {
  const r = await fetch(`${prometheus}/api/v1/${path}?${new URLSearchParams(parameters)}`);
  const answer = await r.json();
  if (answer.status !== 'success') throw new Error(`${parameters.query}: ${answer.error}`);
  const { resultType, result } = answer.data;
  return resultType === 'scalar' ? [{ metric: {}, value: result, values: [result] }] : result;
}

async function withData(panel, values) {
  if (panel.type === 'row') return { ...panel, data: [] };
  const wide = panel.type === 'heatmap' ? step * 4 : step;
  const data = await Promise.all(panel.targets.map(async (t) => {
    const query = filled(t.expr, values, wide);
    const result = t.instant ? await ask('query', { query, time: to }) : await ask('query_range', { query, start: from, end: to, step: wide });
    return { refId: t.refId, legend: t.legendFormat, result };
  }));
  return { ...panel, data };
}

/** Removes a profile; Chromium's last processes may still write to it, which is no matter. */
function tidy(profile) {
  try { rmSync(profile, { recursive: true, force: true, maxRetries: 5 }); } catch (e) { console.error(`left ${profile}: ${e.message}`); }
}

const chromium = (args) => new Promise((done, fail) => {
  const profile = mkdtempSync(join(tmpdir(), 'chromium-'));
  const p = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--hide-scrollbars', `--user-data-dir=${profile}`, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  p.stderr.on('data', (d) => { complaints += d; });
  p.on('exit', (code) => { tidy(profile); code ? fail(new Error(complaints.slice(-500))) : done(complaints); });
});

/** A picture of a page, with as few colours as do. */
async function shot(url, file, width, height) {
  await chromium(['--timeout=20000', '--virtual-time-budget=8000', `--window-size=${width},${height}`, `--screenshot=${file}`, url]);
  spawnSync('pngquant', ['--force', '--skip-if-larger', '--quality=80-100', '--speed=1', '--output', file, file]);
}

const site = mkdtempSync(join(tmpdir(), 'pictures-'));
await build({
  entryPoints: [join(here, 'src/main.tsx')], bundle: true, minify: true, outfile: join(site, 'main.js'), jsx: 'automatic', logLevel: 'error',
  loader: { '.svg': 'dataurl', '.ttf': 'empty' }, define: { 'process.env.NODE_ENV': '"production"', global: 'window' },
});
writeFileSync(join(site, 'index.html'), `<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="main.css">
<style>html,body{margin:0;background:#f4f5f5;font-family:Inter,sans-serif;font-feature-settings:"tnum"} *{box-sizing:border-box} table{border-spacing:0}</style>
<div id="root"></div><script src="main.js"></script>`);
const types = { js: 'text/javascript', css: 'text/css', json: 'application/json', html: 'text/html' };
const server = createServer((request, response) => {
  const name = request.url.slice(1).split('?')[0] || 'index.html';
  try {
    const content = readFileSync(join(site, name));
    response.setHeader('Content-Type', types[name.split('.').pop()] ?? 'application/octet-stream').end(content);
  } catch { response.writeHead(404).end(); }
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/`;

const notes = join(folder, 'dashboards.json');
const titles = existsSync(notes) ? JSON.parse(readFileSync(notes, 'utf8')) : {};
for (const file of readdirSync(dashboards).filter((f) => f.endsWith('.json') && !/^package|^tsconfig/.test(f))) {
  const name = file.replace('.json', '');
  if (given.only && given.only !== name) continue;
  const d = JSON.parse(readFileSync(join(dashboards, file), 'utf8'));
  const values = await valuesOf(d.templating.list);
  const panels = await Promise.all(d.panels.map((p) => withData(p, values)));
  const variables = d.templating.list.filter((v) => v.type !== 'datasource').map((v) => [v.label, values[v.name] === '.*' ? 'All' : values[v.name]]);
  writeFileSync(join(site, 'data.json'), JSON.stringify({ title: d.title, from, to, step, panels, variables }));
  const height = 56 + 38 * Math.max(...panels.map((p) => p.gridPos.y + p.gridPos.h)) + 8;
  const empty = panels.filter((p) => p.type !== 'row' && p.data.every((t) => t.result.length === 0)).map((p) => p.title);
  await shot(url, join(folder, `dashboard-${name}.png`), 1600, height);
  titles[name] = d.panels.map((p) => p.title);
  console.log(`dashboard-${name}.png${empty.length ? `; without data: ${empty.join(', ')}` : ''}`);
}
writeFileSync(notes, JSON.stringify(titles, null, 1) + '\n');
if (given.exporter) { await shot(given.exporter, join(folder, 'exporter.png'), 1100, Number(given.height ?? 900)); console.log('exporter.png'); }
server.close();
rmSync(site, { recursive: true, force: true });
