package teamhooks_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/process"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// What a hook has found is stored: whenever covey is killed, its member is told of
// it once. What hooks have left running is ended by the next run.
func TestHooksInTheBackgroundAndKills(t *testing.T) {
	t.Parallel()
	step := 3
	if *teamtest.AllRounds {
		step = 1
	}
	for lines := 9; lines < 18; lines += step { // the hook ends behind about the thirteenth
		t.Run(fmt.Sprint(lines), func(t *testing.T) { killedBehind(t, lines) })
	}
}

// killedBehind kills a team after so many lines of its journal, and looks at what
// its next run makes of it.
func killedBehind(t *testing.T, lines int) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": strings.Replace(behindSpec("SessionStart", "{type: command, command: ./review.sh, asyncRewake: true}"),
			"]\n", ", {type: command, command: ./endless.sh, async: true}]\n", 1),
		"review.sh": "#!/bin/sh\nif [ -e found ]; then exit 0; fi\nwhile ! [ -s " + pidFile +
			" ]; do sleep 0.01; done\nsleep 0.2\ntouch found\necho stored >&2\nexit 2\n",
		"endless.sh": "#!/bin/sh\nif [ -s " + pidFile + " ]; then exit 0; fi\necho $$ > " + pidFile + "\nexec sleep 303\n",
		"lead.yaml": `steps:
  - {when: "blocking error.*stored", say: I have read it.}
  - {when: Ship it, say: Later.}
  - {say: Hm., times: -1}
`,
	})
	place := r.Orchestrator(orchestrator.Options{}).Place()
	// The journal says that a hook has started before it is a process: a kill in between
	// would leave none.
	pid := 0
	if r.RunAndKill(lines, func() { pid = testkit.WaitForPID(t, pidFile) }) {
		t.Fatal("the team ended before it was killed")
	}
	before := testkit.Read(t, place.Journal())
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if p, err := process.Read(pid); err == nil && !p.Zombie {
		t.Errorf("process %d still runs", pid)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	stored := 0
	for line := range strings.Lines(testkit.Read(t, place.Journal())) {
		if strings.Contains(line, `"type":"message"`) && strings.Contains(line, `"kind":"hook"`) {
			stored++
		}
	}
	found, err := filepath.Glob(filepath.Join(place.Transcripts(), "lead", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	shown := 0
	for line := range strings.Lines(testkit.Read(t, found[0])) {
		if strings.Contains(line, `"type":"user"`) {
			shown += strings.Count(line, "stored")
		}
	}
	// A hook that was killed before it had found anything begins anew. What the
	// journal says that it has found is in the mailbox.
	told := strings.Contains(before, `"outcome":"blocking"`)
	if stored > 1 || shown != stored || told && stored == 0 {
		t.Errorf("stored %d times, shown %d times, told of %v", stored, shown, told)
	}
}
