package slurmconf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRenderClientConf(t *testing.T) {
	conf := ClientConf{ClusterName: "c", Hosts: []string{"a(a.team)", "b(b.team)"}, Port: 6817, Accounting: "acct.team",
		AccountingPort: 6819}
	const want = `ClusterName=c
SlurmctldHost=a(a.team)
SlurmctldHost=b(b.team)
SlurmctldPort=6817
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=acct.team
AccountingStoragePort=6819
`
	got, err := conf.Render()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	conf.Accounting, conf.Hosts = "", []string{"a(a.team)"}
	conf.ServerText = "DebugFlags=Backfill\ncommunicationparameters = EnableIPv6,DisableIPv4 # both\nMessageTimeout=10\n" +
		"PartitionName=a TLSType=x\nMessageTimeout=100\nTLSType=tls/s2n\nTLSParameters=\n"
	const shared = `ClusterName=c
SlurmctldHost=a(a.team)
SlurmctldPort=6817
AuthType=auth/slurm
CredType=cred/slurm
AuthAltTypes=auth/jwt

# spec.extraConf
communicationparameters=EnableIPv6,DisableIPv4
MessageTimeout=100
TLSType=tls/s2n
`
	got, err = conf.Render()
	if diff := cmp.Diff(shared, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	conf.ServerText = "TLSType=x\nInclude site.conf\nMessageTimeout=100\n"
	conf.ServerFiles = map[string]string{"site.conf": "communicationparameters=EnableIPv6,DisableIPv4\nMessageTimeout=10\n" +
		"DebugFlags=Backfill\nTLSType=tls/s2n\n", "other.conf": "TCPTimeout=9\n"}
	got, err = conf.Render()
	if diff := cmp.Diff(shared, got); diff != "" || err != nil {
		t.Errorf("with an included file: %s%v", diff, err)
	}
	conf.ClusterName = "a\nSlurmUser=root"
	if _, err := conf.Render(); err == nil || !strings.Contains(err.Error(), "ClusterName") {
		t.Errorf("the error is %v", err)
	}
}
