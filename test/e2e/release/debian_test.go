//go:build e2e

package release

import (
	"strconv"
	"strings"
	"testing"

	"github.com/slurmtide/slurmtide/test/harness/realslurm"
)

// maxExposure is the highest mark of systemd-analyze security, from 0 to 10, that the exporter's unit may have.
const maxExposure = 2.0

// TestPackagesInDebian installs, uses, upgrades and removes the packages in the Debian releases with Slurm 24.11 (trixie) and
// 26.05 (forky), beside a real Slurm.
func TestPackagesInDebian(t *testing.T) {
	exporter := onlyFile(t, "slurm-exporter_*_amd64.deb")
	plugin := onlyFile(t, "kubectl-slurm_*_amd64.deb")
	if why := realslurm.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	for _, slurm := range realslurm.Versions() {
		t.Run(slurm, func(t *testing.T) {
			h := startHost(t, slurm)
			t.Logf("Debian %s", h.run(t, ". /etc/os-release && echo $VERSION_CODENAME"))
			t.Run("kubectl-slurm", func(t *testing.T) { checkPlugin(t, h, h.copyIn(t, plugin)) })
			t.Run("slurm-exporter", func(t *testing.T) { checkExporter(t, h, h.copyIn(t, exporter)) })
		})
	}
}

const metrics = "curl --silent --show-error --fail http://localhost:9341/metrics"

// checkExporter installs the exporter with apt-get, lets systemd run it, upgrades it and removes it.
func checkExporter(t *testing.T, h host, deb string) {
	h.run(t, "apt-get install -y ./"+deb)
	h.run(t, "getent passwd slurm-exporter")
	if out, _ := h.try(nil, "systemctl is-enabled slurm-exporter"); out != "disabled" {
		t.Errorf("the service is %q after the installation, want disabled", out)
	}
	h.run(t, "systemd-analyze verify slurm-exporter.service slurm-exporter-token.service slurm-exporter-token.timer")
	checkExposure(t, h)

	t.Log("==> slurmrestd by the example of the package")
	h.run(t, acceptTokens)
	h.run(t, `cd /usr/share/slurm-exporter
install -m 644 slurmrestd.service /etc/systemd/system/
install -D -m 644 slurmrestd.sysusers /etc/sysusers.d/slurmrestd.conf
systemd-sysusers
apt-get install -y --no-install-recommends slurmrestd
systemctl daemon-reload
systemctl enable --now slurmrestd`)

	t.Log("==> the exporter")
	h.run(t, `echo 'ARGS="--cluster=hpc --slurm.poll-interval=1s"' >>/etc/default/slurm-exporter
systemctl enable --now slurm-exporter-token.service slurm-exporter-token.timer slurm-exporter.service`)
	h.await(t, metrics, `slurm_up{cluster="hpc"} 1`)
	if user := h.run(t, "ps -C slurm-exporter -o user:20="); user != "slurm-exporter" {
		t.Errorf("the program runs as %q, want slurm-exporter", user)
	}
	if mode := h.run(t, "stat -c '%a %U' /etc/slurm-exporter/web.yml"); mode != "600 root" {
		t.Errorf("web.yml is %q, want 600 root", mode)
	}

	t.Log("==> an upgrade restarts it and keeps settings")
	const pid = "systemctl show --property=MainPID --value slurm-exporter"
	before := h.run(t, pid)
	h.run(t, "apt-get install -y --reinstall ./"+deb)
	h.await(t, metrics, `slurm_up{cluster="hpc"} 1`)
	if after := h.run(t, pid); after == before || after == "0" {
		t.Errorf("the process is %s before the upgrade and %s after it", before, after)
	}

	t.Log("==> removal")
	h.run(t, "apt-get remove -y slurm-exporter")
	if out, _ := h.try(nil, "systemctl is-active slurm-exporter slurm-exporter-token.timer"); out != "inactive\ninactive" {
		t.Errorf("the units are %q after the removal, want inactive", out)
	}
	h.run(t, "test -e /etc/default/slurm-exporter && test ! -e /usr/bin/slurm-exporter")
	h.run(t, "apt-get purge -y slurm-exporter")
	left := h.run(t, `find /etc /usr/lib/systemd /usr/lib/sysusers.d /usr/share -path '*slurm-exporter*'`)
	if left != "" {
		t.Errorf("the purge leaves\n%s", left)
	}
}

// acceptTokens lets slurmctld and slurmdbd accept tokens, as docs/install-bare-metal.md does.
const acceptTokens = `apt-get install -y --no-install-recommends slurm-wlm-jwt-plugin
(umask 077 && head -c 32 /dev/random >/etc/slurm/jwt_hs256.key)
chown slurm: /etc/slurm/jwt_hs256.key
for file in slurm.conf slurmdbd.conf; do
  printf '%s\n' 'AuthAltTypes=auth/jwt' 'AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key' >>/etc/slurm/$file
done
systemctl restart slurmdbd slurmctld`

// checkExposure checks the mark that systemd gives to the hardening of the exporter's unit.
func checkExposure(t *testing.T, h host) {
	t.Helper()
	out := h.run(t, "systemd-analyze security --no-pager slurm-exporter.service")
	_, mark, _ := strings.Cut(out, "Overall exposure level for slurm-exporter.service: ")
	word, _, _ := strings.Cut(mark, " ")
	exposure, err := strconv.ParseFloat(word, 64)
	if err != nil || exposure > maxExposure {
		t.Errorf("the unit's exposure is %q (%v), want at most %.1f\n%s", word, err, maxExposure, out)
	}
	t.Logf("the unit's exposure is %.1f", exposure)
}

// checkPlugin installs the plugin and removes it.
func checkPlugin(t *testing.T, h host, deb string) {
	h.run(t, "apt-get install -y ./"+deb)
	if out := h.run(t, "kubectl-slurm --help"); !strings.Contains(out, "kubectl slurm") {
		t.Errorf("kubectl-slurm --help prints %q", out)
	}
	if out := h.run(t, "kubectl_complete-slurm exp"); !strings.Contains(out, "explain") {
		t.Errorf("the completion of exp is %q, want explain", out)
	}
	h.run(t, "apt-get purge -y kubectl-slurm")
	h.run(t, "test ! -e /usr/bin/kubectl-slurm && test ! -e /usr/bin/kubectl_complete-slurm")
}
