package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
)

// ContainerTLS is the container of slurmrestd's pods that ends TLS. Its port has the name PortHTTPS. Users need the
// name to override the container.
const (
	ContainerTLS = "tls"
	PortHTTPS    = "https"
)

const (
	volumeSocket      = "slurmrestd-socket"
	volumeCertificate = "tls-certificate"

	socketDir      = "/run/slurmrestd"
	socketPath     = socketDir + "/slurmrestd.sock"
	certificateDir = "/etc/slurmrestd-tls"
)

// hasTLS reports whether slurmrestd answers https.
func (in Input) hasTLS() bool { return in.RestAPI.Spec.TLS != nil }

// portName returns the name of the pods' port behind the Service.
func (in Input) portName() string {
	if in.hasTLS() {
		return PortHTTPS
	}
	return ContainerSlurmrestd
}

// listenAddress returns the address where slurmrestd listens. With TLS no network leads there. Without a host, Slurm uses
// IPv4 addresses unless CommunicationParameters has EnableIPv6, and then addresses of the families that the pod has
// (docs/development/slurm.md, "IPv6").
func (in Input) listenAddress() string {
	if in.hasTLS() {
		return "unix:" + socketPath
	}
	return fmt.Sprintf(":%d", in.port())
}

// addTLS adds the container that ends TLS to a pod whose first container is slurmrestd. Both get SIGTERM at the same
// time; slurmrestd then ends its connections, and with the last one the other container ends.
func (in Input) addTLS(spec *corev1.PodSpec) {
	slurmrestd := &spec.Containers[0]
	slurmrestd.Ports = nil
	slurmrestd.ReadinessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready",
		Port: intstr.FromInt32(names.SlurmAgentPort)}} // the other container asks slurmrestd
	socket := corev1.VolumeMount{Name: volumeSocket, MountPath: socketDir}
	slurmrestd.VolumeMounts = append(slurmrestd.VolumeMounts, socket)
	spec.Containers = append(spec.Containers, in.newTLSContainer(socket, slurmrestd.Lifecycle))
	spec.Volumes = append(spec.Volumes, podspec.EmptyVolume(volumeSocket),
		corev1.Volume{Name: volumeCertificate, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: in.RestAPI.Spec.TLS.SecretName,
			Items: []corev1.KeyToPath{{Key: corev1.TLSCertKey, Path: corev1.TLSCertKey},
				{Key: corev1.TLSPrivateKeyKey, Path: corev1.TLSPrivateKeyKey}}}}})
}

// newTLSContainer returns the container that ends TLS. It accepts new connections as long as slurmrestd does.
func (in Input) newTLSContainer(socket corev1.VolumeMount, lifecycle *corev1.Lifecycle) corev1.Container {
	return corev1.Container{
		Name:  ContainerTLS,
		Image: in.AgentImage,
		Args: []string{"--daemon=slurmrestd", "--wanted=" + certificateDir, "--socket=" + socketPath,
			fmt.Sprintf("--tls-address=:%d", names.SlurmrestdTLSPort)},
		Ports: []corev1.ContainerPort{{Name: PortHTTPS, ContainerPort: names.SlurmrestdTLSPort,
			Protocol: corev1.ProtocolTCP}, podspec.ContainerPortAgent()},
		Lifecycle: lifecycle.DeepCopy(),
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
				corev1.ResourceMemory: resource.MustParse("32Mi")},
			// 1,024 connections take some 100 kB each.
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{socket,
			{Name: volumeCertificate, MountPath: certificateDir, ReadOnly: true}},
		SecurityContext: podspec.RestrictedContext(),
	}
}
