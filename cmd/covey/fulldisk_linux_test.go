package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullDiskScript runs a team on a small file system of its own, which is full soon,
// and once more with room.
const fullDiskScript = `mount -t tmpfs -o size=24m tmpfs state || exit 77
head -c 23100000 /dev/zero > state/ballast
covey up --trust > first.out 2> first.err; echo $? > first.code
covey tasks list --json > between.json; echo $? > between.code
rm state/ballast
covey up --trust > second.out 2> second.err; echo $? > second.code
covey tasks list --json > after.json
cat state/full-*/transcripts/lead/*.jsonl > lead.jsonl
`

// TestFullDiskOfTheState (ADVERSARIAL 19): a team whose state folder's disk is full ends
// with code 1 and clear words, can be looked at, and goes on once there is room. It
// waits its ten seconds for room, so it is for the long run.
func TestFullDiskOfTheState(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for ten seconds")
	}
	t.Parallel() // it waits more than it works
	dir := t.TempDir()
	const tasks = 40
	for name, text := range fullDiskTeam(tasks) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := onSmallDisk(t, dir, fullDiskScript)
	if said("first.code") != "1\n" || !strings.Contains(said("first.err"), "no space left on device") ||
		!strings.Contains(said("first.err"), "make room") {
		t.Errorf("on a full disk it ended with %s%s\n%s", said("first.code"), said("first.err"), said("first.out"))
	}
	if said("between.code") != "0\n" || !strings.Contains(said("between.json"), `"subject": "t0"`) {
		t.Errorf("it cannot be looked at: %s%.200s", said("between.code"), said("between.json"))
	}
	if said("second.code") != "0\n" {
		t.Errorf("with room it ended with %s%s\n%s", said("second.code"), said("second.out"), said("second.err"))
	}
	refused := refusedCreates(t, said("lead.jsonl"))
	for i := range tasks {
		subject, want := fmt.Sprintf("t%d", i), 1
		if refused[subject] {
			want = 0
		}
		if n := strings.Count(said("after.json"), `"subject": "`+subject+`"`); n != want {
			t.Errorf("task %s is there %d times, want %d", subject, n, want)
		}
	}
	if n := strings.Count(said("after.json"), `"status": "completed"`); n != tasks-len(refused) {
		t.Errorf("%d of %d tasks are completed", n, tasks-len(refused))
	}
}

// nodeDiskScript runs a team whose member sits on a node with a small file system of its own, which is full while the
// member works.
const nodeDiskScript = `mount -t tmpfs -o size=64m tmpfs state || exit 77
until_it() { n=0; until "$@"; do n=$((n+1)); [ $n -lt 1200 ] || { echo "$*" >>hung; return; }; sleep .1; done; }
export HOME=$PWD
covey nats --trial --team crew --dir servers --node big >bus 2>servers.err & trial=$!
until_it grep -q creds bus
cat team bus >one/team.yaml
git init -q --bare -b main origin.git; git init -q -b main one; cd one; git add .; git commit -qm files
git remote add origin ../origin.git; git push -q origin main; cd ..
covey node --creds servers/big.creds --trust >node.out 2>&1 & node=$!
export COVEY_STATE_HOME=$PWD/home
covey -C one up --trust >up.out 2>&1 & up=$!
until_it test -e began
head -c 100m /dev/zero >state/ballast 2>/dev/null
touch full
until_it grep -q 'goes on once there is room' node.out
covey -C one nodes >nodes.out
rm state/ballast
wait $up; echo $? >code
kill $node $trial; wait
git -C origin.git log --format=%s main >merged
`

// TestFullDiskOfANode: a node whose disk is full says so on both sides and carries nobody. Its members do not fail: they
// go on once there is room, and nothing is done twice.
func TestFullDiskOfANode(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for many seconds")
	}
	t.Parallel() // it waits more than it works
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "one"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		".gitconfig":    "[user]\nname = a\nemail = a@example.com\n",
		"one/lead.yaml": "steps: [{say: Fine., times: -1}]\n",
		"one/worker.sh": fmt.Sprintf(`id=$(grep -o '#[0-9]*' | head -n 1 | tr -d '#')
[ "$id" ] || exit 0
touch %[1]s/began
until [ -e %[1]s/full ]; do sleep .1; done
until [ -f work-$id ] && git diff --quiet HEAD work-$id; do echo $id >work-$id && git add work-$id && git commit -qm "task $id" || sleep .5; done
covey tasks update $id --status completed
`, dir),
		"team": `covey: 1
name: crew
goal: Work.
models: {lead: {provider: script, script: lead.yaml}}
agents: {worker: {use: command, command: [sh, worker.sh]}}
lead: {model: lead}
merge: {into: main}
nodes: {big: {}}
teammates: {dev: {agent: worker, on: [big]}}
tasks: [{id: a, subject: Do it, owner: dev}, {id: b, subject: Do it too, owner: dev}]
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said := onSmallDisk(t, dir, nodeDiskScript)
	show := func() string { return said("node.out") + said("up.out") + said("nodes.out") }
	if said("code") != "0\n" {
		t.Errorf("covey up ended with %s\n%s", said("code"), show())
	}
	const full = "state/nodes/crew.big is full"
	if !strings.Contains(said("node.out"), full+"; node big goes on once there is room") || !strings.Contains(said("up.out"), full) ||
		!strings.Contains(said("nodes.out"), full) {
		t.Errorf("of the full disk is said\n%s", show())
	}
	for _, task := range []string{"Merge task 1: ", "Merge task 2: "} {
		if strings.Count(said("merged"), task) != 1 {
			t.Errorf("merged is\n%s\n%s", said("merged"), show())
		}
	}
	if hung, err := os.ReadFile(filepath.Join(dir, "hung")); err == nil {
		t.Errorf("it hung until %s\n%s", hung, show())
	}
}

// onSmallDisk runs a script in dir, with file systems of its own, and gives what its
// files hold afterwards.
func onSmallDisk(t *testing.T, dir, script string) (said func(name string) string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "COVEY_STATE_HOME="+filepath.Join(dir, "state"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no private file system here: %v %s", err, out)
	}
	return func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// TestFullDiskAtOnce: a disk on which not even the first folder has room is told of in
// the same words, wherever the run comes to its end.
func TestFullDiskAtOnce(t *testing.T) {
	t.Parallel()
	for inodes := 1; inodes < 12; inodes += 2 { // tmpfs counts the folder itself
		dir := t.TempDir()
		for name, text := range fullDiskTeam(1) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		said := onSmallDisk(t, dir, fmt.Sprintf("mount -t tmpfs -o nr_inodes=%d tmpfs state || exit 77\n"+
			"covey up --trust > out 2> err; echo $? > code\n", inodes))
		if said("code") != "1\n" || !strings.Contains(said("err"), "no space left on device; make room and run covey up again") {
			t.Errorf("with %d inodes it ended with %s%s", inodes, said("code"), said("err"))
		}
	}
}

// refusedCreates are the subjects of the tasks whose creation the full disk refused:
// the lead was told so, and the script does not try again. The lead's transcript says
// it: the journal, on the same full disk, may have lost the line.
func refusedCreates(t *testing.T, transcript string) map[string]bool {
	t.Helper()
	called, refused := map[string]string{}, map[string]bool{}
	for text := range strings.Lines(transcript) {
		var l struct {
			Message struct {
				Content []struct {
					ID        string                   // of a call
					Input     struct{ Subject string } // of a call
					ToolUseID string                   `json:"tool_use_id"`
					Content   string
					IsError   bool `json:"is_error"`
				}
			}
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		for _, b := range l.Message.Content {
			called[b.ID] = b.Input.Subject
			if !b.IsError {
				continue
			}
			// The full disk may have ended the turn before the call was made.
			if !strings.Contains(b.Content, "no space left") && b.Content != "interrupted" {
				t.Errorf("the task %s was refused with %q", called[b.ToolUseID], b.Content)
			}
			refused[called[b.ToolUseID]] = true
		}
	}
	return refused
}

// fullDiskTeam makes large tasks and does them.
func fullDiskTeam(tasks int) map[string]string {
	var lead, dev strings.Builder
	lead.WriteString("steps:\n")
	dev.WriteString("steps:\n")
	for i := range tasks {
		fmt.Fprintf(&lead, "  - call: [{tool: TaskCreate, input: {subject: t%d, description: \"%s\"}}]\n",
			i, strings.Repeat("x", 21_000))
		fmt.Fprintf(&dev, `  - when: '(?s)(claimed task|own open tasks.*) ?#%[1]d\b'
    call: [{tool: TaskUpdate, input: {taskId: "%[1]d", status: completed}}]
    times: -1
`, i+1)
	}
	lead.WriteString("  - {say: Noted., times: -1}\n")
	dev.WriteString("  - {say: Fine., times: -1}\n")
	return map[string]string{"lead.yaml": lead.String(), "dev.yaml": dev.String(), "team.yaml": `covey: 1
name: full
goal: Fill it.
models: {lead: {provider: script, script: lead.yaml}, dev: {provider: script, script: dev.yaml}}
lead: {model: lead}
teammates: {dev: {model: dev}}
`}
}
