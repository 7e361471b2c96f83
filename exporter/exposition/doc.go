// Package exposition renders metrics that are defined in tables, and answers scrapes with them.
//
// A Collector has Families; a Family has a name, labels and a function that reads values from a
// tally.View. A Renderer renders and compresses a collector's families when one of the resources
// that they read has changed, and a PageCache holds the page of the newest snapshot. A scrape
// selects from that page (CollectorFilter), and ServeFamilies copies its bytes to the response. For
// scrapers that prefer protobuf, ServeFamilies encodes the page: values of tables are parsed from
// their text, and metrics of client_golang are encoded as they were gathered.
//
// The package knows no metric. If a computation panics, PanicCounter counts it and the last good
// values stay.
package exposition
