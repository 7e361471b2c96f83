// Queries of the exporter's metrics. Each series is taken once however many replicas
// show it, hence the max around everything.

/** The clusters that are chosen. A stand-alone exporter may have no such label: All takes it too. */
const clusters = 'cluster=~"$cluster"';

/** Labels that a metric is taken apart by, beside the cluster. */
type By = string[];

function matchers(extra?: string): string {
  return '{' + [clusters, extra].filter(Boolean).join(', ') + '}';
}

function per(by: By): string {
  return ['cluster', ...by].join(', ');
}

/** A gauge by cluster and by. */
export function gauge(metric: string, by: By = [], extra?: string): string {
  return `max by (${per(by)}) (${metric}${matchers(extra)})`;
}

/** The growth per second of a counter by cluster and by. */
export function rate(metric: string, by: By = [], extra?: string): string {
  return `max by (${per(by)}) (rate(${metric}${matchers(extra)}[$__rate_interval]))`;
}

/** The growth of a counter within a step of the panel, by cluster and by. */
export function growth(metric: string, by: By = [], extra?: string): string {
  return `max by (${per(by)}) (increase(${metric}${matchers(extra)}[$__rate_interval]))`;
}

/** The sum of an expression over all but the labels kept. */
export function sum(expr: string, keep: By = []): string {
  return keep.length ? `sum by (${keep.join(', ')}) (${expr})` : `sum(${expr})`;
}

/** A quantile of a histogram of the exporter, by labels kept. */
export function quantile(q: number, histogram: string, by: By, keep: By = by, extra?: string): string {
  const buckets = rate(`${histogram}_bucket`, [...by, 'le'], extra);
  return `histogram_quantile(${q}, ${sum(buckets, [...keep, 'le'])})`;
}

/** One expression over another, without a value where the other is 0. */
export function ratio(part: string, whole: string): string {
  return `${part} / (${whole} > 0)`;
}
