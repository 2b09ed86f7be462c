package teammate

import (
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// fireInBackground runs the hooks of an event in the background. Their decisions are ignored.
func (s *hookContext) fireInBackground(ctx context.Context, in hooks.Payload) {
	s.t.root().hookRuns.Start(ctx, func(ctx context.Context) {
		out, _ := s.try(ctx, in)
		s.keepContext(out)
	})
}

// keepContext keeps what hooks add for the model for the member's next request.
func (s *hookContext) keepContext(out hooks.Outcome) {
	for _, in := range agent.ContextInputs(out.AdditionalContext) {
		s.t.root().later.Add(in)
	}
}

// notify sends a notification to attached people and to the Notification hooks.
func (s *hookContext) notify(ctx context.Context, kind, message string) {
	s.emit(events.Notification{Kind: kind, Message: message})
	s.fireInBackground(ctx, hooks.NotificationInput{Message: message, NotificationType: kind})
}
