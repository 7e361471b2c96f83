// Package api holds the bindings of slurmrestd's API versions, one package each:
// v0040 for v0.0.40 and so on. All is generated: openapi.json is the document of
// a real slurmrestd, pruned and normalised by hack/openapi, and api.gen.go is
// what oapi-codegen makes of it.
//
// The packages look alike. A type or an operation has the same name in each that
// has it, every field may be absent (a nil pointer or slice), integers are int64,
// and enumerations are plain strings, so that a word of a newer Slurm is no error.
// What differs is what Slurm changed: fields that come and go, and some shapes,
// which TestPackagesLookAlike lists.
//
// The clients return the raw answer. Decoding it into its type, such as
// OpenapiPartitionResp, is left to the caller, who must look at status and content
// type first, and who should know that
//
//   - bodies of errors may be plain text;
//   - shares of v0.0.40 and v0.0.41 may hold a bare Infinity, which is no JSON;
//   - json.Unmarshal fills in all it can when a field has another type than the
//     document says, and then returns a json.UnmarshalTypeError.
package api
