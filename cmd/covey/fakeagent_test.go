package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/coveyteam/covey/hooks/testkit"
)

// fakeagent is an agent program for scripts: it speaks as much ACP as a turn
// needs. Its words are `fakeagent NAME VERSION [logged-out|hangs]`; behind them
// may stand what covey adds. To every prompt it says its name; one that says
// "write a file" has it write hello.txt, too, and for one that says "touch a file" it asks
// whether it may run that.
func fakeagent() {
	args := os.Args[1:]
	name, version := args[0], args[1]
	switch {
	case len(args) > 2 && args[len(args)-1] == "--version":
		fmt.Println(name, "version", version)
		return
	case len(args) > 2 && args[2] == "hangs":
		testkit.Hang()
	}
	loggedOut := len(args) > 2 && args[2] == "logged-out"
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Prompt []struct{ Text string }
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `"result":{}`
		switch m.Method {
		case "initialize":
			result = fmt.Sprintf(`"result":{"protocolVersion":1,"agentInfo":{"name":%q,"version":%q},"agentCapabilities":`+
				`{"loadSession":true,"mcpCapabilities":{"http":true}},"authMethods":[{"id":"x","name":"Log in with X"}]}`, name, version)
		case "session/new":
			result = `"result":{"sessionId":"s1","modes":{"currentModeId":"ask","availableModes":[{"id":"plan"},{"id":"ask"}]}}`
			if loggedOut {
				result = `"error":{"code":-32000,"message":"log in first"}`
			}
		case "session/prompt":
			for _, part := range m.Params.Prompt {
				if strings.Contains(part.Text, "what is six times seven") {
					answer := exec.Command("mcpcall", "team_report", `{"answered":true,"report":"It is 42."}`)
					answer.Stderr = os.Stderr
					_ = answer.Run()
				}
				if strings.Contains(part.Text, "touch a file") {
					fmt.Println(`{"jsonrpc":"2.0","id":70,"method":"session/request_permission","params":{"sessionId":"s1",` +
						`"toolCall":{"toolCallId":"t1","kind":"execute","title":"touch out.txt","rawInput":{"command":"touch out.txt"}},` +
						`"options":[{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"n","name":"No","kind":"reject_once"}]}}`)
					lines.Scan() // the answer, which does not matter
				}
				if strings.Contains(part.Text, "write a file") {
					_ = os.WriteFile("hello.txt", []byte(name+"\n"), 0o600)
				}
			}
			fmt.Printf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":`+
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}}}`+"\n", "I am "+name)
			result = `"result":{"stopReason":"end_turn"}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", strings.TrimSpace(string(m.ID)), result)
	}
}
