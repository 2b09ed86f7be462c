package crew

import "github.com/coveyteam/covey/hooks"

// BackgroundTasks lists the member's background tasks as hooks see them: a lead's
// teammates, and the commands that its tools run.
func (s *Seat) BackgroundTasks() []hooks.BackgroundTask {
	var list []hooks.BackgroundTask
	if s.Member.Lead {
		list = s.crew.deps.Seats.teammates()
	}
	for _, set := range s.sets() {
		for _, r := range set.Background() {
			list = append(list, hooks.BackgroundTask{
				ID: r.ID, Type: "shell", Status: "running", Description: r.Description, Command: r.Command,
			})
		}
	}
	return append(list, s.afar().Runs...)
}

// teammateTask returns the id of a teammate as a background task. Recorded ids have nine
// characters and begin with t. It stays the same across restarts, because the session
// does.
func teammateTask(session string) string {
	return "t" + session[max(len(session)-8, 0):]
}
