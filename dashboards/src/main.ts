// main.js write|check: write the dashboards as JSON, or report which files are out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { autoscaling } from './autoscaling.js';
import { costs } from './cost.js';
import { gpus } from './gpus.js';
import { health } from './health.js';
import { job } from './job.js';
import { nodes } from './nodes.js';
import { overview } from './overview.js';
import { queue } from './queue.js';
import { user } from './user.js';
import { people } from './users.js';

const files = {
  overview: overview(), queue: queue(), nodes: nodes(), users: people(), user: user(), job: job(), cost: costs(), gpus: gpus(), autoscaling: autoscaling(), health: health(),
};

const path = (name: string) => fileURLToPath(new URL(`../${name}.json`, import.meta.url));
const text = (value: unknown) => JSON.stringify(value, null, 2) + '\n';

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

const verb = process.argv[2];
const old = Object.entries(files).filter(([name, value]) => read(path(name)) !== text(value));
if (verb === 'write') {
  for (const [name, value] of old) writeFileSync(path(name), text(value));
} else if (verb === 'check' && old.length > 0) {
  console.error(`out of date, run hack/look/generate: ${old.map(([name]) => `dashboards/${name}.json`).join(', ')}`);
  process.exitCode = 1;
} else if (verb !== 'check') {
  console.error('usage: main.js write|check');
  process.exitCode = 2;
}
