package teammate

import (
	"context"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks"
	"github.com/coveyteam/covey/teammate/agent"
)

// fireInBackground runs the hooks of an event in the background. Their decisions are ignored.
func (at *scope) fireInBackground(ctx context.Context, in hooks.Payload) {
	at.t.root().hookRuns.Start(ctx, func(ctx context.Context) {
		out, _ := at.try(ctx, in)
		at.keepContext(out)
	})
}

// keepContext keeps what hooks add for the model for the member's next request.
func (at *scope) keepContext(out hooks.Outcome) {
	for _, in := range agent.ContextInputs(out.AdditionalContext) {
		at.t.root().later.Add(in)
	}
}

// notify sends a notification to attached people and to the Notification hooks.
func (at *scope) notify(ctx context.Context, kind, message string) {
	at.emit(events.Notification{Kind: kind, Message: message})
	at.fireInBackground(ctx, hooks.NotificationInput{Message: message, NotificationType: kind})
}
