package orchestrator

import (
	"context"
	"errors"
	"fmt"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
	"github.com/coveyteam/covey/orchestrator/accounts"
	"github.com/coveyteam/covey/orchestrator/boxes"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/state"
	"github.com/coveyteam/covey/orchestrator/teamhooks"
	"github.com/coveyteam/covey/orchestrator/trust"
	"github.com/coveyteam/covey/orchestrator/workcopies"
	"github.com/coveyteam/covey/teammate/script"
)

// checked is what a team needs that is read before it starts.
type checked struct {
	scripts  map[string]*script.Script // by path
	hooks    teamhooks.Layers
	programs map[string]launch.Found // by the agents' names
	prices   accounts.PriceList
}

// check reads everything that a team needs, so that all errors are reported at once.
// missing lists programs and keys that this machine does not have, which is no error of
// the spec.
func check(team *configs.Team, given map[string]AgentMaker) (c checked, missing, wrong error) {
	var noScripts, noHooks, noPrograms error
	c.scripts, noScripts = loadScripts(team)
	c.hooks, noHooks = teamhooks.LoadLayers(team)
	c.programs, noPrograms = launch.Find(team)
	missing, noPrograms = splitMissing(noPrograms)
	missing = errors.Join(append(parts(missing), launch.FindServers(team), launch.CheckKeys(team))...)
	var noPrices error
	if c.prices, noPrices = accounts.LoadPrices(team.Budget); noPrices == nil {
		noPrices = c.prices.CheckPrices(team)
	}
	// All parts are read before the first error is returned: who repairs a spec wants to
	// see all that is wrong with it at once.
	return c, missing, errors.Join(checkGiven(team, given), noScripts, noHooks, noPrograms, noPrices, launch.CheckMandatory(team),
		workcopies.CheckRemote(context.Background(), team), launch.CheckBoxes(team, c.programs), trust.CheckPolicies(team), checkRecorded(team))
}

// Check is New without running the team here: it returns what is not installed and what
// is wrong separately. Both wrap configs.ErrSpec, except for managed settings that cannot
// be read (settings.ErrManaged). managed is Options.ManagedFolders.
func Check(team *configs.Team, managed []string) (missing []error, wrong error) {
	if _, _, err := settings.LoadManaged(managed); err != nil {
		return nil, err
	}
	c, gone, wrong := check(team, nil)
	wrong = errors.Join(wrong, launch.CheckGateway(team, c.programs, false))
	if wrong != nil {
		wrong = fmt.Errorf("%w:\n%w", configs.ErrSpec, wrong)
	}
	missing = parts(gone)
	if place, err := state.PlaceOf(team.Name, team.Workspace); err == nil {
		missing = append(missing, parts(boxes.Check(team, place, systemSupport))...)
	}
	return missing, wrong
}

// Missing lists the programs that this machine lacks for a spec with mistakes, as far as it could be read.
func Missing(team *configs.Team) []error {
	_, err := launch.Find(team)
	missing, _ := splitMissing(err)
	return append(parts(missing), parts(launch.FindServers(team))...)
}

// Warnings lists what a run of the team warns of when it starts: mistakes in the files of its
// hooks, and what one layer of them disables in another. managed is Options.ManagedFolders.
func Warnings(team *configs.Team, managed []string) ([]error, error) {
	found, warnings, err := settings.LoadManaged(managed)
	if err != nil {
		return nil, err
	}
	layers, err := teamhooks.LoadLayers(team)
	if err != nil {
		return nil, err
	}
	layers.AddManaged(found, warnings)
	return append(layers.Warnings, launch.BoxWarnings(team)...), nil
}

// splitMissing separates the programs and keys that this machine does not have from the
// other errors of launch.Find.
func splitMissing(err error) (missing, rest error) {
	var gone, others []error
	for _, part := range parts(err) {
		if errors.Is(part, launch.ErrNoProgram) || errors.Is(part, launch.ErrNoAgentKey) {
			gone = append(gone, part)
		} else {
			others = append(others, part)
		}
	}
	return errors.Join(gone...), errors.Join(others...)
}

// parts returns the errors that errors.Join has joined.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return nil
}
