package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/orchestrator/launch"
	"github.com/coveyteam/covey/orchestrator/members"
	"github.com/coveyteam/covey/orchestrator/recordings"
	"github.com/coveyteam/covey/teammate/agent"
)

// openTape begins the recording of a run, or reads the one that it replays; nil: neither. A recording is
// of a whole run, because each request repeats what was said before.
func (o *Orchestrator) openTape() (*recordings.Tape, error) {
	if o.opts.Record+o.opts.Replay == "" {
		return nil, nil
	}
	if _, err := os.Stat(o.place.Store()); err == nil {
		return nil, fmt.Errorf("%w: a recording begins with the first request of a run, and there is an earlier run that "+
			"would continue; add --fresh to forget it", recordings.ErrRecording)
	}
	all := o.places()
	if o.opts.Replay != "" {
		return recordings.Replay(o.opts.Replay, o.mask, all)
	}
	return recordings.Record(o.opts.Record, o.opts.Version, o.mask, all)
}

// places returns the places of all members.
func (o *Orchestrator) places() []recordings.Place {
	all := placesOf("workspace", o.team().Workspace)
	all = append(all, placesOf("state", o.place.Dir)...)
	if home, err := os.UserHomeDir(); err == nil {
		all = append(all, placesOf("home", home)...)
	}
	return all
}

// placesOf returns a path under a name, also as it is without symbolic links.
func placesOf(name, path string) []recordings.Place {
	list := []recordings.Place{{Name: name, Text: path}}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		list = append(list, recordings.Place{Name: name, Text: real})
	}
	return list
}

// lane returns the part of the run's recording that belongs to a member.
//
// A member with a model of its own recording answers from that.
func (h thisRun) lane(m *members.Member) (*recordings.Lane, error) {
	if path := m.CurrentAgent().Model.Recording; path != "" {
		return h.recorded.lane(path, m)
	}
	return h.tape.Lane(m.Name, placesOf("dir", m.Dir)...)
}

// recorded are the recordings that models of the spec answer from, each for the members that play it.
type recorded struct {
	read func(path string, own []recordings.Place) (*recordings.Lane, error)

	mu    sync.Mutex
	lanes map[string]*recordings.Lane // by path and member
}

// lane returns the lane of a member.
func (r *recorded) lane(path string, m *members.Member) (*recordings.Lane, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := path + "\x00" + m.Name
	if known := r.lanes[key]; known != nil {
		return known, nil
	}
	l, err := r.read(path, placesOf("dir", m.Dir))
	if err == nil {
		r.lanes[key] = l
	}
	return l, err
}

// newRecorded returns the recordings of the models of a spec.
func (o *Orchestrator) newRecorded() *recorded {
	return &recorded{lanes: map[string]*recordings.Lane{}, read: func(path string, own []recordings.Place) (*recordings.Lane, error) {
		return recordings.ReplayFile(path, o.mask, slices.Concat(own, o.places()))
	}}
}

// checkRecorded reports recordings of the spec's models that cannot be used.
func checkRecorded(team *configs.Team) error {
	var errs []error
	for _, m := range launch.RealModels(team) {
		if m.Recording != "" {
			errs = append(errs, recordings.CheckFile(m.Recording))
		}
	}
	return errors.Join(errs...)
}

// laneOf is lane for a member by its name.
func (h *seatBuilder) laneOf(member string) (*recordings.Lane, error) {
	m, ok := h.Seats.Member(member)
	if !ok {
		return nil, fmt.Errorf("there is no member %s", member)
	}
	return h.lane(m)
}

// failing is a model that cannot be asked.
type failing struct{ err error }

// Generate implements agent.Model.
func (f failing) Generate(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{}, f.err
}

// withoutKeys returns the errors of a team that are not about keys, which a replay does not need.
func withoutKeys(err error) error {
	var rest []error
	for _, part := range parts(err) {
		if !errors.Is(part, launch.ErrNoKey) && !errors.Is(part, launch.ErrNoAgentKey) {
			rest = append(rest, part)
		}
	}
	return errors.Join(rest...)
}

// checkTape reports options of a recording that exclude each other.
func (o Options) checkTape() error {
	if o.Record != "" && o.Replay != "" {
		return fmt.Errorf("%w: a run is recorded or replayed, not both", configs.ErrSpec)
	}
	return nil
}
