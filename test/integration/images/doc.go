// Package images tests the container images. The Dockerfile must have an image for every server
// program, and the images that `make images` builds from the same descriptions must run: workers of
// real Slurm register from pods and run jobs.
package images
