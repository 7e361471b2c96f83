// Package charts holds the tests of the Helm charts: what they render for several
// values, compared with files that are read in review; what values they refuse; and
// that a real API server takes them.
//
// testdata/CHART/CASE.values.yaml are values, CASE.golden.yaml is what they render.
// Rewrite the latter, and the tables of the charts' READMEs, with
//
//	go test ./test/charts -update && go test -tags e2e ./test/charts -update
package charts
