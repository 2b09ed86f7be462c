package recordings_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/orchestrator/teamtest"
	"github.com/coveyteam/covey/teammate/script"
)

// recordedSpec is a team of models of three APIs at one host and of a script, with a prompt hook and a helper.
const recordedSpec = `covey: 1
name: crew
goal: Ship it.
defaults: {permission_mode: bypassPermissions, isolation: shared}
models:
  lead: {provider: script, script: lead.yaml}
  ana: {provider: anthropic, model: ana, base_url: %[1]q, key_file: key}
  ben: {provider: openai, model: ben, base_url: "%[1]s/v1", key_file: key}
  cem: {provider: openai, model: cem, base_url: "%[1]s/v1", api: responses, key_file: key}
lead: {model: lead}
teammates: {ana: {model: ana}, ben: {model: ben}, cem: {model: cem}}
tasks: [{id: a, subject: One, owner: ana}, {id: b, subject: Two, owner: ben}, {id: c, subject: Three, owner: cem}]
hooks: {Stop: [{hooks: [{type: prompt, prompt: "Is it good? $ARGUMENTS"}]}]}
`

// memberScript is what a member of recordedSpec does with its task. Its path is that of its own workspace.
const memberScript = `
steps:
  - {say: I begin., call: [{tool: TaskUpdate, input: {taskId: "%[1]s", status: in_progress}}, {tool: Bash, input: {command: "date; pwd; echo $RANDOM > %[2]s/made-%[1]s"}}]}
  - {say: It is made., call: [{tool: SendMessage, input: {to: lead, message: "Task %[1]s is made.", summary: made}}, {tool: TaskUpdate, input: {taskId: "%[1]s", status: completed}}]}
  - {say: Done with the key sk-ant-REDACTED., times: -1}
helpers: [{when: good, steps: [{say: '{"ok": true}', times: -1}]}]
`

// newRecordedRig returns a rig of recordedSpec and the server of its models, whose scripts name the workspace.
func newRecordedRig(t *testing.T) (*teamtest.Rig, *httptest.Server) {
	t.Helper()
	scripts := map[string]*script.Script{}
	web := httptest.NewUnstartedServer(nil)
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": fmt.Sprintf(recordedSpec, "http://"+web.Listener.Addr().String()), "key": "a-very-secret-key",
		"lead.yaml": "steps: [{say: Fine., times: -1}]\nhelpers: [{when: good, steps: [{say: '{\"ok\": true}', times: -1}]}]\n",
	})
	for i, name := range []string{"ana", "ben", "cem"} {
		text := fmt.Sprintf(memberScript, fmt.Sprint(i+1), r.Dir)
		s, err := script.Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		scripts[name] = s
	}
	server, err := script.NewServer(scripts, nil)
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = server
	web.Start()
	t.Cleanup(web.Close)
	return r, web
}

// sameButFor matches what differs between two runs in the lines of the journal.
var sameButFor = regexp.MustCompile(`"(?:seq|time|store|id|tool_use_id|uuid|duration_ms|session_id|session|ms|at|sent|begun|created|updated)":("[^"]*"|[\d.]+),?|` +
	`\d{4}-\d\d-\d\dT[\d:.]+Z|\d+(\.\d+)?m?s\b|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+.*20\d\d|[0-9A-Z]{26}`)

// linesOf returns the lines of a run that are of a member, without what differs between runs.
func linesOf(r *teamtest.Rig, member string) []string {
	var list []string
	for _, l := range r.Lines.All() {
		if l.Member == member && l.Type != "text_draft" {
			text := strings.ReplaceAll(fmt.Sprintf("%s %d %s", l.Type, l.Turn, l.Data), r.Dir, "DIR")
			list = append(list, sameButFor.ReplaceAllString(text, ""))
		}
	}
	return list
}

// TestRecordAndReplay: a run of covey's own agent, at hosts of all APIs and with a script, with hooks that ask
// models, is replayed in another folder without hosts, scripts' servers and keys. Each member does the same,
// its tools work for real, and no secret is in the files.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	r, web := newRecordedRig(t)
	tape := filepath.Join(t.TempDir(), "tape")
	e := r.Run(orchestrator.Options{Record: tape})
	r.Want(e, orchestrator.CodeDone, "")
	web.Close()
	files, err := filepath.Glob(filepath.Join(tape, "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("the recording has %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"a-very-secret-key", "sk-ant-api03-", r.Dir} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s has %q", file, secret)
			}
		}
	}

	again, other := newRecordedRig(t)
	other.Close()
	again.Run(orchestrator.Options{Replay: tape})
	for i, name := range []string{"lead", "ana", "ben", "cem"} {
		if was, is := linesOf(r, name), linesOf(again, name); !slices.Equal(was, is) {
			t.Errorf("%s did\n%s\nand now\n%s", name, strings.Join(was, "\n"), strings.Join(is, "\n"))
		}
		if i > 0 && again.Read(fmt.Sprintf("made-%d", i)) == "" {
			t.Errorf("%s has made nothing", name)
		}
	}
}

// TestReplayOfClaims: members that want the same task, and those that are given tasks without an owner, get them in the
// order of the recording, though they come to it in another order.
func TestReplayOfClaims(t *testing.T) {
	t.Parallel()
	const member = `steps:
  - {say: I begin., call: [{tool: Bash, input: {command: "sh wait.sh %[1]s"}}, {tool: TaskUpdate, input: {taskId: "3", status: in_progress}}, {tool: Bash, input: {command: "touch %[1]s-claimed"}}]}
  - {call: [{tool: TaskUpdate, input: {taskId: "%[2]s", status: completed}}%[3]s]}
  - {say: Done., times: -1}
`
	run := func(wait string, opts orchestrator.Options) *teamtest.Rig {
		r := teamtest.NewRig(t, map[string]string{
			"team.yaml": `covey: 1
name: crew
goal: Ship it.
defaults: {permission_mode: bypassPermissions, isolation: shared}
models: {lead: {provider: script, script: lead.yaml}, ana: {provider: script, script: ana.yaml}, ben: {provider: script, script: ben.yaml}}
lead: {model: lead}
teammates: {ana: {model: ana}, ben: {model: ben}}
tasks: [{id: a, subject: One}, {id: b, subject: Two}, {id: c, subject: Three}]
`,
			"lead.yaml": "steps: [{say: Fine., times: -1}]\n",
			"ana.yaml":  fmt.Sprintf(member, "ana", "1", ""),
			"ben.yaml":  fmt.Sprintf(member, "ben", "2", `, {tool: TaskUpdate, input: {taskId: "3", status: completed}}`),
			"wait.sh":   wait,
		})
		r.Want(r.Run(opts), orchestrator.CodeDone, "")
		return r
	}
	tape := filepath.Join(t.TempDir(), "tape")
	was := run("[ $1 = ben ] || until [ -e ben-claimed ]; do sleep 0.01; done", orchestrator.Options{Record: tape})
	is := run("[ $1 = ana ] && touch came; until [ -e came ]; do sleep 0.01; done", orchestrator.Options{Replay: tape})
	for _, name := range []string{"lead", "ana", "ben"} {
		if was, is := linesOf(was, name), linesOf(is, name); !slices.Equal(was, is) {
			t.Errorf("%s did\n%s\nand now\n%s", name, strings.Join(was, "\n"), strings.Join(is, "\n"))
		}
	}
}

// TestReplayOfMailThatIsNotSent: a member whose mail of the recording is not sent does not wait for ever: when nobody
// else works its request is a miss, which names the mail.
func TestReplayOfMailThatIsNotSent(t *testing.T) {
	t.Parallel()
	r, _ := newRecordedRig(t)
	tape := filepath.Join(t.TempDir(), "tape")
	r.Want(r.Run(orchestrator.Options{Record: tape}), orchestrator.CodeDone, "")
	again, _ := newRecordedRig(t)
	again.Rewrite("team.yaml", "{ana: {model: ana}", "{ana: {model: ana, permissions: {deny: [SendMessage]}}")
	again.Run(orchestrator.Options{Replay: tape})
	ends := linesOf(again, "lead")
	if !slices.ContainsFunc(ends, func(l string) bool {
		return strings.Contains(l, `Task 1 is made.\" first, which nobody has sent now`) || strings.Contains(l, `Task 1 is made." first, which nobody has sent now`)
	}) {
		t.Errorf("the lead's lines:\n%s", strings.Join(ends, "\n"))
	}
}

// TestReplayMiss: a request that was not recorded ends the turn with model_error, and the nearest recorded one and
// the first difference are named. A run that continues an earlier one is neither recorded nor replayed.
func TestReplayMiss(t *testing.T) {
	t.Parallel()
	r, _ := newRecordedRig(t)
	tape := filepath.Join(t.TempDir(), "tape")
	r.Run(orchestrator.Options{Record: tape})
	again, _ := newRecordedRig(t)
	again.Rewrite("team.yaml", "subject: Two", "subject: Zwei")
	again.Run(orchestrator.Options{Replay: tape})
	want := regexp.MustCompile(`the recording of ben has no such request; the nearest is request 1 of \d+: item 2 \(a text of the user\) has ".*Zwei.*", recorded was ".*Two`)
	ends := linesOf(again, "ben")
	if !slices.ContainsFunc(ends, func(l string) bool { return strings.Contains(l, `"reason":"model_error"`) }) ||
		!slices.ContainsFunc(ends, func(l string) bool { return want.MatchString(strings.ReplaceAll(l, `\"`, `"`)) }) {
		t.Errorf("ben's lines:\n%s", strings.Join(ends, "\n"))
	}
	_, err := again.Orchestrator(orchestrator.Options{Replay: tape}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "add --fresh") {
		t.Errorf("a second run: %v", err)
	}
	if n, err := recordings.Check(tape, func(text string) string { return text }); n != 4 || err != nil {
		t.Errorf("%d recordings, %v", n, err)
	}
}

// TestGatewayOfOwnAgent: with a gateway, a member with covey's own agent asks no model that the spec does not allow.
func TestGatewayOfOwnAgent(t *testing.T) {
	t.Parallel()
	r, _ := newRecordedRig(t)
	r.Rewrite("team.yaml", "lead: {model: lead}", "gateway: {models: [\"anthropic/*\", cem]}\nlead: {model: lead}")
	r.Run(orchestrator.Options{})
	for i, name := range []string{"ana", "ben", "cem"} {
		refused := slices.ContainsFunc(linesOf(r, name), func(l string) bool {
			return strings.Contains(l, "does not allow the model openai/ben")
		})
		_, err := os.Stat(filepath.Join(r.Dir, fmt.Sprintf("made-%d", i+1)))
		if made := err == nil; refused != (name == "ben") || made == refused {
			t.Errorf("%s: refused %v, made %v", name, refused, made)
		}
	}
}
