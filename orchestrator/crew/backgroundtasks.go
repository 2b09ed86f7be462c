package crew

import "github.com/coveyteam/covey/hooks"

// BackgroundTasks lists what goes on beside the member's turns, as hooks see it: a lead's
// teammates, and the commands that its tools run. The member's own goroutine asks, and
// its helpers, which begin after the tools are there.
func (s *Seat) BackgroundTasks() []hooks.BackgroundTask {
	var list []hooks.BackgroundTask
	if s.Member.Lead {
		list = s.crew.seats.teammates()
	}
	if s.workspace == nil {
		return list
	}
	for _, r := range s.workspace.Background() {
		list = append(list, hooks.BackgroundTask{
			ID: r.ID, Type: "shell", Status: "running", Description: r.Description, Command: r.Command,
		})
	}
	return list
}

// teammateTask is the id of a teammate as a background task: nine characters that begin
// with t, as recorded. It stays the same over restarts, as the session does.
func teammateTask(session string) string {
	return "t" + session[max(len(session)-8, 0):]
}
