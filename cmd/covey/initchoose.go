package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// candidate is an agent that this machine can offer to a new team.
type candidate struct {
	agent starterAgent
	words string // what people should know of it
	ready bool   // it can work now, as far as covey can tell
}

// candidates returns the agent programs that are installed, and then the models that this
// machine can use. It asks the models' hosts, so it may take a few seconds.
func candidates(ctx context.Context) []candidate {
	var list []candidate
	for _, a := range launch.InstalledPresets() {
		list = append(list, candidate{starterAgent(a.Name), loginWords(a), a.Login == launch.LoginYes})
	}
	for _, m := range launch.MachineModels(ctx, launch.ModelInquiry{}) {
		words := "covey's own agent; key " + m.Key
		if m.Problem != "" {
			words = m.Problem
		}
		list = append(list, candidate{starterAgent(m.Model), words, m.Usable()})
	}
	return list
}

// chooseAgents asks the operator which of the candidates to use; none
// means the offline team. Enter selects the default in brackets: the usual ones or, if
// there are none, the offline team, which always runs.
func chooseAgents(out *term.Screen, in *bufio.Reader, found []candidate) ([]starterAgent, error) {
	out.Printf("Agent programs and models that you can use here:\n")
	for i, c := range found {
		out.Printf("  %d  %-9s %s\n", i+1, term.PlainLine(string(c.agent)), term.PlainLine(c.words))
	}
	usual := usualAgents(found)
	offer := "offline"
	if len(usual) > 0 {
		offer = joinAgents(usual)
	}
	out.Printf("\nWhich of them should be in the team? The first one named leads. \"offline\" is a\n" +
		"team that plays scripts: it needs no login, costs nothing, and shows covey.\n")
	for {
		out.Printf("Names or numbers [%s]: ", offer)
		answer, err := in.ReadString('\n')
		if err != nil {
			out.Printf("\n")
			return nil, fmt.Errorf("nothing was chosen, and nothing was written; use --with or --offline to choose without a question")
		}
		if strings.TrimSpace(answer) == "" {
			return usual, nil
		}
		agents, err := readChoice(answer, found)
		if err == nil {
			return agents, nil
		}
		out.Printf("%s\n", term.PlainLine(err.Error()))
	}
}

// loginWords describes a login state in a few words.
func loginWords(a launch.AgentInfo) string {
	switch a.Login {
	case launch.LoginYes:
		return "logged in"
	case launch.LoginKey:
		return "an API key is set (the agent needs auth: key for it)"
	case launch.LoginNo:
		return "logged out"
	}
	return "login not known"
}

// usualAgents returns the programs that are logged in. Where no program is installed, it is
// the first model that can be used.
func usualAgents(found []candidate) []starterAgent {
	var list []starterAgent
	programs := false
	for _, c := range found {
		programs = programs || c.agent.Program()
		if c.ready && (c.agent.Program() || !programs && len(list) == 0) {
			list = append(list, c.agent)
		}
	}
	return list
}

// readChoice parses an answer: names and numbers, or "offline".
func readChoice(answer string, found []candidate) ([]starterAgent, error) {
	words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if slices.Equal(words, []string{"offline"}) {
		return nil, nil
	}
	var list []starterAgent
	for _, word := range words {
		i := slices.IndexFunc(found, func(c candidate) bool { return strings.EqualFold(string(c.agent), word) })
		// A number counts in the list above, from 1; no agent has a number for its name.
		if no, err := strconv.Atoi(word); err == nil {
			i = no - 1
		}
		if i < 0 || i >= len(found) {
			return nil, fmt.Errorf("%q is not one of %s", word, strings.Join(append(candidateNames(found), "offline"), ", "))
		}
		list = append(list, found[i].agent)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("name one of %s", strings.Join(append(candidateNames(found), "offline"), ", "))
	}
	return list, nil
}

// namedAgents returns the agents that --with names. They need not be installed, because
// others may run the spec elsewhere.
func namedAgents(names []string) ([]starterAgent, error) {
	var list []starterAgent
	for _, name := range names {
		agent := starterAgent(strings.TrimSpace(name))
		if agent.Program() && !slices.Contains(launch.PresetNames(), string(agent)) {
			return nil, cli.Usagef("covey knows no agent program %q; it knows %s; a model is named as PROVIDER/MODEL", agent,
				strings.Join(launch.PresetNames(), ", "))
		}
		list = append(list, agent)
	}
	return list, nil
}

// candidateNames returns the names of candidates.
func candidateNames(list []candidate) []string {
	var names []string
	for _, c := range list {
		names = append(names, string(c.agent))
	}
	return names
}

// joinAgents lists agents for people.
func joinAgents(list []starterAgent) string {
	var names []string
	for _, a := range list {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}
