// What looks alike in every dashboard: colours of states, units, thresholds.
import { DynamicConfigValue, FieldColorModeId, ThresholdsConfigBuilder, ThresholdsMode, Threshold } from '@grafana/grafana-foundation-sdk/dashboard';

/** Colours by the names that series have. */
export const colours: Record<string, string> = {
  allocated: 'blue', mixed: 'light-blue', completing: 'super-light-blue', idle: 'green', planned: 'light-green',
  reserved: 'purple', maint: 'light-purple', drained: 'orange', draining: 'light-orange', down: 'red',
  fail: 'dark-red', failing: 'semi-dark-red', error: 'dark-red', other: 'orange', 'down or drained': 'orange',
  running: 'blue', pending: 'yellow', suspended: 'purple', completed: 'green', cancelled: 'orange', failed: 'red',
  timeout: 'light-orange', node_fail: 'dark-red', out_of_memory: 'purple', preempted: 'light-purple',
  capacity: 'blue', held: 'purple', dependency: 'light-green', time: 'super-light-blue',
  array_throttle: 'green', license: 'light-yellow', limit: 'light-orange', partition_limit: 'orange',
  reservation: 'light-purple', invalid: 'dark-red', unevaluated: 'dark-blue', unsatisfiable: 'red',
  highest: 'dark-blue', mean: 'blue', lowest: 'light-blue',
  required: 'red', busy: 'blue', booting: 'light-blue', unusable: 'orange', supply: 'green',
};

/** The classes of what pending jobs wait for. */
export const classes = ['capacity', 'held', 'dependency', 'time', 'array_throttle', 'license', 'limit', 'partition_limit', 'reservation', 'invalid', 'unevaluated', 'unsatisfiable', 'other'];

/** The property that gives a series its colour. */
export function colour(name: string): DynamicConfigValue[] {
  return [{ id: 'color', value: { mode: FieldColorModeId.Fixed, fixedColor: name } }];
}

/** Steps from which on a value has a colour; the first is the colour of everything below. */
export function steps(base: string, ...more: [number, string][]): ThresholdsConfigBuilder {
  const list: Threshold[] = [{ value: null, color: base }, ...more.map(([value, color]) => ({ value, color }))];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(list);
}

/** Nothing to worry about at any value. */
export const calm = () => steps('blue');
/** Bad from a value on. */
export const badFrom = (warn: number, bad: number) => steps('green', [warn, 'orange'], [bad, 'red']);
/** Bad below 1. */
export const goodFromOne = () => steps('red', [1, 'green']);
/** How full something is, where full is what one wants. */
export const fullness = () => steps('light-blue', [0.5, 'blue'], [0.9, 'dark-blue']);
