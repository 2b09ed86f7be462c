package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coveyteam/covey/hooks/proc"
)

// scriptPatience is how long a script waits for something to happen. It is for what hangs: a
// busy machine may need much longer than a quiet one.
const scriptPatience = 2 * time.Minute

// setUpScript gives each script a state home of its own, and ends whatever team
// a failed script leaves running.
func setUpScript(env *testscript.Env) error {
	home := env.WorkDir + "/.state"
	env.Setenv("COVEY_STATE_HOME", home)
	env.Setenv("XDG_RUNTIME_DIR", "")
	env.Setenv("NO_COLOR", "1")
	// Where covey is, for scripts in which nothing else of the machine may be.
	env.Setenv("COVEYBIN", filepath.SplitList(env.Getenv("PATH"))[0])
	env.Defer(func() {
		killTeams(home)
		proc.KillMarked("COVEY_STATE_HOME=" + home) // what a failed script has left
	})
	return nil
}

// killTeams kills the teams that run in a state home, and waits until their processes and
// those of teams that have just ended are gone: until then they write there.
func killTeams(home string) {
	files, err := filepath.Glob(home + "/*/run.json")
	if err != nil {
		return
	}
	for _, file := range files {
		var run struct {
			PID    int
			Result *struct{}
		}
		data, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(data, &run) != nil || run.PID <= 1 {
			continue
		}
		p, err := os.FindProcess(run.PID)
		if err != nil {
			continue
		}
		if run.Result == nil {
			_ = p.Kill()
		}
		for end := time.Now().Add(time.Minute); lives(p) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// lives says whether a process of somebody else's still runs. One that nobody has waited
// for yet does not.
func lives(p *os.Process) bool {
	if p.Signal(syscall.Signal(0)) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// scriptCommands are what scripts can do beside running covey.
func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exit":       scriptExit,
		"eventually": scriptEventually,
		"killteam":   scriptKillTeam,
		"jsonlines":  scriptJSONLines,
		"setenvfrom": scriptSetenvFrom,
	}
}

// scriptExit is `exit CODE COMMAND...`: the command must end with that code.
func scriptExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE COMMAND...")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = exitStatus(err)
	}
	if got != args[0] {
		ts.Fatalf("%v ended with code %s, want %s", args[1:], got, args[0])
	}
}

// exitStatus is the code with which a command ended.
func exitStatus(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}

// scriptEventually is `eventually TEXT COMMAND...`: run the command until its
// output holds TEXT. It rests longer than the command takes, or what is waited for would
// get half of the machine.
func scriptEventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually TEXT COMMAND...")
	}
	for end := time.Now().Add(scriptPatience); time.Now().Before(end); {
		began := time.Now()
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		time.Sleep(min(max(3*time.Since(began), 20*time.Millisecond), 500*time.Millisecond))
	}
	ts.Fatalf("%v never printed %q, but\n%s%s", args[1:], args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
}

// scriptKillTeam is `killteam`: kill -9 the teams of this script.
func scriptKillTeam(ts *testscript.TestScript, _ bool, _ []string) {
	killTeams(ts.Getenv("COVEY_STATE_HOME"))
}

// scriptJSONLines is `jsonlines FILE`: the file holds JSON objects, one a line,
// with rising seq, and nothing else.
func scriptJSONLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonlines FILE")
	}
	last := uint64(0)
	for i, text := range bytes.Split(bytes.TrimSuffix([]byte(ts.ReadFile(args[0])), []byte("\n")), []byte("\n")) {
		var line struct {
			Seq  uint64
			Type string
		}
		if err := json.Unmarshal(text, &line); err != nil || line.Type == "" || line.Seq <= last {
			ts.Fatalf("line %d is no line of a journal behind %d (%v): %s", i+1, last, err, text)
		}
		last = line.Seq
	}
}

// scriptSetenvFrom is `setenvfrom NAME FIELD`: set a variable to a field of the
// JSON object that was printed last.
func scriptSetenvFrom(ts *testscript.TestScript, neg bool, args []string) {
	var object map[string]any
	if neg || len(args) != 2 || json.Unmarshal([]byte(ts.ReadFile("stdout")), &object) != nil {
		ts.Fatalf("usage: setenvfrom NAME FIELD, after a command that printed a JSON object")
	}
	text, err := json.Marshal(object[args[1]])
	ts.Check(err)
	ts.Setenv(args[0], strings.Trim(string(text), `"`))
}
