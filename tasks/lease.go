package tasks

import (
	"context"
	"fmt"
	"slices"
)

// Who has a task in progress holds a lease on it: the lease is the member's session, and
// whoever runs the member holds that. A lease has no time that runs out. A member that
// says nothing for an hour may be thinking, or stopped, or waiting for a person; only the
// end of what runs it ends the lease. Attach begins one, LetGo ends it, and opening the
// store ends all of them: who had it open before is dead, or the file would be locked.
// So the epoch in the file and the file's lock are all that a crash has to leave behind,
// and no clock is asked.

// LetGo says that what ran a member is gone for good, and that nothing of it can make
// changes any more. Its tasks stay its own until they are released.
func (s *Store) LetGo(member string) {
	s.held.Delete(member)
}

// Lapsed names the members, in order, that have tasks in progress while nobody holds
// their session: those that were not attached since the store was opened, or were let go.
// Whoever runs the team gives them time to come back, and releases their tasks then.
func (s *Store) Lapsed(ctx context.Context) ([]string, error) {
	var names []string
	err := s.view(ctx, func(r reader) error {
		names = nil
		each(r.bucket(bucketProgress), nil, func(k, _ []byte) bool {
			name, _, ok := splitName(k)
			if _, held := s.held.Load(name); ok && !held {
				names = append(names, name)
			}
			return true
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("members whose session nobody holds: %w", err)
	}
	return slices.Compact(names), nil
}
