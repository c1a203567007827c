package workers

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/community"
)

// NotifyMember writes one notification to one member. The text is Spanish.
type NotifyMember struct {
	MemberID int64  `json:"member_id"`
	Kind     string `json:"kind"`
	Period   string `json:"period"`
	Text     string `json:"text"`
}

func (NotifyMember) Name() string { return "notify_member" }

func (n NotifyMember) Run(ctx context.Context, tx pgx.Tx) error {
	if n.Kind == "" || n.Period == "" || n.Text == "" {
		return river.JobCancel(errors.New("args: kind, period and text must not be empty"))
	}
	return cancelIfGone(community.Notify(ctx, tx, community.Notification(n)))
}

// cancelIfGone ends a job whose member is gone: no retry brings them back.
func cancelIfGone(err error) error {
	if errors.Is(err, community.ErrMemberMissing) {
		return river.JobCancel(err)
	}
	return err
}
