// Package api contains the generated bindings of slurmrestd's API versions, one package each: v0040 for
// v0.0.40 and so on. openapi.json is the document of a real slurmrestd, pruned and normalised by
// tools/openapi. oapi-codegen generates api.gen.go from it.
//
// The packages resemble each other. A type or an operation has the same name in every package that has
// it. Every field may be absent (a nil pointer or slice), integers are int64, and enumerations are plain
// strings, so that an unknown word of a newer Slurm is no error. The packages differ only where Slurm
// changed its API: in the fields that a type has, and in the type of a few fields, which
// TestFieldTypesAgreeAcrossVersions lists.
//
// The clients return the raw answer. The caller checks its status and content type and decodes it into
// its type, such as OpenapiPartitionResp. Note that
//
//   - the body of an error may be plain text;
//   - shares of v0.0.40 and v0.0.41 may contain a bare Infinity, which is not valid JSON;
//   - if a field has another type than the document says, json.Unmarshal decodes the other fields and
//     returns a json.UnmarshalTypeError.
package api
