//go:build e2e

package host

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slurmtide/slurmtide/test/harness/process"
	"github.com/slurmtide/slurmtide/test/harness/realslurm"
	"github.com/slurmtide/slurmtide/tools/docs"
)

var long = flag.Bool("long", false, "run the page")

const pageName = "docs/install-bare-metal.md"

func TestBareMetal(t *testing.T) {
	if !*long {
		t.Skip("it builds Debian hosts, run it with -long")
	}
	if why := realslurm.MissingRequirement(); why != "" {
		t.Skip(why)
	}
	for _, release := range realslurm.Versions() {
		t.Run(release, func(t *testing.T) { runPage(t, startHost(t, release)) })
	}
}

// runPage runs the page's blocks in their order and checks the host after each.
func runPage(t *testing.T, h *host) {
	h.copyClone(t)
	root, err := process.FindModuleRoot()
	must(t, err)
	text, err := os.ReadFile(filepath.Join(root, pageName))
	must(t, err)
	blocks, err := docs.ParseBlocks(pageName, string(text))
	must(t, err)
	h.run(t, "sbatch --output=/dev/null --wrap 'sleep 3600'")
	awaitOnHost(t, h, "the job", "RUNNING", "squeue --noheader --format=%T")
	begin := time.Now()
	next := func(contains string) string {
		t.Helper()
		if len(blocks) == 0 || !strings.Contains(blocks[0].Script, contains) || blocks[0].Test != "TestBareMetal" {
			t.Fatalf("the next of %d blocks does not contain %q", len(blocks), contains)
		}
		b := blocks[0]
		blocks = blocks[1:]
		started := time.Now()
		out := h.run(t, b.Script)
		t.Logf("%s: ok after %.1f s\n%s", b, time.Since(started).Seconds(), b.Script)
		return out
	}
	next("AuthAltTypes=auth/jwt")
	next("enable --now slurmrestd")
	require(t, "slurmrestd", h.run(t, "ps -C slurmrestd -o user=,args="), "slurmres", "-a rest_auth/jwt", "-s slurmctld,slurmdbd")
	next("enable --now slurm-exporter-token.service")
	require(t, "the exporter", next("/-/ready"), "slurm_up 1", `cluster="linux"`)
	require(t, "the job after the page restarted slurmctld", h.run(t, "squeue --noheader --format=%T"), "RUNNING")
	checkToken(t, h, next)
	next("adminlevel=Operator")
	next("promtool check config")
	awaitOnHost(t, h, "up of the scrape", "1", `curl -s 'http://localhost:9090/api/v1/query?query=slurm_up' | grep -o '"[01]"' | tr -d '"'`)
	next("--web.listen-address=:9342")
	for _, b := range blocks {
		t.Errorf("%s was not run", b)
	}
	t.Logf("%s: %.1f minutes", pageName, time.Since(begin).Minutes())
	verifyUnits(t, h)
	checkTLS(t, h)
	checkPortConflict(t, h)
}

// checkToken runs the block that renews the token, and requires a later expiry without a restart of the exporter.
func checkToken(t *testing.T, h *host, next func(string) string) {
	t.Helper()
	const expiry = `curl -s http://localhost:9341/metrics | sed -n 's/^slurm_exporter_token_expiry_time_seconds //p'`
	const pid = "systemctl show --property MainPID slurm-exporter"
	before, main := h.run(t, expiry), h.run(t, pid)
	h.run(t, "sleep 1.1") // tokens expire at whole seconds
	require(t, "the timers", next("list-timers"), "slurm-exporter-token.timer", "slurm_exporter_token_expiry_time_seconds")
	process.Await(t, func() error {
		if out, err := h.try(t, "[ '"+strings.TrimSpace(before)+"' != \"$("+expiry+")\" ]"); err != nil {
			return errOutput{err, out}
		}
		return nil
	})
	if after := h.run(t, pid); after != main {
		t.Errorf("the exporter restarted: %s, %s", main, after)
	}
	require(t, "the token's file", h.run(t, "stat --format '%U %G %a' /run/slurm-exporter/token"), "slurm slurm-exporter 640")
}

// verifyUnits lets systemd check the units, and requires that each is hardened.
func verifyUnits(t *testing.T, h *host) {
	t.Helper()
	const units = "slurmrestd.service slurm-exporter.service slurm-exporter-token.service slurm-exporter-token.timer"
	if out := h.run(t, "cd /etc/systemd/system; systemd-analyze verify --man=no "+units+" 2>&1"); strings.TrimSpace(out) != "" {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	t.Log(h.run(t, "systemd-analyze security --offline=true --threshold=30 --no-pager /etc/systemd/system/slurm-exporter.service | tail -n 1"))
}

// checkPortConflict requires the message that the page names, if another program has the port.
func checkPortConflict(t *testing.T, h *host) {
	t.Helper()
	h.run(t, `sed -i 's/^ARGS=.*/ARGS=--web.listen-address=:6819/' /etc/default/slurm-exporter; systemctl restart --no-block slurm-exporter`)
	awaitOnHost(t, h, "the message", "yes", "journalctl --no-pager -u slurm-exporter | grep -q 'bind: address already in use' && echo yes")
}

func awaitOnHost(t *testing.T, h *host, what, want, script string) {
	t.Helper()
	process.AwaitValue(t, what, want, func(context.Context) (string, error) {
		out, err := h.try(t, script)
		return strings.TrimSpace(out), err
	})
}

// errOutput is an error with what the command printed.
type errOutput struct {
	error
	out string
}

func (e errOutput) Error() string { return e.error.Error() + ": " + e.out }

// checkTLS configures TLS as the comments of web.yml say.
func checkTLS(t *testing.T, h *host) {
	t.Helper()
	h.run(t, `cd /etc/slurm-exporter
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
  -keyout tls.key -out tls.crt 2>/dev/null
sed -i -e 's/^# \(tls_server_config:\)/\1/' -e 's/^#   \(cert_file\|key_file\)/  \1/' web.yml
mkdir -p /etc/systemd/system/slurm-exporter.service.d
sed -n 's/^#   \(\[Service\]\|LoadCredential=.*\)/\1/p' web.yml >/etc/systemd/system/slurm-exporter.service.d/tls.conf
sed -i 's/^ARGS=.*/ARGS=/' /etc/default/slurm-exporter
systemctl daemon-reload; systemctl restart slurm-exporter`)
	awaitOnHost(t, h, "the page over TLS", "ready",
		"curl --silent --cacert /etc/slurm-exporter/tls.crt https://localhost:9341/-/ready")
}
