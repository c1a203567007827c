package workers

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
)

// Welcome greets a new member. Whoever signs members up enqueues it in the same
// transaction, with the member's id as the dedupe key.
type Welcome struct {
	MemberID int64 `json:"member_id"`
}

func (Welcome) Name() string { return "welcome" }

// introduceAfter is when a new member has had a look around.
const introduceAfter = 3 // days

// Run enqueues the invitation to come, in the transaction of the greeting:
// neither is there without the other.
func (w Welcome) Run(ctx context.Context, tx pgx.Tx) error {
	joined, err := community.WelcomeMember(ctx, tx, w.MemberID)
	if err != nil {
		return cancelIfGone(err)
	}
	_, err = Enqueue(ctx, tx, NotifyMember{
		MemberID: w.MemberID,
		Kind:     community.Introduction,
		Period:   community.Joining,
		Text:     "🌱 Ya conoces un poco la comunidad. ¿Nos cuentas de ti en la sección general?",
	}, EnqueueOpts{
		DedupeKey:   community.Introduction + "/" + strconv.FormatInt(w.MemberID, 10),
		ScheduledAt: joined.AddDate(0, 0, introduceAfter),
	})
	return err
}
