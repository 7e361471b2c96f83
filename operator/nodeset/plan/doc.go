// Package plan decides what becomes of a NodeSet's workers. It is pure: what was
// seen and the time go in, ordered steps come out. It writes nothing, and may be
// asked as often as one likes.
//
// The safety promise: no step deletes a pod whose Slurm node has work, unless the
// NodeSet's drain policy says so. It rests on these rules.
//
//   - A worker is deleted on a fresh and positive reading only: its Slurm node has
//     DRAIN and no work, and the list of jobs was asked for after that was so. No
//     connection, an error, a stale reading, a node that Slurm does not know while
//     slurmd is running: the worker stays.
//   - Before the first complete reading since the process began nothing is deleted.
//   - A worker that is not registered is deleted only when it had time to register,
//     and no more than a share of the NodeSet at a time. An empty list of nodes is
//     no reason to delete anything.
//   - What others took out of service, drained or set DOWN or FAIL, stays so with its
//     reason, with or without a pod, until they take it back.
//   - A worker is protected from others from its creation on, until it is cordoned and
//     a reading shows that it takes no more jobs and has none. A reading that lacks its node changes nothing.
//   - No more workers than the disruption budget are chosen for an update, whatever a
//     reading shows; of more, those that it exceeds are given back.
//   - A worker that was chosen stays chosen until there is no excess any more; then
//     it is undrained, and none is created in its place.
//
// A worker's life:
//
//	created ─► registered ─► idle ⇄ busy
//	              │            │      │
//	              │     chosen: noted on the pod, Slurm node drained ◄─► released: undrained
//	              │            │
//	              │      drained, no job: deleted ─► record FUTURE again, or deleted
//	              └─ not registered in time: deleted, braked
package plan
