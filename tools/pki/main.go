// Command pki creates the keys, certificates and kubeconfigs of one Kubernetes control plane for
// development and tests. They are valid for ten years, since a cluster and its files are deleted
// together. Only the owner can read the keys.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var p controlPlane
	var ips string
	flag.StringVar(&p.dir, "dir", "", "folder to write to")
	flag.StringVar(&p.server, "server", "", "URL of the API server in the kubeconfigs")
	flag.StringVar(&p.node, "node", "node", "name of the node")
	flag.StringVar(&ips, "ips", "127.0.0.1", "addresses of the API server and of the kubelet, with commas between")
	flag.Func("machines", "further nodes and their addresses, as NAME=ADDRESS with commas between", p.addMachines)
	flag.Parse()
	if err := writePKI(p, ips); err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}

// addMachines adds the nodes in text.
func (p *controlPlane) addMachines(text string) error {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' }) {
		name, address, _ := strings.Cut(part, "=")
		ip := net.ParseIP(address)
		if name == "" || ip == nil {
			return fmt.Errorf("not NAME=ADDRESS: %q", part)
		}
		p.machines = append(p.machines, machine{name, ip})
	}
	return nil
}

func writePKI(p controlPlane, ips string) error {
	if p.dir == "" || p.server == "" {
		return fmt.Errorf("--dir and --server must be given")
	}
	for text := range strings.SplitSeq(ips, ",") {
		ip := net.ParseIP(text)
		if ip == nil {
			return fmt.Errorf("not an address: %q", text)
		}
		p.ips = append(p.ips, ip)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return err
	}
	return writeFiles(p)
}

// writeFiles writes all certificates and kubeconfigs.
func writeFiles(p controlPlane) error {
	issued := map[string]identity{}
	for _, name := range p.authorities() {
		ca, err := newAuthority(name)
		if err != nil {
			return fmt.Errorf("making authority %s: %w", name, err)
		}
		issued[name] = ca
	}
	for _, r := range p.requests() {
		id, err := issued[r.authority].issue(r)
		if err != nil {
			return fmt.Errorf("making certificate %s: %w", r.name, err)
		}
		issued[r.name] = id
	}
	for name, id := range issued {
		if err := id.writeFiles(filepath.Join(p.dir, name)); err != nil {
			return fmt.Errorf("writing certificate %s: %w", name, err)
		}
	}
	for _, name := range p.users() {
		config, err := renderKubeconfig(p.server, issued["ca"], issued[name])
		if err != nil {
			return fmt.Errorf("making kubeconfig %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(p.dir, name+".kubeconfig"), config, 0o600); err != nil {
			return fmt.Errorf("writing kubeconfig %s: %w", name, err)
		}
	}
	return writeServiceAccountKeys(p.dir)
}
