// Package release installs from a release: the charts and images from a registry that serves dist/, the plugin by krew, whose
// index and archives are on this machine. rpm reads its packages.
//
// The tests have the build tag e2e, and the flag -long starts them. -dist names a release; without it the first test
// makes one for Linux.
package release
