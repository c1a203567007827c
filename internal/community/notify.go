package community

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMemberMissing is wrapped by errors about a member who is not there, and
// will not come back: no id is given out twice.
var ErrMemberMissing = errors.New("member missing")

// A Notification is what a member reads, in Spanish.
type Notification struct {
	MemberID int64
	Kind     string
	Period   string
	Text     string
}

const notifySQL = `
INSERT INTO notifications (member_id, kind, period, text) VALUES ($1, $2, $3, $4)
ON CONFLICT (member_id, kind, period) DO NOTHING`

// Notify notifies one member, once for each kind and period: a second text is
// not written. A member who is not there is an [ErrMemberMissing].
func Notify(ctx context.Context, tx pgx.Tx, n Notification) error {
	_, err := findMember(ctx, tx, n.MemberID)
	if err == nil {
		_, err = tx.Exec(ctx, notifySQL, n.MemberID, n.Kind, n.Period, n.Text)
	}
	if err != nil {
		return fmt.Errorf("notify member %d: %w", n.MemberID, err)
	}
	return nil
}

// The kinds of the notifications to a new member.
const (
	Welcome      = "welcome"
	Introduction = "introduction"
)

// Joining is the period of both: a member joins once.
const Joining = "joining"

// WelcomeMember greets a new member by name, once, and returns the day on which
// they joined, at midnight UTC. A member who is not there is an [ErrMemberMissing].
func WelcomeMember(ctx context.Context, tx pgx.Tx, id int64) (joined time.Time, err error) {
	m, err := findMember(ctx, tx, id)
	if err != nil {
		return joined, fmt.Errorf("welcome member %d: %w", id, err)
	}
	text := fmt.Sprintf("👋 ¡Te damos la bienvenida, %s! Nos alegra que estés aquí.", m.name)
	return m.joined, Notify(ctx, tx, Notification{id, Welcome, Joining, text})
}

type member struct {
	name   string
	joined time.Time
}

const memberSQL = `SELECT name, joined_on FROM members WHERE id = $1`

func findMember(ctx context.Context, tx pgx.Tx, id int64) (m member, err error) {
	err = tx.QueryRow(ctx, memberSQL, id).Scan(&m.name, &m.joined)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrMemberMissing
	}
	return m, err
}
