package replica

import (
	"context"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

// wakes passes on to catch-up what other replicas announce, until ctx ends. A
// notification that is lost, or never comes because a pooler is in between,
// costs a delay and no slot: catch-up looks by itself.
func (r *replica) wakes(ctx context.Context) <-chan periodic.Wake {
	wake := make(chan periodic.Wake, 1)
	go func() {
		for ctx.Err() == nil {
			if err := r.listen(ctx, wake); err != nil && ctx.Err() == nil {
				r.Log.Debug("listen: trying again", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryEvery):
			}
		}
	}()
	return wake
}

const listenSQL = `LISTEN ` + periodic.Channel

func (r *replica) listen(ctx context.Context, wake chan<- periodic.Wake) error {
	conn, err := r.control.Acquire(ctx)
	if err != nil {
		return err
	}
	// Not back to the pool: the connection would go on listening there.
	listener := conn.Hijack()
	defer func() { _ = listener.Close(context.WithoutCancel(ctx)) }()
	if _, err := listener.Exec(ctx, listenSQL); err != nil {
		return err
	}
	for reason := periodic.Changed; ; { // what was announced before is not announced again
		select {
		case wake <- reason:
		default: // one reason to wake is enough
		}
		notification, err := listener.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		reason = periodic.Wake(notification.Payload)
	}
}

const announceSQL = `SELECT pg_notify('` + periodic.Channel + `', $1)`

// announceLeaving asks the others to look after the slots closely: if this is
// the leader, no timer runs until the next one has settled in.
func (r *replica) announceLeaving(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	if _, err := r.control.Exec(ctx, announceSQL, periodic.Leaving); err != nil {
		r.Log.Warn("announce that this replica leaves", "error", err)
	}
}
