// Package charts tests the Helm charts: it compares what they render for several values with golden
// files, checks which values they refuse, and applies them to a real API server.
//
// testdata/CHART/CASE.values.yaml contains values, CASE.golden.yaml what the chart renders for
// them. Rewrite the golden files and the tables of the charts' READMEs with
//
//	go test ./test/integration/charts -update && go test -tags e2e ./test/integration/charts -update
package charts
