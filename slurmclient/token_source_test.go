package slurmclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func signToken(t *testing.T, expires time.Time) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256,
		jwt.MapClaims{"exp": expires.Unix(), "sun": "slurm"}).SignedString([]byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenFileIsReadAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	source := TokenFromFile(path)
	if _, err := source.Token(); err == nil {
		t.Fatal("a missing file returned a token")
	}
	first, second := signToken(t, time.Unix(2000000000, 0)), signToken(t, time.Unix(2100000000, 0))
	write := func(text string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	write(first+"\n", time.Hour)
	if got, err := source.Token(); err != nil || got != first {
		t.Fatalf("got %q, %v", got, err)
	}
	if got := source.Expiry(); !got.Equal(time.Unix(2000000000, 0)) {
		t.Errorf("it expires at %v", got)
	}
	write("SLURM_JWT="+second, time.Minute)
	if got, err := source.Token(); err != nil || got != second {
		t.Errorf("after the change: %q, %v", got, err)
	}
	if changed, err := source.Reload(); err != nil || changed {
		t.Errorf("a reload without a change returns %v, %v", changed, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := source.Token(); err != nil || got != second {
		t.Errorf("while the file is missing: %q, %v", got, err)
	}
}

func TestReloadSeesATokenWithAnUnchangedTimestamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	stamp := time.Unix(1700000000, 0)
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	put("aaaa")
	source := TokenFromFile(path)
	if got, _ := source.Token(); got != "aaaa" {
		t.Fatalf("got %q", got)
	}
	put("bbbb")
	if changed, err := source.Reload(); err != nil || !changed {
		t.Errorf("the reload returns %v, %v", changed, err)
	}
	if got, _ := source.Token(); got != "bbbb" {
		t.Errorf("got %q", got)
	}
}

func TestTokenErrorsDoNotShowTheToken(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "blank": " \n", "two words": "first second"} {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := TokenFromFile(path).Token()
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "second") {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("EMPTY_TOKEN", "")
	if _, err := TokenFromEnv("EMPTY_TOKEN").Token(); err == nil || !strings.Contains(err.Error(), "EMPTY_TOKEN") {
		t.Errorf("an empty variable: %v", err)
	}
}

func TestAMintedTokenIsRenewedBeforeItEnds(t *testing.T) {
	now := time.Unix(1700000000, 0)
	source := TokenFromKey([]byte("0123456789abcdef"), "slurm", time.Hour, func() time.Time { return now })
	first, err := source.Token()
	if err != nil {
		t.Fatal(err)
	}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithTimeFunc(func() time.Time { return now }))
	if _, err := parser.ParseWithClaims(first, claims,
		func(*jwt.Token) (any, error) { return []byte("0123456789abcdef"), nil }); err != nil {
		t.Fatalf("the token does not verify: %v", err)
	}
	if claims["sun"] != "slurm" || int64(claims["exp"].(float64)) != now.Add(time.Hour).Unix() {
		t.Errorf("its claims are %v", claims)
	}
	now = now.Add(47 * time.Minute)
	if again, _ := source.Token(); again != first {
		t.Error("a token with more than a fifth left was renewed")
	}
	now = now.Add(2 * time.Minute)
	if again, _ := source.Token(); again == first {
		t.Error("a token with less than a fifth left was kept")
	}
}
