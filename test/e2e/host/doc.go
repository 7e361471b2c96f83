// Package host runs the page on bare metal from top to bottom on a Debian host with systemd (hack/host).
package host
