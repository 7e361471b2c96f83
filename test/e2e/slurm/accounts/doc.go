// Package accounts tests with a real slurmdbd which records prune removes from its database, and which it keeps.
package accounts
