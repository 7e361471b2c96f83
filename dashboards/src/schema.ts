// schema.js: validate the dashboards and the options of each kind of panel with the schema
// that Grafana publishes as types.
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createGenerator } from 'ts-json-schema-generator';
import { Ajv, type ValidateFunction } from 'ajv';

const root = fileURLToPath(new URL('..', import.meta.url));
const types = `${root}node_modules/@grafana/schema/dist/types/raw`;

/** Properties that depend on the data source, which the published types do not contain. */
const open = ['targets', 'target'];

/** Returns a validator for a type in one of Grafana's files. */
function validator(file: string, type: string): ValidateFunction {
  const schema = createGenerator({
    path: `${types}/${file}`, type, skipTypeCheck: true, additionalProperties: false, topRef: false, tsconfig: `${root}tsconfig.json`,
  }).createSchema(type);
  return new Ajv({ strict: false, allErrors: true, verbose: true }).compile(schema);
}

function problems(check: ValidateFunction, where: string, value: unknown): string[] {
  if (check(value)) return [];
  return (check.errors ?? []).filter((e) => !open.some((o) => e.instancePath.includes(`/${o}`)))
    .map((e) => `${where}${e.instancePath}: ${e.message} ${JSON.stringify(e.params)}`);
}

interface Panel { title?: string; type: string; options?: unknown; fieldConfig?: { defaults?: { custom?: unknown } } }

const panelTypes: Record<string, [string, string, string?]> = {
  timeseries: ['timeseries', 'Options', 'FieldConfig'], stat: ['stat', 'Options'], bargauge: ['bargauge', 'Options'],
  heatmap: ['heatmap', 'Options', 'FieldConfig'], table: ['table', 'Options', 'FieldConfig'],
};

const dashboard = validator('dashboard/x/types.gen.d.ts', 'Dashboard');
const panel = validator('dashboard/x/types.gen.d.ts', 'Panel');
const byKind = new Map(Object.entries(panelTypes).map(([kind, [folder, options, custom]]) => {
  const file = `composable/${folder}/panelcfg/x/types.gen.d.ts`;
  return [kind, { options: validator(file, options), custom: custom ? validator(file, custom) : undefined }];
}));

function checkPanel(where: string, p: Panel): string[] {
  if (p.type === 'row') return [];
  const kind = byKind.get(p.type);
  if (!kind) return [`${where}: unknown panel type ${p.type}`];
  const at = `${where} "${p.title}"`;
  return [
    ...problems(panel, at, p),
    ...problems(kind.options, `${at} options`, p.options),
    ...(kind.custom ? problems(kind.custom, `${at} custom`, p.fieldConfig?.defaults?.custom ?? {}) : []),
  ];
}

const wrong: string[] = [];
const files = readdirSync(root).filter((f) => f.endsWith('.json') && !f.startsWith('package') && f !== 'tsconfig.json');
for (const file of files) {
  const { panels, ...rest } = JSON.parse(readFileSync(root + file, 'utf8'));
  wrong.push(...problems(dashboard, file, { ...rest, panels: [] }));
  for (const p of panels) wrong.push(...checkPanel(file, p));
}
console.log(wrong.length ? wrong.join('\n') : `${files.length} dashboards conform to Grafana's schema`);
process.exitCode = wrong.length ? 1 : 0;
