// Package table prints rows of any type as kubectl prints objects: in columns, as JSON or YAML, through
// a template, or by name.
//
// An unknown value is printed as <unknown>, is null in JSON, and is always sorted last. It is never
// 0.
package table
