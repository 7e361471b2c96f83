// Package token keeps the Secrets of Tokens: each holds a JSON Web Token (HS256) of a Slurm
// user, signed with slurmctld's key, and is written anew when four fifths of the
// token's life have passed, or the Token or the key has changed.
//
//	no Secret ──► issued ──► due (80 %) ──► issued …
//	                └─ refresh: false: immutable, issued once ──► Expired
//
// Invariants:
//
//   - A Secret that this Token does not own is neither written nor deleted.
//   - A token is written only with a key that was read in the same pass.
//   - Secrets are neither listed nor watched. One of a former name stays, with a token that
//     ends, until the Token is deleted.
//   - Neither tokens nor keys reach a log, an error, a condition or an event.
//
// plan decides and signs, and is pure: the time and the token's id go in.
package token
