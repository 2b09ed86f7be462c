package tasks

import (
	"errors"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/coveyteam/covey/tasks/actors"
	"github.com/coveyteam/covey/tasks/store"
)

// otherMachines is a replica that does what a test says.
type otherMachines struct {
	store.Replica
	err  error
	have int // records
}

func (o *otherMachines) Commit([]byte) error {
	if o.err == nil {
		o.have++
	}
	return o.err
}

func (o *otherMachines) SweepTexts(func(string) bool) {}

// TestReplicaSeam: what the other machines refuse has not happened, and the store goes on. What they
// have and the file has not, and what nobody knows, ends the use of the store.
func TestReplicaSeam(t *testing.T) {
	disk := errors.New("the disk fails")
	for _, c := range []struct {
		name          string
		replica, file error // how a commit fails
		want          error
		lost          bool
	}{
		{"refused", store.ErrRefused, nil, ErrDisk, false},
		{"unknown", errors.New("nobody answers"), nil, ErrReplica, true},
		{"stored there, not here", nil, disk, ErrReplica, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &otherMachines{}
			var fails error
			s, err := Open(filepath.Join(t.TempDir(), "tasks.db"), &Options{Replica: o, commit: func(tx *bolt.Tx) error {
				if fails != nil {
					return fails
				}
				return tx.Commit()
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			add(t, s, New{})
			o.err, fails = c.replica, c.file
			_, err = s.Add(t.Context(), actors.Actor{}, []New{{Subject: "fails"}})
			wantError(t, err, c.want)
			o.err, fails = nil, nil
			if c.lost {
				wantError(t, s.Cause(), c.want)
				_, err = s.Add(t.Context(), actors.Actor{}, []New{{Subject: "later"}})
				wantError(t, err, c.want)
				return
			}
			add(t, s, New{})
			if o.have != 2 || len(ok1(t)(s.List(t.Context()))) != 2 {
				t.Errorf("the other machines have %d commits", o.have)
			}
		})
	}
}
