// Package table prints rows of any kind as kubectl prints objects: in columns, as
// JSON or YAML, or by their names. It is pure but for the writer that it is given.
//
// A value that is not known is printed as <unknown>, is null in JSON, and comes last
// whatever the rows are sorted by: it is never 0.
package table
