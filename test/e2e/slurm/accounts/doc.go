// Package accounts tests with a real slurmdbd what prune removes from its database, and what it leaves.
package accounts
