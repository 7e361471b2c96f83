package sshd

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestConfig(t *testing.T) {
	for _, tc := range []struct {
		name        string
		config      Config
		has, hasNot []string
	}{
		{"nothing", Config{}, []string{"UsePAM yes\n", "ClientAliveInterval 60\n",
			"AuthorizedKeysFile .ssh/authorized_keys\n"}, []string{"# spec"}},
		{"more keys of users", Config{AuthorizedKeys: "/keys/%u"},
			[]string{"AuthorizedKeysFile .ssh/authorized_keys /keys/%u\n"}, nil},
		{"the user's option takes precedence", Config{Extra: "clientaliveinterval=5\n", Field: "spec.x"},
			[]string{"# spec.x\nclientaliveinterval=5\n"}, []string{"ClientAliveInterval 60"}},
		{"an option for some connections does not", Config{Extra: "Match User bob\nUsePAM no"},
			[]string{"UsePAM yes\n", "UsePAM no\n"}, nil},
		{"another port and host key are more of them", Config{Extra: "Port 2222\nHostKey /k", Kept: []string{"port", "hostkey"}},
			[]string{"Port 22\n", "Port 2222\n", "HostKey /etc/ssh-host-keys/ssh_host_rsa_key\n"}, nil},
		{"another port takes precedence unless ours is kept", Config{Extra: "Port 2222", Kept: []string{"hostkey"}},
			[]string{"Port 2222\n", "HostKey /etc/ssh-host-keys/ssh_host_rsa_key\n"}, []string{"Port 22\n"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.config.Render()
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range tc.has {
				if !strings.Contains(got, text) {
					t.Errorf("%q is missing:\n%s", text, got)
				}
			}
			for _, text := range tc.hasNot {
				if strings.Contains(got, text) {
					t.Errorf("%q is there:\n%s", text, got)
				}
			}
		})
	}
}

func TestConfigRefusesANUL(t *testing.T) {
	_, err := Config{Extra: "\x00", Field: "spec.x"}.Render()
	if err == nil || !strings.HasPrefix(err.Error(), "spec.x ") {
		t.Errorf("the error is %v", err)
	}
}

func TestGlobalOptions(t *testing.T) {
	for _, tc := range []struct {
		text, name, want string
	}{
		{"UsePAM no", "usepam", "no"},
		{"  usepam = \"no\" \r", "usepam", "no"},
		{"UsePAM no\nUsePAM yes", "usepam", "no"}, // sshd takes the first one
		{"Match User bob\nUsePAM no", "usepam", ""},
		{"#UsePAM no", "usepam", ""},
		{"Port\t2222", "port", "2222"},
	} {
		if got := GlobalOptions(tc.text)[tc.name]; got != tc.want {
			t.Errorf("%q sets %s to %q, not %q", tc.text, tc.name, got, tc.want)
		}
	}
}

func TestHostKeys(t *testing.T) {
	secret, err := NewHostKeys(metav1.ObjectMeta{Name: "keys"})
	if err != nil {
		t.Fatal(err)
	}
	if secret.Name != "keys" || len(secret.OwnerReferences) > 0 || !*secret.Immutable || len(secret.Data) != 6 {
		t.Errorf("the Secret is %+v with %d files", secret.ObjectMeta, len(secret.Data))
	}
	for _, file := range hostKeyFiles {
		key, err := ssh.ParsePrivateKey(secret.Data[file])
		if err != nil {
			t.Fatal(err)
		}
		if got := ssh.MarshalAuthorizedKey(key.PublicKey()); !bytes.Equal(got, secret.Data[file+".pub"]) {
			t.Errorf("the public key of %s is another", file)
		}
	}
}

// TestPAM: nothing may let a user of a worker in before pam_slurm_adopt decides, and everything else is as in login
// pods.
func TestPAM(t *testing.T) {
	accounts := func(text string) (accounts, others []string) {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "account ") {
				accounts = append(accounts, strings.TrimSpace(line))
			} else {
				others = append(others, line)
			}
		}
		return accounts, others
	}
	login, loginOthers := accounts(LoginPAM())
	worker, workerOthers := accounts(WorkerPAM("nodename=n", "x=y"))
	if !slices.Equal(loginOthers, workerOthers) {
		t.Errorf("what is not about accounts differs:\n%s\n%s", loginOthers, workerOthers)
	}
	if strings.Contains(strings.Join(login, "\n"), "slurm") {
		t.Errorf("login pods ask Slurm: %q", login)
	}
	if last := worker[len(worker)-1]; last != "account  required  pam_slurm_adopt.so nodename=n x=y" {
		t.Errorf("the last line is %q", last)
	}
	for _, line := range worker {
		if strings.Contains(line, "sufficient") || strings.Contains(line, "=done") {
			t.Errorf("%q ends the accounts", line)
		}
	}
}
