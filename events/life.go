package events

import (
	"time"

	"github.com/coveyteam/covey/teammate/agent"
)

// MemberLeft reports that a member takes no more turns in this run, although its team goes on.
type MemberLeft struct {
	Reason string `json:"reason"`
}

// Type implements Data.
func (MemberLeft) Type() string { return "member_left" }

// MemberHeld reports that a member is held.
type MemberHeld struct {
	By  string `json:"by"`
	Cut bool   `json:"cut,omitempty"` // its turn was interrupted
}

// MemberResumed reports that a member may continue.
type MemberResumed struct {
	By string `json:"by"`
}

// Type implements Data.
func (MemberHeld) Type() string { return "member_held" }

// Type implements Data.
func (MemberResumed) Type() string { return "member_resumed" }

// MemberRestarts reports that a failed member is about to restart.
type MemberRestarts struct {
	Reason string        `json:"reason"`
	Rest   time.Duration `json:"rest_ns"` // until the restart
	Left   int           `json:"left"`    // further failures allowed before the member is given up
}

// Type implements Data.
func (MemberRestarts) Type() string { return "member_restarts" }

// AgentChanged reports that a member continues with another agent, because its own has
// reached a vendor's limit or no longer has.
type AgentChanged struct {
	From  string    `json:"from"` // display names of the agents
	To    string    `json:"to"`
	Until time.Time `json:"until,omitzero"` // when it returns to its own; zero: it has returned
}

// Type implements Data.
func (AgentChanged) Type() string { return "agent_changed" }

// WatchdogFound is what is wrong with a member, and what is done about it.
type WatchdogFound struct {
	Reason string `json:"reason"` // for people, after the member's name
	Did    string `json:"did"`    // interrupted, ended, given up or looked again
}

// Type implements Data.
func (WatchdogFound) Type() string { return "watchdog" }

// ModelAsked is the event that a model has answered a prompt or agent hook, or has failed to.
// Its usage counts for the member.
type ModelAsked struct {
	Event  string      `json:"event"`
	Model  string      `json:"model"` // for people: the model's name, or its owner
	Agent  bool        `json:"agent,omitempty"`
	Passes int         `json:"passes"`
	Usage  agent.Usage `json:"usage"`
}

// Type implements Data.
func (ModelAsked) Type() string { return "hook_model" }

// Sandboxed reports the box that holds the programs of a member, at each start of the member.
type Sandboxed struct {
	Level    int      `json:"level"`              // 0: the system can hold nothing
	Landlock int      `json:"landlock,omitempty"` // the version of the kernel's interface
	Lost     []string `json:"lost,omitempty"`     // what the spec asks for and the box does not do, for people
	Policy   string   `json:"policy"`             // differs for different policies
}

// Type implements Data.
func (Sandboxed) Type() string { return "sandbox" }

// SandboxDenied reports that a program of a member was kept from something, as far as its output shows.
type SandboxDenied struct {
	Path   string `json:"path"`
	Access string `json:"access"` // read, write or connect to
	Key    string `json:"key"`    // of the spec, where it can be allowed
}

// Type implements Data.
func (SandboxDenied) Type() string { return "sandbox_denied" }

// SettingUp reports what prepares a member's working copy, before its session begins.
type SettingUp struct {
	Doing string `json:"doing"` // for people
}

// Type implements Data.
func (SettingUp) Type() string { return "setting_up" }
