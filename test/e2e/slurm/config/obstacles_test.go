//go:build e2e

package config

import (
	"strings"
	"testing"
)

// obstacleScript puts an obstacle in the way of trials; the file obstacle names it. Temporary files have 4 MB, and the name server does not
// answer for 26 s, longer than a trial may take.
const obstacleScript = `
cat >$D/slurmctld <<'TRIAL'
#!/bin/bash
read -r what amount <"${0%/*}/obstacle"
case $what in
port)
  exec 3< <(exec perl -MIO::Socket::INET -e '$| = 1; $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1",
    LocalPort => shift, Listen => 1) or die; print "ok\n"; sleep 60' "$(sed -n 's/^SlurmctldPort=//p' "$3" | tail -n1)")
  read -r _ <&3 ;;
killed) (sleep 0.05; kill -9 $$) & ;;
memory) ulimit -v $amount ;;
files) ulimit -n $amount ;;
processes) ulimit -u $(($(find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 -user slurm 2>/dev/null | wc -l) + amount)) ;;
esac
exec slurmctld "$@"
TRIAL
chmod 755 $D/slurmctld
server=127.53.$((port / 256)).$((port % 256))
printf 'nameserver %s\noptions timeout:13 attempts:2\n' $server >$D/resolv.conf
mount --bind $D/resolv.conf /etc/resolv.conf
mount -t tmpfs -o size=4m,mode=777 tmpfs $D/tmp
perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => shift, LocalPort => 53, Proto => "udp") or die; sleep 600' \
  $server & names=$!

obstruct() { echo "$*" >$D/.obstacle; mv $D/.obstacle $D/obstacle; }
leave() { rm -f $D/tmp/rest; head -c $((4096 - $1))k /dev/zero >$D/tmp/rest; }
number=0
tries() { # a trial that is accepted, or tried again
  number=$((number + 1)); want t$number "# $1 $number
"
  await '*"wanted":"t'$number'","applied":@("t'$number'"|*"error"*"retryAt")*' "$1"
}

flags=(--slurmctld=$D/slurmctld); obstruct nothing; start; isApplied A
obstruct port; want port '# port
'; isRetried port; obstruct nothing; isApplied port; want A ''; isApplied A
obstruct killed; want killed '# killed
'; isRetried killed; obstruct nothing; isApplied killed; want A ''; isApplied A
leave 0; want full '# full
'; isRetried full; rm $D/tmp/rest; isApplied full; want A ''; isApplied A
want names 'NodeName=far NodeAddr=far.example CPUs=1
'; isRetried names; echo '127.0.0.1 far.example' >>/etc/hosts; isApplied names; want A ''; isApplied A
for kB in 4 8 12 16 24 32 48 64 96 128 256; do leave $kB; tries "$kB kB of $D/tmp are free"; done; rm $D/tmp/rest
for kB in 10000 20000 40000 60000 80000 100000 120000 140000 160000 200000 240000 320000 480000; do obstruct memory $kB; tries "$kB kB of memory"; done
for n in 3 4 5 6 8 9 10 12 16 24 32; do obstruct files $n; tries "$n files"; done
for n in 0 1 2 3 4 6 8 12; do obstruct processes $n; tries "$n more processes"; done
obstruct nothing; want A ''; isApplied A
scontrol ping; kill $agent $names; wait
`

// TestWhatImpedesATrialIsNoRefusal: a configuration is tried again, and accepted once the obstacle is gone.
func TestWhatImpedesATrialIsNoRefusal(t *testing.T) {
	forEachReleaseIfLong(t, func(t *testing.T, release string, tr trial) {
		out := runBesideAgent(t, tr, obstacleScript)
		if strings.Contains(out, "NEVER") || strings.Contains(out, "REFUSED") || !strings.Contains(out, " is UP") ||
			strings.Count(out, "is tried again") != 4 {
			t.Errorf("%s: what impedes a trial is taken for a refusal", release)
		}
	})
}
