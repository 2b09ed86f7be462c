package launch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/orchestrator"
	"github.com/coveyteam/covey/orchestrator/teamtest"
)

// askerVariable makes the test binary an agent program that asks its model for each prompt, as programs of
// Anthropic do. It names a folder, in which it leaves its environment; with the file "ignores" there it asks nobody.
// Between two requests it adds the address of its models to the file "reaches" if that is there, and says which of
// the addresses in it can be reached.
const askerVariable = "TEST_ASKER"

// askerAgent is the program's main.
func askerAgent(dir string) int {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil || os.WriteFile(filepath.Join(dir, "env"), []byte(strings.Join(os.Environ(), "\n")), 0o600) != nil {
		return 1
	}
	if _, err := os.Stat(filepath.Join(dir, "ignores")); err == nil {
		fmt.Println("I know it by heart.")
		return 0
	}
	const tools = `"tools":[{"name":"Bash"}],`
	reaches := filepath.Join(dir, "reaches")
	if f, err := os.OpenFile(reaches, os.O_WRONLY|os.O_APPEND, 0); err == nil {
		fmt.Fprintln(f, strings.TrimPrefix(os.Getenv("ANTHROPIC_BASE_URL"), "http://"))
		f.Close()
	}
	for _, tools := range []string{"", tools, tools} { // first a title, then the answers
		body := fmt.Sprintf(`{"model":"claude-sonnet-4-5",%s"messages":[{"role":"user","content":%s}]}`, tools, texts.Encode(string(prompt)))
		req, err := http.NewRequest(http.MethodPost, os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages", strings.NewReader(body))
		if err != nil {
			return 1
		}
		req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 1
		}
		defer resp.Body.Close()
		var said struct {
			Content []struct{ Text string }
			Error   struct{ Message string }
		}
		if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
			return 1
		}
		if resp.StatusCode != http.StatusOK {
			fmt.Println("API error:", said.Error.Message)
			return 0
		}
		fmt.Println(said.Content[0].Text)
		if list, err := os.ReadFile(reaches); err == nil && tools == "" {
			for _, address := range strings.Fields(string(list)) {
				conn, err := net.Dial("tcp", address)
				fmt.Printf("%s reached: %t\n", address, err == nil)
				if err == nil {
					conn.Close()
				}
			}
		}
	}
	return 0
}

// gatewaySpec is a team with such a program.
const gatewaySpec = `covey: 1
name: crew
goal: Ship it.
gateway: on
agents: {asker: {use: command, command: [%s], auth: {key: ANTHROPIC_API_KEY}, env: {` + askerVariable + `: %s}}}
models: {lead: {provider: script, script: lead.yaml}}
lead: {model: lead}
teammates: {dev: {agent: asker%s}}
tasks: [{id: a, subject: One, owner: dev}]
`

// askerRig is a team with such a program before a vendor.
type askerRig struct {
	*teamtest.Rig
	dir   string
	asked atomic.Int32
	both  chan struct{} // if set, the first request is answered when there is a second one
}

// newAskerRig returns the rig; keys are more keys of the program's member. The vendor takes the key of covey's
// environment only.
func newAskerRig(t *testing.T, keys string) *askerRig {
	t.Helper()
	r := &askerRig{dir: t.TempDir()}
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if got := req.Header.Get("X-Api-Key"); got != "the-real-key" {
			t.Errorf("the vendor got the key %q", got)
		}
		n := r.asked.Add(1)
		if r.both != nil {
			if n == 2 {
				close(r.both)
			}
			select {
			case <-r.both:
			case <-req.Context().Done():
			}
		}
		fmt.Fprintf(w, `{"content":[{"type":"text","text":"Answer %d."}],"usage":{"input_tokens":1000,"output_tokens":100}}`, n)
	}))
	t.Cleanup(vendor.Close)
	t.Setenv("ANTHROPIC_API_KEY", "the-real-key")
	t.Setenv("ANTHROPIC_BASE_URL", vendor.URL)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r.Rig = teamtest.NewRig(t, map[string]string{
		"team.yaml": fmt.Sprintf(gatewaySpec, texts.Encode(self), texts.Encode(r.dir), keys), "lead.yaml": "steps: [{say: Fine., times: -1}]\n",
	})
	return r
}

// TestGatewayTeam: a program behind the gateway has no key of the vendor, and each of its requests is counted for
// its member, turn and cost, once. The run is replayed without the vendor.
func TestGatewayTeam(t *testing.T) {
	r := newAskerRig(t, "")
	tape := filepath.Join(t.TempDir(), "tape")
	r.Run(orchestrator.Options{Record: tape})
	env, err := os.ReadFile(filepath.Join(r.dir, "env"))
	if err != nil || strings.Contains(string(env), "the-real-key") || !strings.Contains(string(env), "ANTHROPIC_API_KEY=sk-covey-") {
		t.Errorf("the program's environment, %v:\n%s", err, env)
	}
	used, asides, turns := int64(0), 0, int64(0)
	for _, l := range r.Lines.All() {
		if l.Member != "dev" {
			continue
		}
		switch e := l.Event().Data.(type) {
		case events.TokensUsed:
			used += e.Usage.Total()
			if e.Aside {
				asides++
			}
			if e.Model != "anthropic/claude-sonnet-4-5" || e.CostUSD < 0.0044 || e.CostUSD > 0.0046 || l.Turn == 0 {
				t.Errorf("counted %+v in turn %d", e, l.Turn)
			}
		case events.TurnEnded:
			turns += e.Usage.Total()
			if e.UsageUnknown {
				t.Error("the use of a turn is not known")
			}
		}
	}
	if n := int64(r.asked.Load()); n < 3 || used != 1100*n || turns != used || int64(asides) != n/3 {
		t.Errorf("%d requests have used %d tokens, %d in turns, %d are asides", n, used, turns, asides)
	}

	again := newAskerRig(t, "")
	again.Run(orchestrator.Options{Replay: tape})
	if again.asked.Load() != 0 {
		t.Error("the vendor was asked again")
	}
	said := func(r *askerRig) (list []string) {
		for _, l := range r.Lines.All() {
			switch e := l.Event().Data.(type) {
			case events.TextSaid, events.TokensUsed:
				if l.Member == "dev" {
					list = append(list, fmt.Sprintf("%T %+v", e, e))
				}
			}
		}
		return list
	}
	if was, is := said(r), said(again); len(was) == 0 || !slices.Equal(was, is) {
		t.Errorf("it said and used\n%s\nand now\n%s", strings.Join(was, "\n"), strings.Join(is, "\n"))
	}
}

// TestGatewayLimits: a request beyond a limit does not leave, and the turn ends with the limit.
func TestGatewayLimits(t *testing.T) {
	for keys, want := range map[string]string{", limits: {max_tokens: 1000}": events.EndMaxTokens, ", limits: {max_turns: 1}": events.EndMaxTurns,
		", gateway: {models: [\"anthropic/claude-opus-*\"]}": events.EndCompleted} {
		t.Run(want, func(t *testing.T) {
			r := newAskerRig(t, keys)
			r.Run(orchestrator.Options{})
			for _, l := range r.Lines.All() {
				if e, ok := l.Event().Data.(events.TurnEnded); ok && l.Member == "dev" {
					if n := r.asked.Load(); e.Reason != want || n > 2 || e.Reason == events.EndMaxTokens && n > 1 || want == events.EndCompleted && (n > 0 || !e.ModelFailed) {
						t.Errorf("the first turn ended with %+v after %d requests", e, n)
					}
					return
				}
			}
			t.Error("no turn has ended")
		})
	}
}

// TestGatewayIgnored: a program that does not use its base URL makes its member fail for that reason.
func TestGatewayIgnored(t *testing.T) {
	r := newAskerRig(t, "")
	if err := os.WriteFile(filepath.Join(r.dir, "ignores"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.Run(orchestrator.Options{})
	for _, l := range r.Lines.All() {
		if e, ok := l.Event().Data.(events.MemberEnded); ok && l.Member == "dev" && strings.Contains(e.Reason, "it ignores its base URL") {
			return
		}
	}
	t.Errorf("dev did not fail for it:\n%s", teamtest.Show(r.Lines.All()))
}
