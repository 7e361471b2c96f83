// Package daemon reconciles one object of a kind that stands for a daemon of Slurm: a Controller, Accounting, RestApi or
// LoginSet.
//
// The Reconciler has the protocol that all kinds share. A kind implements Pass, with what it observes, renders and
// reports, and the steps that only it has. One reconciliation calls them in this order:
//
//	find the object ──► gone, or held by another operator: end
//	      │
//	      ├──► it is being deleted: Delete
//	      ├──► it is external: delete lookups, DeleteLeftovers, status
//	      ▼
//	Begin
//	CheckNamespace ─► BeforeObserve ─► Observe ─► Render ─► BeforeGuard ─► image guard ─► BeforeApply ─► apply ─► AfterApply
//	      │
//	      ▼
//	ObserveDaemon ─► status ─► events ─► requeue
//
// Invariants:
//   - Nothing is applied after a step that fails, and no step is called after it. A *problem.Error of a step is
//     reported in the status. Any other error ends the reconciliation without a status.
//   - The image guard decides before anything is applied.
//   - Events are recorded only after their status has been written.
package daemon
