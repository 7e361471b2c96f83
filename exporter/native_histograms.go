package exporter

import "strings"

// nativeHistogramKind is the type of histograms with classic and native buckets on the metrics page.
const nativeHistogramKind = "histogram, also native"

// nativeHistogramsSection returns the section of the metrics page on native histograms.
func nativeHistogramsSection() string {
	// A Go literal cannot contain the marks of Markdown code.
	return strings.NewReplacer("~~~", "```", "'", "`").Replace(nativeHistogramsText)
}

const nativeHistogramsText = `
## Native histograms

A metric of the type "` + nativeHistogramKind + `" has two sets of buckets: the classic ones, and those of a
[native histogram](https://prometheus.io/docs/specs/native_histograms/), whose bounds are 9 % apart. Quantiles
from native buckets are more exact. Only protobuf contains native buckets. With '--native-histograms' the exporter
sends protobuf to servers that prefer it. Text and OpenMetrics contain the classic buckets. A Prometheus that prefers
protobuf for another reason, such as '--enable-feature=created-timestamp-zero-ingestion', and does not scrape native
histograms needs 'always_scrape_classic_histograms' as well then: it takes neither kind of buckets otherwise.

Prometheus 3.8 and later scrape native histograms if the job enables it:

~~~yaml
scrape_configs:
  - job_name: slurm
    scrape_native_histograms: true
    always_scrape_classic_histograms: true
~~~

- Keep 'always_scrape_classic_histograms'. Without it Prometheus omits '_bucket', '_count' and '_sum' of these
  metrics, which the [dashboards and recording rules](dashboards.md) query.
- If you set 'scrape_protocols', begin the list with 'PrometheusProto'.
- Prometheus 2.40 to 3.7 has no 'scrape_native_histograms'. Start it with
  '--enable-feature=native-histograms', which enables them for all jobs. Prometheus 3.9 and later ignore the flag.
- Prometheus 2.45 to 2.55 names the other option 'scrape_classic_histograms'. Earlier versions have none.
- For the Prometheus operator, set 'scrapeNativeHistograms' and 'scrapeClassicHistograms' in the 'spec' of the
  ServiceMonitor. 'nativeHistograms' of the chart slurm-exporter and 'exporter.nativeHistograms' of slurm-metrics set
  them and the flag.

Query a native histogram by its name without a suffix, and without the label 'le'. These are the wait that
90 % of the jobs did not exceed, and the ratio of jobs that waited for less than a minute:

~~~promql
histogram_quantile(0.9, sum by (partition) (increase(slurm_job_start_wait_seconds[1h])))
histogram_fraction(0, 60, sum by (partition) (increase(slurm_job_start_wait_seconds[1h])))
~~~

With several replicas, use 'avg by (cluster, partition)' instead of 'sum by (partition)': each replica counts the
same jobs. 'max' ignores native histograms.
`
