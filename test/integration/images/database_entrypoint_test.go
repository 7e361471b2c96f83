package images

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeDatabase runs the entry point of the database image with programs that record their calls.
type fakeDatabase struct {
	*testing.T
	dir, script string
}

// fakeDatabasePrograms replace MariaDB's programs, with their folder in %[1]s. BREAK names the program that fails, or that kills the entry
// point.
var fakeDatabasePrograms = map[string]string{
	"mariadb-install-db": `mkdir "%[1]s/data/mysql" || exit 1
echo install >>"%[1]s/log"
if [ "$BREAK" = install ]; then exit 1; fi`,
	"mariadbd": `case "$*" in *--skip-networking*) ;; *) echo serve >>"%[1]s/log"; exit ;; esac
if [ "$BREAK" = server ]; then exit 1; fi
trap 'rm "%[1]s/answers"; exit 0' TERM
: >"%[1]s/answers"
while kill -0 $PPID 2>/dev/null; do sleep 0.1; done
rm "%[1]s/answers"`,
	"mariadb-admin": `test -e "%[1]s/answers"`,
	"mariadb": `case $BREAK in sql) exit 1 ;; before) kill -KILL $PPID ;; *) cat >"%[1]s/data/mysql/sql"; echo sql >>"%[1]s/log" ;; esac
if [ "$BREAK" = after ]; then kill -KILL $PPID; fi`,
}

func newFakeDatabase(t *testing.T) fakeDatabase {
	t.Helper()
	d := fakeDatabase{T: t, dir: t.TempDir()}
	d.script = filepath.Join(d.dir, "docker-entrypoint.sh")
	text, err := os.ReadFile(filepath.Join(root, "test", "images", "services", "files", "usr", "local", "bin", "docker-entrypoint.sh"))
	if err != nil {
		t.Fatal(err)
	}
	script := string(text)
	for old, replacement := range map[string]string{"data=/var/lib/mysql\n": "data=" + d.dir + "/data\n",
		"socket=/run/mysqld/mysqld.sock\n": "socket=" + d.dir + "/socket\n", "if ((EUID == 0)); then\n": "if false; then\n"} {
		if strings.Count(script, old) != 1 {
			t.Fatalf("the entry point does not have %q once", old)
		}
		script = strings.Replace(script, old, replacement, 1)
	}
	writeFile(t, d.script, script, 0o700)
	for name, program := range fakeDatabasePrograms {
		writeFile(t, filepath.Join(d.dir, name), "#!/bin/sh\n"+fmt.Sprintf(program, d.dir)+"\n", 0o700)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

// start runs the entry point, and returns what the programs did.
func (d fakeDatabase) start(broken string) (log string, err error) {
	d.Helper()
	writeFile(d.T, filepath.Join(d.dir, "log"), "", 0o600)
	cmd := exec.Command(d.script)
	cmd.Env = append(os.Environ(), "PATH="+d.dir+":"+os.Getenv("PATH"), "BREAK="+broken, "MARIADB_DATABASE=slurm_acct_db",
		"MARIADB_USER=slurm", "MARIADB_PASSWORD=secret", "MARIADB_RANDOM_ROOT_PASSWORD=yes")
	output, err := cmd.CombinedOutput()
	d.Logf("BREAK=%s: %v\n%s", broken, err, output)
	return strings.Join(strings.Fields(d.read("log")), " "), err
}

func (d fakeDatabase) read(name string) string {
	d.Helper()
	out, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		d.Fatal(err)
	}
	return string(out)
}

// expectServes starts the database, after which its data has the user.
func (d fakeDatabase) expectServes(want string) {
	d.Helper()
	if log, err := d.start(""); err != nil || log != want {
		d.Errorf("the start did %q: %v, want %q", log, err, want)
	}
	if sql := d.read("data/mysql/sql"); !strings.Contains(sql, "CREATE USER 'slurm'@'%' IDENTIFIED BY 'secret';") {
		d.Errorf("the user is missing: %s", sql)
	}
}

// TestTheDatabaseIsInitializedAgain after an initialization that did not end, as when the kubelet kills the container.
func TestTheDatabaseIsInitializedAgain(t *testing.T) {
	for _, tc := range []struct{ name, broken string }{
		{"the files cannot be made", "install"},
		{"the server ends", "server"},
		{"the statements fail", "sql"},
		{"the container is killed before the statements", "before"},
		{"the container is killed after the statements", "after"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newFakeDatabase(t)
			if log, err := d.start(tc.broken); err == nil || strings.Contains(log, "serve") {
				t.Fatalf("the first start did %q: %v", log, err)
			}
			d.expectServes("install sql serve")
			d.expectServes("serve")
		})
	}
}

// TestTheDatabaseKeepsItsData: no start but the first one initializes it. A volume may have a folder lost+found.
func TestTheDatabaseKeepsItsData(t *testing.T) {
	d := newFakeDatabase(t)
	if err := os.Mkdir(filepath.Join(d.dir, "data", "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(d.dir, "data", "other"), "kept", 0o600)
	d.expectServes("install sql serve")
	writeFile(t, filepath.Join(d.dir, "data", "mysql", "records"), "jobs", 0o600)
	d.expectServes("serve")
	if records, other := d.read("data/mysql/records"), d.read("data/other"); records != "jobs" || other != "kept" {
		t.Errorf("the records are %q, and the other file is %q", records, other)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "data", "lost+found")); err != nil {
		t.Error(err)
	}
}
