package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/coveyteam/covey/teammate/agent"
)

// peer is an agent program made with the public Go library of the protocol:
// what it takes and sends is not our own idea of it.
type peer struct {
	sdk.Agent // what we never call
	conn      *sdk.AgentSideConnection
	loaded    bool
}

// saysWaiting is a file that a peer makes in its folder once it has said that it waits.
const saysWaiting = "waiting"

// peerMain runs a peer on stdin and stdout.
func peerMain() {
	p := &peer{}
	p.conn = sdk.NewAgentSideConnection(p, os.Stdout, os.Stdin)
	<-p.conn.Done()
}

func (p *peer) Initialize(context.Context, sdk.InitializeRequest) (sdk.InitializeResponse, error) {
	return sdk.InitializeResponse{
		ProtocolVersion: sdk.ProtocolVersionNumber, AgentCapabilities: sdk.AgentCapabilities{LoadSession: true},
	}, nil
}

func (p *peer) NewSession(_ context.Context, in sdk.NewSessionRequest) (sdk.NewSessionResponse, error) {
	if err := in.Validate(); err != nil {
		return sdk.NewSessionResponse{}, err
	}
	return sdk.NewSessionResponse{SessionId: sdk.SessionId("in " + filepath.Base(in.Cwd))}, nil
}

func (p *peer) LoadSession(ctx context.Context, in sdk.LoadSessionRequest) (sdk.LoadSessionResponse, error) {
	p.loaded = true
	return sdk.LoadSessionResponse{}, p.say(ctx, in.SessionId, "replayed")
}

func (p *peer) SetSessionMode(context.Context, sdk.SetSessionModeRequest) (sdk.SetSessionModeResponse, error) {
	return sdk.SetSessionModeResponse{}, nil
}

func (p *peer) Cancel(context.Context, sdk.CancelNotification) error { return nil }

func (p *peer) Prompt(ctx context.Context, in sdk.PromptRequest) (sdk.PromptResponse, error) {
	if in.Prompt[0].Text.Text == "cancel" {
		if err := p.say(ctx, in.SessionId, "waiting"); err != nil {
			return sdk.PromptResponse{}, err
		}
		if err := os.WriteFile(saysWaiting, nil, 0o600); err != nil {
			return sdk.PromptResponse{}, err
		}
		<-ctx.Done() // the library ends it with session/cancel
		return sdk.PromptResponse{StopReason: sdk.StopReasonCancelled}, nil
	}
	call := sdk.StartToolCall("c1", "edit", sdk.WithStartKind(sdk.ToolKindEdit),
		sdk.WithStartStatus(sdk.ToolCallStatusPending),
		sdk.WithStartRawInput(map[string]any{"path": "/w/a"}))
	if err := p.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: in.SessionId, Update: call}); err != nil {
		return sdk.PromptResponse{}, err
	}
	answer, err := p.conn.RequestPermission(ctx, sdk.RequestPermissionRequest{
		SessionId: in.SessionId, ToolCall: sdk.ToolCallUpdate{ToolCallId: "c1"},
		Options: []sdk.PermissionOption{
			{OptionId: "n", Name: "No", Kind: sdk.PermissionOptionKindRejectOnce}, {OptionId: "y",
				Name: "Yes", Kind: sdk.PermissionOptionKindAllowOnce},
		},
	})
	if err != nil {
		return sdk.PromptResponse{}, err
	}
	done := sdk.UpdateToolCall("c1", sdk.WithUpdateStatus(sdk.ToolCallStatusCompleted),
		sdk.WithUpdateContent([]sdk.ToolCallContent{sdk.ToolContent(sdk.TextBlock("changed"))}))
	if err := p.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: in.SessionId, Update: done}); err != nil {
		return sdk.PromptResponse{}, err
	}
	chosen := "nothing"
	if answer.Outcome.Selected != nil {
		chosen = string(answer.Outcome.Selected.OptionId)
	}
	return sdk.PromptResponse{StopReason: sdk.StopReasonEndTurn}, p.say(ctx, in.SessionId, "chose "+chosen)
}

func (p *peer) say(ctx context.Context, id sdk.SessionId, text string) error {
	return p.conn.SessionUpdate(ctx, sdk.SessionNotification{SessionId: id, Update: sdk.UpdateAgentMessageText(text)})
}

func TestPublicLibrary(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.opts.Env = []string{"ACP_FAKE=sdk"}
	r.opts.Mode = "default"
	r.opts.MCPServers = []MCPServer{{Name: "covey", URL: "http://127.0.0.1:1/mcp"}, {Name: "x", Command: "y"}}
	var id string
	r.opts.OnSession = func(s string) error { id = s; return nil }
	r.mustTurn(t)
	r.host.wants(`call c1: Edit {"file_path":"/w/a","path":"/w/a"}`, "result c1 (error false): changed",
		"assistant: chose y")
	if id != "in "+filepath.Base(r.dir) {
		t.Errorf("session %q", id)
	}
	r.Close()
	r.opts.Session, r.Agent = id, nil
	r.host.said = nil
	r.mustTurn(t) // loaded, and the replay is not news
	r.host.wants(`call c1: Edit {"file_path":"/w/a","path":"/w/a"}`, "result c1 (error false): changed",
		"assistant: chose y")
}

func TestPublicLibraryCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.opts.Env = []string{"ACP_FAKE=sdk"}
	r.start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(r.dir, saysWaiting)); err == nil {
				cancel(agent.ErrInterrupted)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	prompt := []agent.Input{{Kind: agent.FromPerson, Text: "cancel"}}
	if _, err := r.Run(ctx, prompt, r.host); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	r.host.wants("user: cancel", "assistant: waiting")
	r.host.said = nil
	r.mustTurn(t)
	if len(r.host.said) != 4 { // the same program goes on
		t.Errorf("transcript %q", r.host.said)
	}
}
