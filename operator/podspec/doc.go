// Package podspec renders the pods of all kinds from our defaults and from the open parts of a spec. A later
// layer takes precedence: the defaults, then spec.template, then the containers with their own field, such as
// spec.slurmd.
//
// The layers are merged as kubectl merges patches, with three exceptions, so that a pod keeps working: our
// items of tolerations, DNS searches and anti-affinity stay; arguments of users are appended to ours; and the
// user's alternative replaces ours, such as the handler of a probe. Null removes our value.
package podspec
