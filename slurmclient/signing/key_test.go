package signing_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/slurmtide/slurmtide/slurmclient/signing"
)

func encodePEM(t *testing.T, key any) []byte {
	t.Helper()
	content, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: content})
}

func newRSAKey(t *testing.T) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return encodePEM(t, key)
}

func TestASigningKeyReadsOnlyItsOwnTokens(t *testing.T) {
	keys := map[string]signing.Key{}
	for name, raw := range map[string][]byte{"one": []byte("one"), "two": []byte("two"), "rsa": newRSAKey(t), "other rsa": newRSAKey(t)} {
		key, err := signing.ParseKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = key
	}
	for signer, key := range keys {
		token, err := key.Sign(jwt.MapClaims{"sun": "alice", "exp": 1})
		if err != nil {
			t.Fatal(err)
		}
		for reader, other := range keys {
			claims := jwt.MapClaims{}
			err := other.Read(token, claims)
			if (err == nil) != (reader == signer) || err == nil && claims["sun"] != "alice" {
				t.Errorf("the key %s reads a token of the key %s as %v: %v", reader, signer, claims, err)
			}
		}
	}
}

func TestUnusableSigningKeys(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey := string(newRSAKey(t))
	for name, raw := range map[string]string{
		"an elliptic curve": string(encodePEM(t, curve)), "cut off": rsaKey[:200],
		"a public key": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
	} {
		if _, err := signing.ParseKey([]byte(raw)); err == nil || strings.Contains(err.Error(), "AAAA") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestRSAKeyID computes the id of the key in the example of RFC 7638, 3.1.
func TestRSAKeyID(t *testing.T) {
	const modulus = "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn" +
		"64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbI" +
		"SD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
	content, err := base64.RawURLEncoding.DecodeString(modulus)
	if err != nil {
		t.Fatal(err)
	}
	key := &rsa.PublicKey{N: new(big.Int).SetBytes(content), E: 65537}
	if got := signing.RSAKeyID(key); got != "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" {
		t.Errorf("the id is %s", got)
	}
	if n, e := signing.RSAKeyNumbers(key); n != modulus || e != "AQAB" {
		t.Errorf("the numbers are %s and %s", n, e)
	}
}
