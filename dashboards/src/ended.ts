// Queries of what jobs that ended in the last day used of what they had, by account or by user.
import { growth, ratio, sum } from './queries.js';

/** Queries by a label, for the values of it that selected matches. */
export function endedJobs(label: string, selected: string) {
  /** How much a counter of ended jobs grew in the last day, also by more of its labels. */
  const inDay = (metric: string, by: string[] = []) => sum(growth(`slurm_${label}_ended_${metric}`, [label, ...by], selected, '1d'), [label]);
  /** What was used of what jobs had, 0 to 1. */
  const efficiency = (resource: string, unit: string) => ratio(inDay(`job_${resource}_used_${unit}_total`), inDay(`job_${resource}_allocated_${unit}_total`));
  return { inDay, efficiency };
}
