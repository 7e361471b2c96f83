// The common style of all dashboards: colours of states and thresholds.
import { DynamicConfigValue, FieldColorModeId, ThresholdsConfigBuilder, ThresholdsMode, Threshold } from '@grafana/grafana-foundation-sdk/dashboard';

// Hues that Grafana has no name for.
const cyan = '#33B5CC', lime = '#A3C910', brown = '#8F6B45', magenta = '#E0509B', grey = '#8E8E8E', slate = '#4F5B66', teal = '#2A8C82', silver = '#C4C4C4';

/** Colours by series name. Series of one panel differ in hue, not only in shade. */
export const colours: Record<string, string> = {
  // Node states as sinfo shows them.
  allocated: 'blue', mixed: 'purple', completing: cyan, idle: 'green', planned: lime, reserved: magenta, maint: brown,
  drained: 'orange', draining: 'yellow', down: 'red', fail: 'dark-red', failing: slate, error: 'dark-purple', inval: 'dark-orange',
  blocked: 'dark-yellow', future: grey, reboot: teal, external: silver, unknown: 'dark-blue', other: grey, 'down or drained': 'orange',
  // Jobs.
  running: 'blue', pending: 'yellow', suspended: 'purple', completed: 'green', cancelled: 'orange', failed: 'red',
  timeout: brown, node_fail: 'dark-red', out_of_memory: 'purple', preempted: cyan,
  // Classes of pending jobs.
  capacity: 'blue', held: 'purple', dependency: 'green', time: cyan, array_throttle: lime, license: 'yellow', limit: 'orange',
  partition_limit: brown, reservation: magenta, invalid: 'dark-red', unevaluated: slate, unsatisfiable: 'red',
  // Spread over nodes: shades of one hue, because the series belong together.
  highest: 'dark-blue', mean: 'blue', lowest: 'light-blue',
  // Demand and supply.
  required: 'red', replicas: slate, busy: 'blue', booting: cyan, unusable: 'orange', supply: 'green',
  claimed: cyan, 'in grace': 'green', replacements: 'orange',
};

/** Node states as sinfo shows them. */
export const nodeStates = ['allocated', 'mixed', 'idle', 'drained', 'draining', 'down', 'reserved', 'completing', 'planned', 'maint', 'fail', 'failing', 'error', 'inval', 'blocked', 'reboot', 'future', 'external', 'unknown'];

/** The classes of pending jobs' reasons. */
export const classes = ['capacity', 'held', 'dependency', 'time', 'array_throttle', 'license', 'limit', 'partition_limit', 'reservation', 'invalid', 'unevaluated', 'unsatisfiable', 'other'];

/** The property that gives a series its colour. */
export function colour(name: string): DynamicConfigValue[] {
  return [{ id: 'color', value: { mode: FieldColorModeId.Fixed, fixedColor: name } }];
}

/** Thresholds and their colours; base is the colour below the first threshold. */
export function steps(base: string, ...more: [number, string][]): ThresholdsConfigBuilder {
  const list: Threshold[] = [{ value: null, color: base }, ...more.map(([value, color]) => ({ value, color }))];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(list);
}

/** One colour for all values. */
export const calm = () => steps('blue');
/** Orange from warn, red from bad. */
export const badFrom = (warn: number, bad: number) => steps('green', [warn, 'orange'], [bad, 'red']);
/** Green from 1, red below. */
export const goodFromOne = () => steps('red', [1, 'green']);
/** Utilization, where high values are good. */
export const fullness = () => steps('light-blue', [0.5, 'blue'], [0.9, 'dark-blue']);
