package launch

import (
	"github.com/coveyteam/covey/teammate/command"
)

// The environment variables through which a command finds the team tools.
const (
	mcpURLVar   = "COVEY_MCP_URL"
	mcpTokenVar = "COVEY_MCP_TOKEN"
)

// command returns the agent of a program that runs once for each prompt.
func (f *instance) command(start *offer) (thinker, error) {
	resume := f.Member.CurrentAgent().Resume
	if resume == nil {
		resume = f.launch.program.resume
	}
	return command.New(command.Options{
		Command: append(f.launch.argv[:1:1], start.args...), Resume: resume,
		Env: pairs(start.env), Dir: start.workspace, Dialect: command.Dialect(f.launch.program.dialect),
		System: f.system, Session: f.past.ID, OnSession: f.keepSession, Brief: f.lostBrief, History: f.History,
		Enter: f.enter(start), Connect: f.connectCommand, Started: f.alive,
		// A program that reports its cost (claude) counts from the start of its
		// session.
		OnUsage: func(used command.Spent) { f.bill.AddPrompt(used.CostUSD, used.Known) },
	})
}

// connectCommand gives one run of the program access to the team tools, with its own
// token.
func (f *instance) connectCommand() (command.Extra, error) {
	connect := f.launch.program.connect
	url, token, err := f.programs.opts.Admit(f.Member, connect != nil)
	if err != nil {
		return command.Extra{}, err
	}
	extra := command.Extra{Env: []string{mcpURLVar + "=" + url, mcpTokenVar + "=" + token}}
	if connect != nil {
		extra.Args = connect(url)
	}
	return extra, nil
}
