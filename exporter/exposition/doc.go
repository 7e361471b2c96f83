// Package exposition renders metrics that are defined in tables, and answers scrapes with them.
//
// A Collector has Families; a Family has a name, labels and a function that reads values from a
// tally.View. A Renderer renders and compresses a collector's families when one of the resources
// that they read has changed, and a PageCache holds the page of the newest snapshot. A scrape
// selects from that page (CollectorFilter), and ServeFamilies copies its bytes to the response.
//
// The package knows no metric. If a computation panics, PanicCounter counts it and the last good
// values stay.
package exposition
