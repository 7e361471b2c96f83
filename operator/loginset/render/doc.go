// Package render builds the Kubernetes objects of a LoginSet: a ConfigMap with the files of its pods, its
// Service and its Deployment. All of that is pure: no client, no clock, no randomness; the same input gives
// the same bytes.
//
// A pod has three programs, each in a container that the kubelet supervises: sackd, which gives Slurm's
// commands the configuration and signs their requests; sssd, which provides the users; and sshd. The
// Deployment replaces pods when a file changes. A pod that is being deleted waits until no user is logged in.
package render
