// Package outside runs the page on operator and adapter outside of a cluster, on a Kubernetes without nodes.
package outside
