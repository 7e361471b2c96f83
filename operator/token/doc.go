// Package token maintains the Secrets of Tokens. Each contains a JSON Web Token (HS256) of a Slurm
// user, signed with slurmctld's key. The token is renewed when four fifths of its lifetime have
// passed, or when the Token or the key has changed.
//
//	no Secret ──► issued ──► due (80 %) ──► issued …
//	                └─ refresh: false: immutable, issued once ──► Expired
//
// Invariants:
//
//   - A Secret that this Token does not own is neither written nor deleted.
//   - No token is written into a Secret with a name of the operator's own keys, or from which another object of the
//     namespace reads a key, even if the Secret is missing.
//   - A token is signed only with a key that was read in the same reconciliation.
//   - Secrets are neither listed nor watched. After a change of the Secret's name, the former Secret
//     stays until the Token is deleted; the token in it expires.
//   - Logs, errors, conditions and events contain neither tokens nor keys.
//
// planToken decides and signs, and is pure: the time and the token's id are parameters.
package token
