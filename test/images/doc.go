// Package images holds the tests of the container images: that the Dockerfile has an
// image for every program that serves, made of what is there, and that the images
// that `make images` makes of the same descriptions run: workers of real Slurm as
// pods, which register and run jobs.
package images
