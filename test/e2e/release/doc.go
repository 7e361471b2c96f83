// Package release installs from a release, uses what it installed, and removes it: the packages in Debian, whose systemd
// runs the exporter; the charts and images from a registry that serves dist/; the plugin by krew.
//
// What differs from a user's machine:
//
//   - The Debian hosts are namespaces in which systemd runs (hack/host).
//   - krew's index and archives are on this machine.
//
// The tests have the build tag e2e, and the flag -long starts them. -dist names a release; without it the first test
// makes one for Linux.
package release
