package orchestrator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a hook has found is stored: however often covey is killed, its member is
// told of it once. What hooks have left running is ended by the next run.
func TestHooksInTheBackgroundAndKills(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	r := newRig(t, map[string]string{
		"team.yaml": strings.Replace(behindSpec("SessionStart", "{type: command, command: ./review.sh, asyncRewake: true}"),
			"]\n", ", {type: command, command: ./endless.sh, async: true}]\n", 1),
		"review.sh":  "#!/bin/sh\nif [ -e found ]; then exit 0; fi\ntouch found\nsleep 0.2\necho stored >&2\nexit 2\n",
		"endless.sh": "#!/bin/sh\nif [ -s " + pidFile + " ]; then exit 0; fi\necho $$ > " + pidFile + "\nexec sleep 303\n",
		"lead.yaml": `steps:
  - {when: "\\[./review.sh\\]: stored", say: I have read it.}
  - {when: Ship it, say: Later.}
  - {say: Hm., times: -1}
`,
	})
	place := r.orchestrator(Options{}).Place()
	for lines := 14; ; lines-- { // each kill comes earlier in its run, around the moment of the mail
		if ended, _ := r.runAndKill(max(lines, 2)); ended || lines < 3 {
			break
		}
		if lines == 14 {
			defer func(pid int) {
				if p, err := readProcess(pid); err == nil && !p.zombie {
					t.Errorf("process %d still runs", pid)
					_ = unix.Kill(pid, unix.SIGKILL)
				}
			}(waitForPID(t, pidFile))
		}
	}
	r.want(r.run(Options{}), CodeDone, "all work")
	stored := 0
	for line := range strings.Lines(readAll(t, place.Journal())) {
		if strings.Contains(line, `"type":"message"`) && strings.Contains(line, `"kind":"hook"`) {
			stored++
		}
	}
	found, err := filepath.Glob(filepath.Join(place.Transcripts(), "lead", "*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	shown := 0
	for line := range strings.Lines(readAll(t, found[0])) {
		if strings.Contains(line, `"type":"user"`) {
			shown += strings.Count(line, "[./review.sh]: stored")
		}
	}
	if stored > 1 || shown != stored {
		t.Errorf("stored %d times, shown %d times", stored, shown)
	}
	t.Logf("stored %d times", stored)
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
