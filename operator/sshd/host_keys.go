package sshd

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/ssh"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostKeyFiles are the keys of the Secret with the host keys, in sshd's order of offers.
var hostKeyFiles = [...]string{"ssh_host_ed25519_key", "ssh_host_ecdsa_key", "ssh_host_rsa_key"}

// rsaBits is the size of the host key for old clients, as ssh-keygen -A makes it.
const rsaBits = 3072

// NewHostKeys returns a Secret with new host keys. It is immutable. Its metadata has no owner, so that a
// recreated object has the same keys and its users see no warning. The randomness is the system's.
func NewHostKeys(meta metav1.ObjectMeta) (*corev1.Secret, error) {
	out := &corev1.Secret{ObjectMeta: meta, Immutable: new(true), Data: map[string][]byte{}}
	generate := map[string]func() (crypto.Signer, error){
		"ssh_host_ed25519_key": func() (crypto.Signer, error) {
			_, key, err := ed25519.GenerateKey(rand.Reader)
			return key, err
		},
		"ssh_host_ecdsa_key": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
		"ssh_host_rsa_key":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, rsaBits) },
	}
	for _, file := range hostKeyFiles {
		key, err := generate[file]()
		if err != nil {
			return nil, fmt.Errorf("generating %s: %w", file, err)
		}
		block, err := ssh.MarshalPrivateKey(key, "")
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", file, err)
		}
		public, err := ssh.NewPublicKey(key.Public())
		if err != nil {
			return nil, fmt.Errorf("encoding %s.pub: %w", file, err)
		}
		out.Data[file] = pem.EncodeToMemory(block)
		out.Data[file+".pub"] = ssh.MarshalAuthorizedKey(public)
	}
	return out, nil
}

// Where the host keys are in a pod.
const (
	volumeHostKeys = "ssh-host-keys"
	hostKeysDir    = "/etc/ssh-host-keys"
)

// HostKeysVolume returns the volume with the host keys of a Secret.
func HostKeysVolume(secret string) corev1.Volume {
	return corev1.Volume{Name: volumeHostKeys, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: secret, DefaultMode: new(int32(0o600))}}}
}

// HostKeysMount returns the mount of that volume, where sshd_config looks for the keys.
func HostKeysMount() corev1.VolumeMount {
	return corev1.VolumeMount{Name: volumeHostKeys, MountPath: hostKeysDir, ReadOnly: true}
}
