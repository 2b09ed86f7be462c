package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTrustOfScripts: a script that changes is asked about however its gate names
// it. Of one whose name covey cannot tell, its folder counts.
func TestTrustOfScripts(t *testing.T) {
	for gate, changed := range map[string]string{
		`"./my gates/a b.sh"`:                 "my gates/a b.sh",
		"cd gates && ./g.sh":                  "gates/g.sh",
		`"$PWD/gates/g.sh"`:                   "gates/g.sh",
		"$COVEY_WORKSPACE/gates/g.sh":         "gates/g.sh",
		"${CLAUDE_PROJECT_DIR:-.}/gates/g.sh": "gates/g.sh",
		"for g in gates/*.sh; do sh $g; done": "gates/new.sh",
		"python3 -X dev x.py":                 "x.py",
		"awk -f p.awk data.txt":               "p.awk",
		`sh "gates/$WHICH"`:                   "gates/lib/deep.txt",
	} {
		dir, load := trustRig(t)
		for _, name := range []string{"my gates/a b.sh", "gates/g.sh", "x.py", "p.awk"} {
			put(t, dir, name, "#!/bin/sh\n")
		}
		data := filepath.Join(dir, "data.txt")
		if err := os.WriteFile(data, []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		spec := strings.Replace(trustFiles["team.yaml"], "./check.sh", "'"+strings.ReplaceAll(gate, "'", "''")+"'", 1)
		put(t, dir, "team.yaml", spec)
		team := load()
		mustTrust(t, team)
		if err := os.WriteFile(data, []byte("other\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := mustCheck(t, team); !r.Trusted {
			t.Errorf("%s: a file that is data makes it untrusted: %+v", gate, r.Changes)
		}
		put(t, dir, changed, "#!/bin/sh\nexit 1\n")
		if r := mustCheck(t, team); r.Trusted {
			t.Errorf("%s: %s has changed and nobody is asked", gate, changed)
		}
	}
}
