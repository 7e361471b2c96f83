// Package plan decides the steps of a rotation of the keys of auth/slurm. It is pure, and knows keys by their ids
// alone.
//
// Every daemon of a cluster signs with one key, its default, and accepts what is signed with any key that it has
// (docs/development/slurm.md, "Several keys of auth/slurm"). All must accept each other at any time, also while some
// have a newer key set than others. So a key is replaced in steps, and each begins when all daemons have done the
// one before:
//
//	slurm.key ──► first*,new ──► first,new* ──► new*
//	                           old*,new ──► old,new* ──► new*
//
// Hosts outside of the operator's control do not say what they have. The first step harms none: what a slurm.key signs is
// accepted, and the other way round. Before each of the next two, somebody must confirm that they have the written key set.
//
// The star marks the default. What has been done is only in the key set that is written and in what the daemons say
// that they have loaded, so that an operator that starts again goes on.
package plan
