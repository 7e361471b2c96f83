// Queries of the exporter's metrics. max counts each series once, even if several replicas
// show it.

/** The selected clusters. "All" also matches a standalone exporter without the label. */
const clusters = 'cluster=~"$cluster"';

/** Labels by which a metric is grouped, in addition to the cluster. */
type By = string[];

function matchers(extra?: string): string {
  return '{' + [clusters, extra].filter(Boolean).join(', ') + '}';
}

function per(by: By): string {
  return ['cluster', ...by].join(', ');
}

/** A gauge by cluster and other labels. */
export function gauge(metric: string, by: By = [], extra?: string): string {
  return `max by (${per(by)}) (${metric}${matchers(extra)})`;
}

/** The rate of a counter per second, by cluster and other labels. */
export function rate(metric: string, by: By = [], extra?: string): string {
  return `max by (${per(by)}) (rate(${metric}${matchers(extra)}[$__rate_interval]))`;
}

/** The increase of a counter within a step of the panel, or another time, by cluster and other labels. */
export function growth(metric: string, by: By = [], extra?: string, time = '$__rate_interval'): string {
  return `max by (${per(by)}) (increase(${metric}${matchers(extra)}[${time}]))`;
}

/**
 * The increase of a counter within the time range, by cluster and other labels. It is the sum over
 * intervals, since max over a whole range would drop what a replica counted before it was replaced.
 */
export function total(metric: string, by: By = [], extra?: string): string {
  return `sum_over_time((${growth(metric, by, extra)})[$__range:$__rate_interval])`;
}

/** The sum of an expression by the labels in keep. */
export function sum(expr: string, keep: By = []): string {
  return keep.length ? `sum by (${keep.join(', ')}) (${expr})` : `sum(${expr})`;
}

/** A quantile of a histogram of the exporter, by the labels in keep. */
export function quantile(q: number, histogram: string, by: By, keep: By = by, extra?: string): string {
  const buckets = rate(`${histogram}_bucket`, [...by, 'le'], extra);
  return `histogram_quantile(${q}, ${sum(buckets, [...keep, 'le'])})`;
}

/** The ratio of two expressions, without a value if the divisor is 0. */
export function ratio(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}
