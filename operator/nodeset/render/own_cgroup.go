package render

import corev1 "k8s.io/api/core/v1"

// ownCgroupScript shows slurmd the cgroup and the mounts of its own container as process 1's, and runs the command in its arguments.
// slurmd looks for its cgroups at process 1 (plugin cgroup/v2). Where containers share their processes, process 1 is the pod's pause
// process, which mounts no cgroups, and slurmd would end. In an image without mount, slurmd runs unchanged.
const ownCgroupScript = `if [ -e /sys/fs/cgroup/cgroup.controllers ] && ! grep -q ' - cgroup2 ' /proc/1/mountinfo; then
  for file in cgroup mountinfo; do
    cat /proc/self/$file >/run/slurmd-$file && mount --bind /run/slurmd-$file /proc/1/$file
  done
fi
exec "$@"`

// showOwnCgroup makes the slurmd container of a merged pod run ownCgroupScript, if it needs that and may do so. A container with the
// command of its image is left alone.
func showOwnCgroup(pod *corev1.PodSpec) {
	if pod.ShareProcessNamespace == nil || !*pod.ShareProcessNamespace {
		return
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if c.Name == ContainerSlurmd && privileged && len(c.Command) > 0 {
			c.Command = append([]string{"sh", "-c", ownCgroupScript, "slurmd"}, c.Command...)
		}
	}
}
