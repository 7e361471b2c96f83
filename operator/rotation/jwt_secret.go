package rotation

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/slurmtide/slurmtide/operator/access"
	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/problem"
	"github.com/slurmtide/slurmtide/operator/rotation/keyfile"
	"github.com/slurmtide/slurmtide/operator/rotation/plan"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

// bridgeBits is the size of the RS256 key that signs tokens while the HS256 key changes.
const bridgeBits = 2048

// toBeMade is the id of a bridge that does not exist yet: the id of a bridge depends on its content.
const toBeMade = "new"

// Keys of the Secret that pods do not mount.
const (
	stateKey   = "state.json"
	signingKey = access.SigningKeyName
	bridgeKey  = "bridge.key"
	nextKey    = "next.key"
)

// jwtSecret is the Secret with the keys of auth/jwt.
type jwtSecret struct {
	rotationSecret
	keys plan.JWTKeys
}

// parseJWTSecret reads the state of a rotation. The error is *problem.Error.
func parseJWTSecret(secret rotationSecret) (jwtSecret, error) {
	out := jwtSecret{rotationSecret: secret}
	if secret.live == nil {
		return out, nil
	}
	err := json.Unmarshal(secret.data(stateKey), &out.keys)
	if err == nil {
		err = out.keys.Check()
	}
	if err != nil {
		return out, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s: %s says nothing of a rotation", secret.name, stateKey)
	}
	for _, name := range out.requiredKeys() {
		if len(secret.data(name)) == 0 {
			return out, problem.New(v1beta1.ReasonInvalidSpec, "Secret %s has no %s, which the rotation needs: restore it from a backup",
				secret.name, name)
		}
	}
	return out, nil
}

// requiredKeys returns the keys of the Secret that its state requires.
func (s jwtSecret) requiredKeys() []string {
	out := []string{slurmconf.RotatedJWTKeyFile}
	if s.keys.Next != "" {
		out = append(out, nextKey)
	}
	if s.keys.Bridge != "" {
		out = append(out, bridgeKey)
	}
	return out
}

// jwtContents are the keys of auth/jwt.
type jwtContents struct {
	// hs256 is the HS256 key that daemons have, next the key that replaces it, and bridge the RS256 key in PEM. next and
	// bridge may be nil.
	hs256, next, bridge []byte
}

// writeJWTKeys writes the next keys. Those that are in no Secret are made.
func (r *Reconciler) writeJWTKeys(ctx context.Context, c *v1beta1.Controller, all sharers, from jwtSecret,
	next plan.JWTKeys) error {
	contents, begunFor := jwtContents{hs256: from.data(slurmconf.RotatedJWTKeyFile), next: from.data(nextKey),
		bridge: from.data(bridgeKey)}, ""
	var err error
	switch {
	case next.Bridge == toBeMade:
		begunFor = c.Annotations[v1beta1.AnnotationRotateJWTKeys]
		if contents, next.Bridge, err = r.makeJWTKeys(ctx, c, contents.hs256); err != nil {
			return err
		}
	case next.Next == "" && from.keys.Next != "":
		contents.hs256, contents.next = contents.next, nil
	case next.Bridge == "":
		contents.bridge = nil
	}
	data, err := encodeJWTKeys(next, contents)
	if err != nil {
		return err
	}
	secret, err := r.renderSecret(ctx, from.rotationSecret, c, all, begunFor, data)
	if err != nil {
		return err
	}
	return r.writeSecret(ctx, from.rotationSecret, secret)
}

// makeJWTKeys returns the keys at the start of a rotation, and the id of the bridge. hs256 is the present key, nil for the
// user's.
func (r *Reconciler) makeJWTKeys(ctx context.Context, c *v1beta1.Controller, hs256 []byte) (jwtContents, string, error) {
	out := jwtContents{hs256: hs256}
	var err error
	if hs256 == nil {
		ref := jwtKeyRefs.ofController(c)
		if out.hs256, err = r.readUsersKey(ctx, c.Namespace, "spec.jwtKeyRef", ref); err != nil {
			return out, "", err
		}
		if signing.IsPEM(out.hs256) {
			return out, "", problem.New(v1beta1.ReasonInvalidSpec, "spec.jwtKeyRef: %v", access.ErrNotForHS256)
		}
	}
	if out.next, err = newKey(); err != nil {
		return out, "", err
	}
	key, err := r.newBridge()
	if err != nil {
		return out, "", fmt.Errorf("making a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return out, "", fmt.Errorf("encoding a key: %w", err)
	}
	out.bridge = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return out, signing.RSAKeyID(&key.PublicKey), nil
}

// encodeJWTKeys returns the data of the Secret with keys.
func encodeJWTKeys(keys plan.JWTKeys, contents jwtContents) (map[string][]byte, error) {
	state, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	var bridges []*rsa.PublicKey
	if contents.bridge != nil {
		block, _ := pem.Decode(contents.bridge)
		if block == nil {
			return nil, fmt.Errorf("%s is no PEM", bridgeKey)
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, isRSA := parsed.(*rsa.PrivateKey)
		if err != nil || !isRSA {
			return nil, fmt.Errorf("%s is no RSA key", bridgeKey)
		}
		bridges = append(bridges, &key.PublicKey)
	}
	set, err := keyfile.EncodePublic(bridges...)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{stateKey: state, slurmconf.JWTKeysFile: []byte(keys.Loaded()),
		slurmconf.RotatedJWTKeyFile: contents.hs256, slurmconf.BridgeJWKSFile: set, signingKey: contents.hs256}
	if keys.SignsBridge {
		data[signingKey] = contents.bridge
	}
	if contents.next != nil {
		data[nextKey] = contents.next
	}
	if contents.bridge != nil {
		data[bridgeKey] = contents.bridge
	}
	return data, nil
}
