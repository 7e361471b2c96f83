package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
)

// EnvFile returns the file to source in order to use kubectl with the plugin, and helm, in the namespace of the demo.
func (l *Demo) EnvFile() string { return filepath.Join(l.dir, "env") }

// kubeconfig returns the file that writeKubeconfig writes.
func (l *Demo) kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }

// writeKubeconfig writes the administrator's kubeconfig with the namespace of the demo.
func (l *Demo) writeKubeconfig() error {
	config, err := clientcmd.LoadFromFile(filepath.Join(l.kubeDir(), "pki", "admin.kubeconfig"))
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	for _, c := range config.Contexts {
		c.Namespace = namespace
	}
	if err := clientcmd.WriteToFile(*config, l.kubeconfig()); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// extendEnvFile adds the kubeconfig and the plugin to the env file that hack/kube/up has written.
func (l *Demo) extendEnvFile() error {
	file, err := os.OpenFile(l.EnvFile(), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("extending the env file: %w", err)
	}
	_, err = fmt.Fprintf(file, "export KUBECONFIG=%s\nexport PATH=%s:$PATH\n", quoteShell(l.kubeconfig()),
		quoteShell(l.binDir()))
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("extending the env file: %w", err)
	}
	return nil
}

// quoteShell returns a word of a shell that stands for the text.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
