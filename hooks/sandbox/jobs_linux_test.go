package sandbox

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/coveyteam/covey/hooks/testkit"
)

var all = flag.Bool("all", false, "do also the jobs that take long, such as builds without a cache")

// job is ordinary work that must be possible in a box. Network off is what it must live with.
type job struct {
	name, program, script string
	slow                  bool
	// loopback means that it needs a server of its own, which level 1 does not allow without a network.
	loopback bool
}

var jobs = []job{
	{name: "build in Go", slow: true, program: "go", script: "cd g && go build ./... && go vet ./..."},
	{name: "test in Go", slow: true, program: "go", script: "cd g && go test -count=1 ./..."},
	{name: "test a server in Go", slow: true, program: "go", script: "cd h && go test -count=1 ./...", loopback: true},
	{name: "test a unix socket in Go", slow: true, program: "go", script: "cd u && go test -count=1 ./..."},
	{name: "test for races in Go", slow: true, program: "gcc", script: "cd g && CGO_ENABLED=1 go test -count=1 -race ./..."},
	{name: "test in Node", program: "npm", script: "cd n && npm test"},
	{name: "test a server in Node", program: "npm", script: "cd ns && npm test", loopback: true},
	{name: "threads in Node", program: "node", script: `node -e 'new (require("worker_threads").Worker)("1",{eval:true});require("os").networkInterfaces();require("os").cpus()'`},
	{name: "test in Python", program: "python3", script: "cd p && python3 -m unittest -q test_a.T.test_files"},
	{name: "processes in Python", program: "python3", script: "cd p && python3 -m unittest -q test_a.T.test_pool"},
	{name: "environments of Python", program: "python3", script: "python3 -m venv --without-pip v && v/bin/python -c 1"},
	{name: "compile in C", program: "gcc", script: "make -s -B && ./a"},
	{name: "test in Rust", program: "cargo", script: "cd r && cargo test -q --offline"},
	{name: "shell", program: "bash", script: `bash -ec 'cat <(echo a) <<<b; echo x >/dev/null; echo e >/dev/stderr; diff <(echo 1) <(echo 1); t=$(mktemp); rm $t
		ps >/dev/null; kill -0 $$; sleep 0.01 & wait; nproc; df . >/dev/null; date; id; hostname'`},
	{name: "a terminal", program: "script", script: "script -qec tty /dev/null"},
	{name: "follow a file", program: "tail", script: `echo one >log; tail -f log >out & until grep -q one out; do sleep 0.01; done
		echo two >>log; until grep -q two out; do sleep 0.01; done; kill $!`},
	{name: "archives and permissions", program: "tar", script: `tar cf x.tar g n && tar tf x.tar >/dev/null && sed -i s/a/a/ c.c && find . -name '*.go' | xargs grep -l Add
		touch -t 202001010000 c.c && chmod 755 c.c && cp -a g g3 && rm -r g3`},
	{name: "move between grants", program: "mv", script: "mkdir -p d && echo x >d/f && mv d $TMPDIR/d && mv $TMPDIR/d e && cat e/f"},
	{name: "git", program: "git", script: `git init -q -b main w && cd w && git config user.name a && git config user.email a@example.com
		echo 1 >f && git add f && git commit -qm 1 && git branch b && echo 2 >f && git stash -q && git stash pop -q && git commit -qam 2
		git tag t && git switch -q b && git rebase -q main && git worktree add -q ../w2 -b c && git notes add -m n && git gc -q && git pack-refs --all
		git clone -q --shared . ../w3 && git -C ../w3 log --oneline && git fsck`},
	{name: "a browser", slow: true, program: "chromium", script: "timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir=$TMPDIR/cr --dump-dom data:text/html,hi"},
}

// jobFiles are what the jobs work on.
var jobFiles = txtar.Parse([]byte(`
-- g/go.mod --
module m
go 1.26
-- h/go.mod --
module m
go 1.26
-- u/go.mod --
module m
go 1.26
-- g/m.go --
package m
func Add(a, b int) int { return a + b }
-- g/m_test.go --
package m
import ("testing";"os";"os/exec")
func TestAdd(t *testing.T) { if Add(1,2)!=3 { t.Fatal() }; os.WriteFile(t.TempDir()+"/x", nil, 0o600); if err := exec.Command("true").Run(); err != nil { t.Fatal(err) } }
-- h/h_test.go --
package h
import ("testing";"net/http";"net/http/httptest")
func TestServe(t *testing.T) { s := httptest.NewServer(http.NotFoundHandler()); defer s.Close(); r, err := http.Get(s.URL); if err != nil { t.Fatal(err) }; r.Body.Close() }
-- u/u_test.go --
package u
import ("testing";"net")
func TestUnix(t *testing.T) { l, err := net.Listen("unix", t.TempDir()+"/s"); if err != nil { t.Fatal(err) }; defer l.Close(); c, err := net.Dial("unix", l.Addr().String()); if err != nil { t.Fatal(err) }; c.Close() }
-- n/package.json --
{"name":"n","version":"1.0.0","scripts":{"test":"node --test"}}
-- ns/package.json --
{"name":"n","version":"1.0.0","scripts":{"test":"node --test"}}
-- n/a.test.js --
const t=require('node:test'),a=require('node:assert'),cp=require('child_process'),fs=require('fs'),os=require('os');
t('one',()=>{a.equal(cp.execSync('echo hi').toString(),'hi\n'); fs.mkdtempSync(os.tmpdir()+'/x')});
-- ns/b.test.js --
const t=require('node:test'),http=require('http');
t('serve',(c,done)=>{const s=http.createServer((q,r)=>r.end('x')).listen(0,'127.0.0.1',()=>http.get({port:s.address().port,host:'127.0.0.1'},r=>{r.resume();s.close();done()}))});
-- p/test_a.py --
import unittest,tempfile,subprocess,multiprocessing,sqlite3
def sq(x): return x*x
class T(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as d: open(d+"/x","w").write("1"); sqlite3.connect(d+"/db").execute("create table t(a)")
        subprocess.check_call(["true"])
    def test_pool(self):
        with multiprocessing.Pool(2) as p: self.assertEqual(p.map(sq,[1,2]),[1,4])
-- c.c --
#include <stdio.h>
int main(){puts("x");return 0;}
-- Makefile --
a: c.c
	cc -o a c.c
-- r/Cargo.toml --
[package]
name="r"
version="0.1.0"
edition="2021"
-- r/src/main.rs --
fn main(){println!("1");} #[test] fn t(){}
`))

// Ordinary work is possible in a box without a network, at both levels. A job whose program is not
// here is skipped, and so is one that fails without a box, too.
func TestJobs(t *testing.T) {
	for _, level := range []Level{Files, Mounts} {
		dir, err := os.MkdirTemp("/var/tmp", "covey-jobs-") // not /dev/shm, which is granted here
		testkit.Must(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		files := map[string]string{"tmp/x": "", "cache/x": ""}
		for _, f := range jobFiles.Files {
			files["work/"+f.Name] = string(f.Data)
		}
		for name, text := range files {
			testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			testkit.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		b := box(t, at(t, level), Policy{Network: NetworkOff, Read: tools()}, dir+"/work", dir+"/tmp", dir+"/cache", "/dev/shm")
		env := append(os.Environ(), "TMPDIR="+dir+"/tmp", "HOME="+dir+"/tmp", "GOCACHE="+dir+"/cache", "GOFLAGS=-mod=mod", "GOPROXY=off",
			"PATH="+pathOfTools(), "RUSTUP_HOME="+os.Getenv("HOME")+"/.rustup")
		for _, j := range jobs {
			t.Run(fmt.Sprint(level, " ", j.name), func(t *testing.T) {
				if j.slow && !*all {
					t.Skip("it takes long; -all does it")
				}
				if _, err := exec.LookPath(j.program); err != nil {
					t.Skip(err)
				}
				do := func(b *Box) (string, error) {
					var out strings.Builder
					cmd := exec.Command("/bin/sh", "-ec", j.script)
					cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir+"/work", env, &out, &out
					s, err := b.Start(cmd)
					if err != nil {
						return "", err
					}
					defer s.Close()
					return out.String(), cmd.Wait()
				}
				out, err := do(b)
				if fails := err != nil; fails == (j.loopback && level == Files) {
					return
				}
				if err == nil {
					t.Error("it has reached its own server, which docs deny")
				} else if _, plain := do(nil); plain != nil {
					t.Skipf("it fails without a box, too: %v", plain)
				} else {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}

// pathOfTools is the PATH without shims, which would need more of the user's home.
func pathOfTools() string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(d string) bool {
		return strings.Contains(d, "shims")
	}), ":")
}

// tools are the folders of programs on the PATH that are not the system's.
func tools() (all []string) {
	for _, name := range []string{"go", "cargo", "node", "python3"} {
		if path, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				all = append(all, filepath.Dir(filepath.Dir(real)), filepath.Dir(path))
			}
		}
	}
	return append(all, os.Getenv("HOME")+"/.rustup")
}
