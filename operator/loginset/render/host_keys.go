package render

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

	"github.com/slurmtide/slurmtide/operator/names"
)

// hostKeyFiles are the keys of the Secret with the host keys, in the order in which sshd offers them.
var hostKeyFiles = [...]string{"ssh_host_ed25519_key", "ssh_host_ecdsa_key", "ssh_host_rsa_key"}

// rsaBits is the size of the host key for old clients.
const rsaBits = 4096

// HostKeysMeta returns the metadata of the Secret with the host keys. It has no owner, so that a LoginSet that
// is made again has the same keys and its users see no warning.
func HostKeysMeta(in Input) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: names.LoginHostKeys(in.LoginSet.Name), Namespace: in.LoginSet.Namespace,
		Labels: in.labels()}
}

// NewHostKeys returns a Secret with new host keys. It is immutable. The randomness is the system's.
func NewHostKeys(in Input) (*corev1.Secret, error) {
	out := &corev1.Secret{ObjectMeta: HostKeysMeta(in), Immutable: new(true), Data: map[string][]byte{}}
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
