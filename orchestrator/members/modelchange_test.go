package members_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// hostSpec is a team with one model at two hosts. Its dev has the model of the name in place.
const hostSpec = `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  here: {provider: anthropic, model: m, base_url: %q, key_file: dev.key}
  there: {provider: anthropic, model: m, base_url: %q, key_file: dev.key}
lead: {model: lead}
teammates: {dev: {model: %s}}
tasks: [%s]
hooks: {PreModelSwitch: [{hooks: [{type: command, command: %q}]}]}
`

// completingHost is a provider whose model completes the last task that it hears of. asked counts
// the requests.
func completingHost(t *testing.T, asked *atomic.Int32) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		body, _ := io.ReadAll(r.Body)
		x := &writing{w: w, over: make(chan bool, 1)}
		x.say("Done.")
		for id := 3; id > 0; id-- {
			if !strings.Contains(string(body), fmt.Sprint("task #", id)) {
				continue
			}
			if call := fmt.Sprint("call", id); !strings.Contains(string(body), call) {
				x.event(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":%q,"name":"TaskUpdate"}}`, call)
				x.event(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":%q}}`,
					fmt.Sprintf(`{"taskId":"%d","status":"completed"}`, id))
			}
			break
		}
		x.finish()
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestAnotherHost: a model of the same name at another host gets no conversation before the
// hooks agree, and a refusal leaves the member the host that it had.
func TestAnotherHost(t *testing.T) {
	t.Parallel()
	var here, there atomic.Int32
	hosts := []any{completingHost(t, &here), completingHost(t, &there)}
	spec := func(model, hook string, subjects ...string) string {
		var tasks []string
		for _, s := range subjects {
			tasks = append(tasks, fmt.Sprintf("{id: %s, subject: %s, owner: dev}", strings.ToLower(s), s))
		}
		return fmt.Sprintf(hostSpec, append(hosts, model, strings.Join(tasks, ", "), hook)...)
	}
	r := teamtest.NewRig(t, map[string]string{
		"team.yaml": spec("here", "exit 0", "Alpha"), "dev.key": "dev", "lead.yaml": "steps: [{say: Fine., times: -1}]\n",
	})
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")

	before := here.Load()
	r.Rewrite("team.yaml", r.Read("team.yaml"), spec("there", "echo no >&2; exit 2", "Alpha", "Beta"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if here.Load() == before || there.Load() != 0 {
		t.Errorf("a refusal: %d requests to the old host, %d to the new one", here.Load()-before, there.Load())
	}

	before = here.Load()
	r.Rewrite("team.yaml", r.Read("team.yaml"), spec("there", "exit 0", "Alpha", "Beta", "Gamma"))
	r.Want(r.Run(orchestrator.Options{}), orchestrator.CodeDone, "all work is done")
	if here.Load() != before || there.Load() == 0 {
		t.Errorf("no refusal: %d requests to the old host, %d to the new one", here.Load()-before, there.Load())
	}
	why := fmt.Sprintf("its host is %s, and was %s", hosts[1], hosts[0])
	if list := teamtest.Of[events.ModelSwitched](r, "model_switched"); len(list) != 1 || !strings.Contains(list[0].Why, why) {
		t.Errorf("the lines of switches are %+v, want one with %q", list, why)
	}
}
