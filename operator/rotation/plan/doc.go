// Package plan decides the steps of a rotation of the keys of auth/slurm. It is pure, and identifies keys only by their
// ids.
//
// Every daemon of a cluster signs with one key, its default, and accepts what is signed with any key that it has
// (docs/development/slurm.md, "Several keys of auth/slurm"). All must accept each other at any time, even while some have a
// newer key set than others. So a key is replaced in steps, and each begins when all daemons have completed the previous
// one:
//
//	slurm.key ──► first*,new ──► first,new* ──► new*
//	                           old*,new ──► old,new* ──► new*
//
// Hosts outside of the operator's control do not report their keys. The first step harms none: they and the daemons still
// accept each other's slurm.key signatures. Before each of the next two, a user must confirm that these hosts have the
// written key set.
//
// The star marks the default. Progress is recorded only in the written key set and in the daemons' reports of loaded keys,
// so that a restarted operator continues.
package plan
