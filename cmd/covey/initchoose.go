package main

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coveyteam/covey/cmd/covey/cli"
	"github.com/coveyteam/covey/cmd/covey/term"
	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
)

// chooseAgents asks the operator which of the installed agent programs to use; none
// means the offline team. Enter selects the default in brackets: those that are
// logged in or, if that is not certain for any, the offline team, which always runs.
func chooseAgents(out *term.Screen, in *bufio.Reader, found []launch.AgentInfo) ([]configs.Preset, error) {
	out.Printf("Agent programs that are installed here:\n")
	for i, a := range found {
		out.Printf("  %d  %-9s %s\n", i+1, a.Name, loginWords(a))
	}
	usual := usualAgents(found)
	offer := "offline"
	if len(usual) > 0 {
		offer = joinPresets(usual)
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

// usualAgents returns the agents that are logged in.
func usualAgents(found []launch.AgentInfo) []configs.Preset {
	var list []configs.Preset
	for _, a := range found {
		if a.Login == launch.LoginYes {
			list = append(list, a.Preset)
		}
	}
	return list
}

// readChoice parses an answer: names and numbers, or "offline".
func readChoice(answer string, found []launch.AgentInfo) ([]configs.Preset, error) {
	words := strings.FieldsFunc(strings.ToLower(answer), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
	if slices.Equal(words, []string{"offline"}) {
		return nil, nil
	}
	var list []configs.Preset
	for _, word := range words {
		i := slices.IndexFunc(found, func(a launch.AgentInfo) bool { return a.Name == word })
		if no, err := strconv.Atoi(word); err == nil {
			i = no - 1
		}
		if i < 0 || i >= len(found) {
			return nil, fmt.Errorf("%q is not one of %s", word, strings.Join(append(agentNames(found), "offline"), ", "))
		}
		list = append(list, found[i].Preset)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("name one of %s", strings.Join(append(agentNames(found), "offline"), ", "))
	}
	return list, nil
}

// namedPresets returns the presets that --with names. They need not be installed,
// because others may run the spec elsewhere.
func namedPresets(names []string) ([]configs.Preset, error) {
	var list []configs.Preset
	for _, name := range names {
		name = strings.TrimSpace(name)
		if !slices.Contains(launch.PresetNames(), name) {
			return nil, cli.Usagef("covey knows no agent program %q; it knows %s", name,
				strings.Join(launch.PresetNames(), ", "))
		}
		list = append(list, configs.Preset(name))
	}
	return list, nil
}

// agentNames returns the names of agents.
func agentNames(list []launch.AgentInfo) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return names
}

// joinPresets lists presets for people.
func joinPresets(list []configs.Preset) string {
	var names []string
	for _, p := range list {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}
