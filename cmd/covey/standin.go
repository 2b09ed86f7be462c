package main

import (
	"fmt"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// confirmStandIns decides, before anything is started, whether a team may run
// programs that replace others but do not ask before they act. The flag or the
// operator at the terminal must agree; the default is no.
func confirmStandIns(env *cli.Env, team *configs.Team, allowed bool) error {
	list := launch.StandIns(team)
	if len(list) == 0 {
		return nil
	}
	text := standInText(list)
	switch {
	case allowed:
		env.Err.Printf("%s", text)
		return nil
	case !env.Interactive():
		return cli.Usagef("%sinstall what is missing, or go on without with --allow-unenforced", text)
	}
	if !env.Agreed(text + "Go on without?") {
		return cli.Usagef("nothing was started; install what is missing, or go on without with --allow-unenforced")
	}
	return nil
}

// standInText says which programs replace others, what is not enforced with them, and
// what to install.
func standInText(list []launch.StandIn) string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "agent %s (%s) would run as %s, because %s is not installed.\n", term.PlainLine(s.Agent),
			term.PlainLine(strings.Join(s.Members, ", ")), term.PlainLine(s.Path), s.Adapter)
		b.WriteString("That program acts without asking: covey can only check afterwards whether it kept these:\n")
		for _, what := range s.Unenforced {
			fmt.Fprintf(&b, "  %s\n", term.PlainLine(what))
		}
		fmt.Fprintf(&b, "This installs %s: %s\n", s.Adapter, s.Install)
	}
	return b.String()
}
