// Package plan decides what happens to the workers of a NodeSet. It is pure: it takes an observation and the
// current time, and returns ordered steps. It writes nothing, and callers may call it as often as they like.
//
// The safety promise: no step deletes a pod whose Slurm node has work, unless the NodeSet's drain policy
// allows it. These rules keep it:
//
//   - A worker is deleted only on a fresh and positive reading: its Slurm node has DRAIN and no
//     work, and the jobs were listed after that. Without a connection, after an error, on a stale
//     reading, or when Slurm does not know the node although slurmd is running, the worker stays.
//   - Nothing is deleted before the first complete reading since the process started.
//   - A worker that did not register is deleted only after it had time to register, and only a
//     share of the NodeSet's workers at a time. An empty list of nodes never causes a deletion.
//   - A Slurm node that others took out of service (drained, DOWN or FAIL) stays so with its
//     reason, with or without a pod, until they take it back.
//   - A worker is protected from eviction from its creation on, until it is cordoned and a reading
//     shows that it accepts no more jobs and has none. A reading that lacks its node changes
//     nothing.
//   - No more workers than the disruption budget are chosen for an update, whatever a reading
//     shows. Choices above the budget are undone.
//   - A worker that was chosen stays chosen until the excess has ended. Then it is
//     undrained, and no worker is created in its place.
//
// The life of a worker:
//
//	created ─► registered ─► idle ⇄ busy
//	              │            │      │
//	              │     chosen: marked on the pod, Slurm node drained ◄─► released: undrained
//	              │            │
//	              │      drained, no job: deleted ─► record becomes FUTURE, or is deleted
//	              └─ not registered in time: deleted, rate limited
package plan
