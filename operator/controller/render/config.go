package render

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/slurmtide/slurmtide/operator/api/v1beta1"
	"github.com/slurmtide/slurmtide/operator/names"
	"github.com/slurmtide/slurmtide/operator/podspec"
	"github.com/slurmtide/slurmtide/operator/refs"
	"github.com/slurmtide/slurmtide/operator/slurmconf"
)

// cgroupConf is cgroup.conf unless the user brings one. Workers find the cgroups of their pod without
// systemd (cgroup.conf(5), IgnoreSystemd).
const cgroupConf = "CgroupPlugin=autodetect\nIgnoreSystemd=yes\n"

// withoutSystemd returns the user's cgroup.conf of a cluster with workers. It adds cgroupConf's line about systemd, unless the user
// sets a systemd option. Otherwise slurmd ends, because it finds no systemd in its pod, even with IgnoreSystemdOnFailure (26.05,
// measured).
func withoutSystemd(text string) string {
	for _, setting := range slurmconf.ParseSettings(text) {
		switch strings.ToLower(setting.Name) {
		case "ignoresystemd", "include":
			return text
		case "cgroupplugin":
			if strings.EqualFold(setting.Value, "disabled") || strings.EqualFold(setting.Value, "cgroup/v1") {
				return text
			}
		}
	}
	return "IgnoreSystemd=yes\n" + text
}

// maxConfigSize is the size in bytes that a ConfigMap may have (Kubernetes' limit is 1 MiB, with the
// metadata).
const maxConfigSize = 1<<20 - 16<<10

// leastMaxNodeCount is the least MaxNodeCount. It leaves room for nodes that are no workers.
const leastMaxNodeCount = 256

// ConfigMap returns the ConfigMap with all files of the directory of slurm.conf but the keys. It fails
// if two files have one name, or if slurm.conf cannot be rendered.
func ConfigMap(in Input) (*corev1.ConfigMap, error) {
	text, err := in.slurmConf().Render()
	if err != nil {
		return nil, fmt.Errorf("rendering slurm.conf: %w", err)
	}
	files := map[string]string{"slurm.conf": text}
	for _, users := range []struct {
		field string
		files map[string]string
	}{
		{"spec.configFileRefs", in.Files.Config}, {"spec.prologScriptRefs", in.Files.Prolog},
		{"spec.epilogScriptRefs", in.Files.Epilog}, {"spec.prologSlurmctldScriptRefs", in.Files.PrologSlurmctld},
		{"spec.epilogSlurmctldScriptRefs", in.Files.EpilogSlurmctld},
	} {
		for _, name := range slices.Sorted(maps.Keys(users.files)) {
			content := users.files[name]
			if isReserved(name) {
				return nil, fmt.Errorf("%s: the operator writes %s itself; give the file another name", users.field, name)
			}
			if other, has := files[name]; has && other != content {
				return nil, fmt.Errorf("%s: there are two different files %s", users.field, name)
			}
			files[name] = content
		}
	}
	if text, has := files["cgroup.conf"]; !has {
		files["cgroup.conf"] = cgroupConf
	} else if len(in.NodeSets) > 0 {
		files["cgroup.conf"] = withoutSystemd(text)
	}
	size := 0
	for name, content := range files {
		size += len(name) + len(content)
	}
	if size > maxConfigSize {
		return nil, fmt.Errorf("the configuration files have %d bytes together, and a ConfigMap can hold %d", size,
			maxConfigSize)
	}
	files[slurmconf.RevisionFile] = podspec.HashFiles(files)
	if forced := in.Controller.Annotations[v1beta1.AnnotationForceRevision]; forced != "" {
		files[slurmconf.ForcedRevisionFile] = forced
	}
	out := &corev1.ConfigMap{ObjectMeta: in.metadata(names.ControllerConfigMap(in.Controller.Name)), Data: files}
	out.APIVersion, out.Kind = "v1", "ConfigMap"
	return out, nil
}

// isReserved reports whether users must not bring a file of this name: the operator writes it, or it
// is a key or the configuration of slurmdbd.
func isReserved(name string) bool {
	switch strings.ToLower(name) {
	case "slurm.conf", "slurmdbd.conf", keyFile, jwtKeyFile, jwksFile, "slurm.jwks", slurmconf.RevisionFile,
		slurmconf.ForcedRevisionFile, slurmconf.StateFile, slurmconf.KeySetFile, slurmconf.JWTKeysFile, slurmconf.RotatedJWTKeyFile, slurmconf.BridgeJWKSFile:
		return true
	}
	return false
}

// slurmConf returns the content of slurm.conf.
func (in Input) slurmConf() slurmconf.SlurmConf {
	c := in.Controller
	out := slurmconf.SlurmConf{
		ClusterName: names.SlurmClusterName(c),
		Hosts:       refs.SlurmctldHosts(c), Address: refs.SlurmctldAddr(c),
		Port: in.address().Port, SlurmdPort: names.SlurmdPort,
		Accounting: in.Accounting.Host, AccountingPort: in.Accounting.Port,
		UsesIPv6:          in.UsesIPv6,
		HasMetrics:        c.Spec.Metrics.Enabled,
		MaxNodeCount:      maxNodeCount(in.MaxWorkers),
		Prologs:           slices.Sorted(maps.Keys(in.Files.Prolog)),
		Epilogs:           slices.Sorted(maps.Keys(in.Files.Epilog)),
		ControllerPrologs: slices.Sorted(maps.Keys(in.Files.PrologSlurmctld)),
		ControllerEpilogs: slices.Sorted(maps.Keys(in.Files.EpilogSlurmctld)),
		NodeSets:          in.NodeSets, KnownGRES: c.Status.GresTypes, AccountedTRES: in.AccountedTRES,
		Extra: c.Spec.ExtraConf, ExtraFiles: in.Files.Config,
	}
	return out
}

// maxNodeCount returns MaxNodeCount for the given number of workers: the next power of two above twice the number, so that it rarely
// changes.
func maxNodeCount(workers uint64) uint64 {
	return max(leastMaxNodeCount, uint64(1)<<bits.Len64(2*workers))
}
