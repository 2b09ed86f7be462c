package nodes

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/coveyteam/covey/configs/yaml"
	"github.com/coveyteam/covey/hooks/texts"
)

// Owner is what the owner of a node lets teams do there.
type Owner struct {
	Teams        []string // names
	Repositories []string // addresses, in which * stands for any text
	Commands     []string // command lines of agents, hooks, gates, setups and servers, with * as well
}

// Anything is an Owner who allows all that an operator has signed.
var Anything = Owner{[]string{"*"}, []string{"*"}, []string{"*"}}

// ErrOwner means that a node's owner does not allow what a team wants.
var ErrOwner = errors.New("the owner of this node does not allow it")

// TakesTeam returns an error if the owner does not take a team.
func (o Owner) TakesTeam(team string) error {
	if !fits(o.Teams, team) {
		return fmt.Errorf("%w: team %s; add it to teams", ErrOwner, team)
	}
	return nil
}

// TakesRepository returns an error if the owner does not take a repository.
func (o Owner) TakesRepository(address string) error {
	if !fits(o.Repositories, address) {
		return fmt.Errorf("%w: the repository %s; add it to repositories", ErrOwner, address)
	}
	return nil
}

// TakesCommands returns an error that names the command lines which the owner does not take.
func (o Owner) TakesCommands(list []string) error {
	var refused []string
	for _, c := range list {
		if !fits(o.Commands, c) && !slices.Contains(refused, c) {
			refused = append(refused, c)
		}
	}
	if refused != nil {
		return fmt.Errorf("%w: the commands %q; add them to commands", ErrOwner, refused)
	}
	return nil
}

// fits reports whether a text is one of the patterns, in which * stands for any text.
func fits(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return texts.Wild(p, text) })
}

// ownerForm describes the file.
var ownerForm = yaml.Form{
	Name: "file of a node's owner", MaxSize: 1 << 20, MaxKeys: 1000, MaxDepth: 8, InsteadOfMerge: "write the keys out",
	IfEmpty: "write teams, repositories and commands", IfLarge: "use * in patterns",
}

// ReadOwner reads the file of a node's owner. Its error lists all mistakes with their places.
func ReadOwner(file string) (o Owner, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return o, err
	}
	d := &yaml.Decoder{Document: yaml.ParseAs(ownerForm, file, data)}
	var teams, repositories, commands yaml.List[yaml.Value[string]]
	if d.Root != nil {
		d.Object(&yaml.Node{Text: "the file"}, d.Root, []yaml.Field{
			{Key: "teams", Part: yaml.Texts(&teams), Doc: "The names of the teams whose members may work here. Default: none."},
			{Key: "repositories", Part: yaml.Texts(&repositories), Doc: "The addresses of repositories; * stands for any text. Default: none."},
			{Key: "commands", Part: yaml.Texts(&commands), Doc: "The command lines of agents, hooks, gates, setups and MCP servers. Default: none."},
		})
	}
	if len(d.Problems) > 0 {
		return o, yaml.Errors(yaml.SortProblems(d.Problems))
	}
	return Owner{Teams: yaml.Words(teams), Repositories: yaml.Words(repositories), Commands: yaml.Words(commands)}, nil
}
