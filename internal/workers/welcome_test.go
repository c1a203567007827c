package workers_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/workers"
)

func TestWelcome(t *testing.T) {
	t.Parallel()
	tasks := []workers.Entry{workers.OnDemand(workers.NotifyMember{}), workers.OnDemand(workers.Welcome{})}

	t.Run("J1GreetsAndInvitesTheMemberOnce", func(t *testing.T) {
		t.Parallel()
		db := newCommunity(t)
		a := start(t, db, tasks...)
		require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			var id int64
			err := tx.QueryRow(t.Context(), `INSERT INTO members (id, handle, name, joined_on) VALUES (20, 'nandu', 'Ñandú', '2025-12-30') RETURNING id`).Scan(&id)
			require.NoError(t, err)
			_, err = workers.Enqueue(t.Context(), tx, workers.Welcome{MemberID: id}, workers.EnqueueOpts{DedupeKey: "20"})
			return err
		}))
		require.NoError(t, a.attempt(t))
		require.NoError(t, a.attempt(t))
		require.Equal(t, []string{
			"welcome joining 👋 ¡Te damos la bienvenida, Ñandú! Nos alegra que estés aquí.",
			"introduction joining 🌱 Ya conoces un poco la comunidad. ¿Nos cuentas de ti en la sección general?",
		}, texts(t, db, `SELECT concat_ws(' ', kind, period, text) FROM notifications ORDER BY id`))
		require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_runs WHERE effects = 1 AND attempt = 1`))
	})

	t.Run("TheInvitationWaitsForThreeDays", func(t *testing.T) {
		t.Parallel()
		db := newCommunity(t)
		a := start(t, db, tasks...)
		write(t, db, `UPDATE members SET joined_on = current_date WHERE id = 11`)
		enqueue(t, db, workers.Welcome{MemberID: 11}, "11")
		require.NoError(t, a.attempt(t))
		require.Equal(t, []string{"notify_member scheduled true introduction/11"},
			texts(t, db, `SELECT concat_ws(' ', kind, state, (scheduled_at AT TIME ZONE 'UTC' = current_date + 3)::text, metadata->>'dedupe_key')
				FROM river_job WHERE kind <> 'welcome'`))
	})

	t.Run("AFailureLeavesNeitherGreetingNorInvitation", func(t *testing.T) {
		t.Parallel()
		db := newCommunity(t)
		a := start(t, db, tasks...)
		write(t, db, `ALTER TABLE notifications ADD CHECK (text NOT LIKE '%bienvenida%')`)
		enqueue(t, db, workers.Welcome{MemberID: 11}, "11")
		require.ErrorContains(t, a.attempt(t), "notify member 11")
		require.Zero(t, count(t, db, `SELECT (SELECT count(*) FROM notifications) + (SELECT count(*) FROM worker_runs)`))
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
	})
}

// G3: a job for a member who is gone ends at once, and says so once.
func TestG3TheMemberIsGone(t *testing.T) {
	t.Parallel()
	db := newCommunity(t)
	a := start(t, db, workers.OnDemand(workers.NotifyMember{}), workers.OnDemand(workers.Welcome{}))
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		for member := int64(11); member <= 13; member++ {
			_, err := workers.Enqueue(t.Context(), tx, workers.NotifyMember{member, "aviso", "2026-W22", "¡Hola!"}, workers.EnqueueOpts{})
			require.NoError(t, err)
		}
		_, err := tx.Exec(t.Context(), `DELETE FROM members WHERE id = 12`)
		return err
	}))
	states := map[rivertype.JobState]int{}
	for range 3 {
		job := a.settled(t)
		states[job.State]++
		require.Equal(t, 1, job.Attempt)
		if job.State == rivertype.JobStateCancelled {
			require.Contains(t, job.Errors[0].Error, "notify member 12: member missing")
		}
	}
	require.Equal(t, map[rivertype.JobState]int{rivertype.JobStateCompleted: 2, rivertype.JobStateCancelled: 1}, states)
	require.Equal(t, []string{"11 ¡Hola!", "13 ¡Hola!"}, texts(t, db, `SELECT member_id || ' ' || text FROM notifications ORDER BY 1`))
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_runs`), "the job that was cancelled claimed nothing")
	lines := a.logged()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], `level=WARN msg="job cancelled" name=notify_member`)

	enqueue(t, db, workers.NotifyMember{MemberID: 11}, "")
	require.Contains(t, a.settled(t).Errors[0].Error, "args: kind, period and text must not be empty")
}
