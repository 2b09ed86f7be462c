package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// Shares of a model's window, in percent. The rest above blockedAt is for the answer and for
// the error of the estimate.
const (
	collapseAt = 60 // old results of tools are collapsed
	compactAt  = 80 // the conversation is summarized
	blockedAt  = 96 // no request is made
	recentKept = 20 // the newest results, up to this share, are never collapsed before an overflow
	worthwhile = 10 // collapsing less than this share is not worth the loss of the model's cache
	// tryAgainAfter is how much a conversation must grow before it is summarized again. It
	// bounds what a conversation costs that a summary hardly shortens, or may not be summarized.
	tryAgainAfter = 8
)

const (
	smallResult  = 400 // bytes of a tool's result that is not worth collapsing
	filesKept    = 5   // files that were read last and are read again after a compaction
	skillsKept   = 3   // skills that were loaded last and are shown again
	summaryTries = 4   // requests for one summary, each with half of the conversation of the one before
)

// room is what an Agent knows about the size of its conversation.
//
// Four layers keep it below what the model can read (HOOKS.md section 9): old results of tools
// are collapsed; the conversation is summarized; if the model says that a conversation is too
// long, both are done at once and the request made again; and a request that would be too
// long is not made.
type room struct {
	limit int64   // what the model can read, in tokens; 0: unknown, so only an overflow tells
	ratio float64 // tokens that the model counts for each estimated one
	next  int64   // no summary below this size, in tokens
	// cached is how much of the last request the provider had in its cache; 0 after a change
	// that empties it.
	cached int64
	asked  time.Time // when that request was made
	why    string    // why the last summary could not be made; empty: it could
	// reacted means that an overflow has led to a summary since the last tool call. A second
	// overflow then ends the turn: to summarize again after each refusal of a gate never ends.
	reacted bool
}

// measured corrects the estimate by what the provider has counted for a request.
func (r *room) measured(estimate int64, used agent.Usage) {
	if estimate > 0 && used.InputTokens > 0 && !used.Estimated && used.FailedTokens == 0 {
		r.ratio = float64(used.InputTokens) / float64(estimate)
	}
}

// cacheTime is less than any provider keeps a conversation in its cache.
const cacheTime = 4 * time.Minute

// lostCache reports whether a provider that had the conversation in its cache has it no more,
// although the conversation has only grown and little time has passed.
func (r *room) lostCache(used agent.Usage) bool {
	soon := time.Since(r.asked) < cacheTime
	lost := r.cached > 0 && used.CacheReadTokens == 0 && used.FailedTokens == 0 && soon
	r.cached, r.asked = used.CacheReadTokens, time.Now()
	return lost
}

// share returns a share of the window in tokens.
func (r *room) share(percent int64) int64 { return r.limit / 100 * percent }

// tokens estimates the size of the next request.
func (a *Agent) tokens() int64 { return int64(float64(a.estimate()) * a.room.ratio) }

// contextUse returns how full the conversation is with the answer to a request. The provider's own
// count of the request is used if it is one of this request alone.
func (t *turn) contextUse(used agent.Usage) agent.ContextUse {
	switch {
	case t.room.limit == 0:
		return agent.ContextUse{}
	case used.InputTokens == 0 || used.Estimated || used.FailedTokens > 0:
		return agent.ContextUse{Tokens: t.tokens() + used.OutputTokens, Window: t.room.limit}
	}
	return agent.ContextUse{Tokens: used.InputTokens + used.OutputTokens, Window: t.room.limit}
}

// estimate returns the size of the next request in tokens of four bytes.
func (a *Agent) estimate() int64 {
	n := agent.Request{System: a.prompt(), Tools: a.tools, Messages: a.conv.messages}.Size() - a.conv.saved
	return (n + 3) / 4
}

// makeRoom shortens a conversation that comes near to what the model can read.
func (t *turn) makeRoom(ctx context.Context) error {
	host, ok := t.host.(agent.Compactor)
	if !ok || t.room.limit == 0 {
		return nil
	}
	if t.tokens() >= t.room.share(collapseAt) {
		t.collapse(t.room.share(recentKept), t.room.share(worthwhile))
	}
	answered := t.conv.lastAnswer() >= 0
	if size := t.tokens(); size >= t.room.share(compactAt) && size >= t.room.next && answered {
		if err := t.compact(ctx, host, agent.AutoCompaction, ""); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t.postpone(err)
		}
	}
	if size := t.tokens(); size >= t.room.share(blockedAt) {
		return &agent.APIError{Type: "invalid_request", End: events.EndBlockingLimit, Message: fmt.Sprintf(
			"the conversation has about %d tokens, and the model reads %d: no request was made. %s",
			size, t.room.limit, t.room.wayOut())}
	}
	return nil
}

// postpone remembers why there is no summary, and waits with the next try until the
// conversation has grown.
func (t *turn) postpone(err error) {
	t.room.why = err.Error()
	t.room.next = t.tokens() + t.room.share(tryAgainAfter)
	t.observe(events.Warning{Text: "the conversation could not be compacted: " + t.room.why})
}

// wayOut returns what people can do about a conversation that stays too long.
func (r *room) wayOut() string {
	if r.why != "" {
		return "It could not be compacted: " + r.why
	}
	return "Compacting it does not make it short enough: give smaller tasks or files, or use a model that reads more"
}

// observe reports an event to the journal, if the host takes it.
func (t *turn) observe(d events.Data) {
	if o, ok := t.host.(events.Observer); ok {
		o.Observe(d)
	}
}

// collapse stops showing old results of tools, except the newest ones of up to kept tokens. It
// does nothing if that saves less than least tokens, and reports whether it did.
func (t *turn) collapse(kept, least int64) bool {
	bytes := func(tokens int64) int64 { return int64(float64(tokens*4) / t.room.ratio) }
	upTo, saved := t.conv.collapsible(bytes(kept))
	if saved == 0 || saved < bytes(least) {
		return false
	}
	before := t.tokens()
	t.conv.collapse(upTo)
	t.room.cached = 0
	t.observe(events.Compacted{
		Layer: "results", Trigger: agent.AutoCompaction, Before: before, After: t.tokens(),
	})
	return true
}

// request asks the model. If it says that the conversation is too long, request shortens it and
// asks again, but summarizes only once: see room.
func (t *turn) request(ctx context.Context) (agent.Response, error) {
	r, err := t.generate(ctx)
	host, ok := t.host.(agent.Compactor)
	if !ok || !overflows(err) {
		return r, err
	}
	if t.collapse(0, 0) {
		if lost := t.spend(r); lost != nil {
			return agent.Response{}, lost
		}
		if r, err = t.generate(ctx); !overflows(err) {
			return r, err
		}
	}
	if !t.room.reacted && t.conv.lastAnswer() >= 0 { // before the first answer nothing can be left out
		t.room.reacted = true
		if lost := t.spend(r); lost != nil {
			return agent.Response{}, lost
		}
		r = agent.Response{}
		if failed := t.compact(ctx, host, agent.AutoCompaction, ""); failed == nil {
			r, err = t.generate(ctx)
		} else if ctx.Err() == nil {
			t.postpone(failed)
		}
	}
	if tooLong, ok := errors.AsType[*agent.APIError](err); ok && tooLong.Overflow {
		surfaced := *tooLong
		surfaced.End = events.EndPromptTooLong
		surfaced.Message += ". " + t.room.wayOut()
		return r, &surfaced
	}
	return r, err
}

// spend counts a failed request, which leaves nothing in the conversation. A script's step that
// failed is recorded, so that a resumed script continues after it.
func (t *turn) spend(r agent.Response) error {
	if r.Step == nil {
		t.reply.Usage = t.reply.Usage.Plus(r.Usage)
		return nil
	}
	return t.record(agent.Record{
		Message: agent.Message{Role: agent.Assistant}, Step: r.Step, Usage: r.Usage, Model: t.other(),
	})
}

// generate makes one request with the conversation as it is, and learns from it how the model
// counts. If the model cannot answer, the next one is asked.
func (t *turn) generate(ctx context.Context) (agent.Response, error) {
	for {
		estimate, seen := t.estimate(), t.conv.seen
		req := t.conv.request(t.prompt(), t.tools)
		req.Draft, req.Say = agent.DraftOf(t.host), t.say
		r, err := t.models[t.model].Generate(ctx, req)
		t.room.measured(estimate, r.Usage)
		again, lost := t.fallBack(ctx, r, err)
		if lost != nil {
			return agent.Response{}, lost
		}
		if again || overflows(err) {
			t.conv.seen = seen // what was new stays so for the next try
		}
		if !again {
			return r, err
		}
	}
}

// say tells people of a request under way.
func (t *turn) say(text string) { t.observe(events.Warning{Text: text}) }

// raise makes the request for an answer that was cut off again, with a higher limit of output tokens,
// if the model can have one. If that fails, the cut answer stays, which is continued.
func (t *turn) raise(ctx context.Context, cut agent.Response) (agent.Response, error) {
	model, ok := t.models[t.model].(agent.Raiser)
	if !ok {
		return cut, nil
	}
	raised, ok := model.Raise()
	if !ok {
		return cut, nil
	}
	req := t.conv.request(t.prompt(), t.tools)
	req.Draft, req.Say = agent.DraftOf(t.host), t.say
	req.Draft.Withdraw()
	again, err := raised.Generate(ctx, req)
	if err != nil && ctx.Err() == nil {
		cut.Usage = cut.Usage.Plus(again.Usage)
		return cut, nil
	}
	lost := cut.Usage
	lost.FailedTokens = lost.Total()
	again.Usage = again.Usage.Plus(lost)
	return again, err
}

// overflows reports whether a model could not read all of a conversation.
func overflows(err error) bool {
	var e *agent.APIError
	return errors.As(err, &e) && e.Overflow
}

// compact replaces the conversation by a summary. After it the model has the summary, what its
// host reminds it of, its last plan, the files that it read last, and what it was told since
// its last answer.
func (t *turn) compact(ctx context.Context, host agent.Compactor, trigger, custom string) error {
	instructions, refusal := host.MayCompact(ctx, trigger, custom)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refusal != "" {
		return errors.New(refusal)
	}
	before := t.tokens()
	text := summaryRequest
	if instructions != "" {
		text += "\n\nAlso:\n" + instructions
	}
	r, summary, err := t.summarize(ctx, text)
	if err != nil {
		return errors.Join(err, t.spend(r))
	}
	t.reply.Usage = t.reply.Usage.Plus(r.Usage)
	m := agent.TextMessage(agent.User, summaryHead+summary+"\n</summary>")
	reminders := host.Reminders(ctx, t.conv.filesRead(filesKept))
	if plan := t.conv.lastPlan(); plan != "" {
		reminders = append(reminders, planHead+plan)
	}
	reminders = append(reminders, t.conv.skillsLoaded(skillsKept)...)
	for _, text := range append(reminders, summaryEnd) {
		m.Content = append(m.Content, agent.Block{Type: agent.TextBlock, Text: text})
	}
	if trigger != agent.ManualCompaction {
		m.Content = append(m.Content, t.conv.untold()...)
	}
	done := agent.Compaction{
		Trigger: trigger, Message: m, Summary: summary, Inputs: t.asked, Before: before,
		Step: r.Step, Usage: r.Usage, Model: t.other(),
	}
	fresh := newConversation([]agent.Message{m})
	fresh.ids = t.conv.ids // hooks and the store have seen them
	old := t.conv
	t.conv = fresh
	done.After = t.tokens()
	added, err := host.Compacted(ctx, done)
	if err != nil {
		t.conv = old
		return fmt.Errorf("record a compaction: %w", err)
	}
	t.room.cached = 0
	t.room.why, t.room.next = "", done.After+t.room.share(tryAgainAfter)
	return t.addInputs(added)
}

// summarize asks the model for a summary with request. Images are left out: the model has told what it
// saw in them, and a model that refuses one could never get past it. If even that is too long, the first half
// of the conversation is left out, and so on.
func (t *turn) summarize(ctx context.Context, request string) (agent.Response, string, error) {
	seen := t.conv.seen
	messages := agent.WithoutImages(t.conv.request("", nil).Messages, "this request is for a summary")
	t.conv.seen = seen // the model has not acted on what is new, whatever becomes of the summary
	for range summaryTries {
		asked := newConversation(messages)
		asked.seen = len(asked.messages)
		asked.add(agent.TextMessage(agent.User, request))
		r, err := t.models[t.model].Generate(ctx, asked.request(t.prompt(), t.tools))
		switch {
		case overflows(err) && len(messages) > 1:
			if lost := t.spend(r); lost != nil {
				return agent.Response{}, "", lost
			}
			rest := messages[(len(messages)+1)/2:]
			messages = append([]agent.Message{agent.TextMessage(agent.User, leftOutText)}, rest...)
			continue
		case err != nil:
			return r, "", fmt.Errorf("ask for a summary: %w", err)
		}
		summary := textOf(agent.Message{Content: r.Content})
		if summary == "" {
			return r, "", errors.New("the model answered without a summary")
		}
		return r, summary, nil
	}
	return agent.Response{}, "", errors.New("the conversation is too long even for a summary of its last part")
}

// compactCommand returns what follows the command /compact, if a person's prompt is just that.
func compactCommand(prompt []agent.Input) (custom string, ok bool) {
	if len(prompt) != 1 || prompt[0].Kind != agent.FromPerson {
		return "", false
	}
	name, rest, _ := strings.Cut(strings.TrimSpace(prompt[0].Text), " ")
	return strings.TrimSpace(rest), name == "/compact"
}

// compactByHand compacts the conversation because a person asked for it.
func (t *turn) compactByHand(ctx context.Context, prompt []agent.Input, custom string) (agent.Reply, error) {
	host, ok := t.host.(agent.Compactor)
	if !ok || t.conv.lastAnswer() < 0 {
		t.observe(events.Warning{Text: "there is nothing to compact: the model has not answered anything since the last time"})
		return t.reply, t.addInputs(prompt)
	}
	t.asked = prompt
	if err := t.compact(ctx, host, agent.ManualCompaction, custom); err != nil {
		if ctx.Err() != nil {
			return t.reply, ctx.Err()
		}
		t.observe(events.Warning{Text: "the conversation could not be compacted: " + err.Error()})
	}
	return t.reply, nil
}

// collapsible returns the number of messages, from the first, whose results can be collapsed while
// the newest results of up to kept bytes stay, and how many bytes that saves.
func (c *conversation) collapsible(kept int64) (upTo int, saved int64) {
	// What the model has not seen yet stays in any case.
	for i := c.seen - 1; i >= 0; i-- {
		var size int64
		for _, b := range c.messages[i].Content {
			size += collapsedBy(b)
		}
		switch {
		case i < c.collapsed:
		case upTo > 0:
			saved += size
		case size > kept:
			upTo, saved = i+1, size
		default:
			kept -= size
		}
	}
	return upTo, saved
}

// collapse stops showing the results in the first messages.
func (c *conversation) collapse(upTo int) {
	for _, m := range c.messages[c.collapsed:upTo] {
		for _, b := range m.Content {
			c.saved += collapsedBy(b)
		}
	}
	c.collapsed = upTo
	c.resend()
}

// collapsedBy returns how many bytes it saves to collapse a block; 0 for most.
func collapsedBy(b agent.Block) int64 {
	if b.Type != agent.ToolResultBlock {
		return 0
	}
	return agent.BlocksSize([]agent.Block{b}) - agent.BlocksSize([]agent.Block{collapsedBlock(b)})
}

// collapsedBlock stands for a result that the model does not see any more.
func collapsedBlock(b agent.Block) agent.Block {
	if len(b.Content) >= smallResult {
		b.Images, b.Content = nil, fmt.Sprintf(
			"[%d bytes of this old result are not shown any more; look again if you need them]", len(b.Content))
	}
	return b.WithoutImages("it is old; look again if you need it")
}

// collapsedBlocks returns blocks with their results collapsed.
func collapsedBlocks(blocks []agent.Block) []agent.Block {
	short := slices.Clone(blocks)
	for i, b := range short {
		if collapsedBy(b) > 0 {
			short[i] = collapsedBlock(b)
		}
	}
	return short
}

// dropImages leaves out all images, after a model has refused one.
func (c *conversation) dropImages() {
	c.messages = agent.WithoutImages(c.messages, agent.RefusedImages)
	c.resend()
	upTo := c.collapsed
	c.collapsed, c.saved = 0, 0
	c.collapse(upTo)
}

// refusesImages reports whether a model has refused an image.
func refusesImages(err error) bool {
	var e *agent.APIError
	return errors.As(err, &e) && e.End == events.EndImageError
}

// untold returns the texts since the last answer: the model has not acted on them. Results are
// not among them, because their calls are gone, and the summary has what matters in them.
func (c *conversation) untold() []agent.Block {
	var blocks []agent.Block
	for _, m := range c.messages {
		if m.Role == agent.Assistant && len(m.Content) > 0 { // empty: a script's failed step
			blocks = nil
			continue
		}
		for _, b := range m.Content {
			if b.Type == agent.TextBlock {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

// The texts around a summary.
const (
	summaryRequest = "Summarize this conversation, so that you can continue the work from your summary alone: it will " +
		"take the conversation's place, which has become too long. Write text only, and call no tools.\n" +
		agent.SummaryContents
	summaryHead = "The conversation before this had become too long. This is your own summary of it:\n\n<summary>\n"
	summaryEnd  = "Continue the work where it stands, without repeating what is done. Files and tasks may have changed: " +
		"look again where it matters."
	leftOutText = "[The beginning of this conversation is left out, because it is too long.]"
)
