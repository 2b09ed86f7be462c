package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/tasks/replica"
)

// clockMost is how far the clock of this host may be from that of the servers without a warning.
const clockMost = time.Minute

// busFindings judges the servers that keep a team's data.
func busFindings(ctx context.Context, team *configs.Team) []finding {
	const check = "bus"
	if !team.Bus.Given() {
		return nil
	}
	link, err := replica.Connect(replica.Config{Team: team.Name, URL: team.Bus.URL, Creds: team.Bus.Creds, OnError: func(error) {}})
	if err != nil {
		return []finding{fail(check, err.Error(), "see bus in the spec")}
	}
	defer link.Close()
	e, now, err := link.Examine(ctx)
	var findings []finding
	switch {
	case errors.Is(err, replica.ErrUnsafe) && team.Bus.Unsafe:
		findings = append(findings, warn(check, err.Error(), "mend that, and remove unsafe"))
	case err != nil:
		findings = append(findings, fail(check, err.Error(), "covey nats config prints a configuration that works"))
	case e.Number == 0:
		findings = append(findings, ok(check, "the servers of team %s answer; nothing is stored yet", team.Name))
	case e.Holder == "":
		findings = append(findings, ok(check, "the servers of team %s answer; %s ran it last, and has ended in order", team.Name, e.Host))
	case now.Acked.IsZero():
		findings = append(findings, warn(check, fmt.Sprintf("%s has run team %s since %s, epoch %d, and gives no sign of life",
			e.Host, team.Name, e.Since.Local().Format(time.DateTime), e.Number), "covey up continues the team"))
	default:
		findings = append(findings, ok(check, "%s", events.Bus(now)))
	}
	if off, err := link.Clock(ctx); err == nil {
		findings = append(findings, clockFindings(off)...)
	}
	return findings
}

// clockFindings judges by how much the clock of this host is before that of the servers.
func clockFindings(off time.Duration) []finding {
	if off.Abs() <= clockMost {
		return nil
	}
	return []finding{warn("bus", fmt.Sprintf("the clock of this host differs from that of the servers by %s", off.Abs()),
		"set it; no decision depends on it, but times that covey shows do")}
}
