package orchestrator

import "github.com/coveyteam/covey/teammate/command"

// command makes the agent of a program that is run once for each prompt.
func (f *foreigner) command(start *offer) (thinker, error) {
	url, token, err := f.seat.crew.mcpFor(f.seat)
	if err != nil {
		return nil, err
	}
	start.set("COVEY_MCP_URL", url)
	start.set("COVEY_MCP_TOKEN", token)
	resume := f.seat.agent().Resume
	if resume == nil {
		resume = f.launch.program.resume
	}
	return command.New(command.Options{
		Command: append(f.launch.argv[:1:1], start.args...), Resume: resume,
		Env: pairs(start.env), Dir: start.workspace, Dialect: command.Dialect(f.launch.program.dialect),
		System: f.system, Session: f.past.ID, OnSession: f.keepSession, Brief: f.makeUp, History: f.history,
		Started: f.started, OnUsage: f.bill.addCommand,
	})
}

// addCommand adds a prompt whose program tells what it alone has cost.
func (b *bill) addCommand(s command.Spent) {
	b.unknown = b.unknown || !s.Known
	b.add(s.CostUSD)
	b.settle(s.Known)
}
