package migrations_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// What docs/sql.md shows can be pasted.
func TestTheExamplesOfTheDocsRun(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	write(t, db, `INSERT INTO worker_kinds VALUES ('welcome', 'ranura', 'default'), ('leaderboard_close', 'ranura', 'slots')`)
	page, err := os.ReadFile("../docs/sql.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```sql\n(.+?)```").FindAllSubmatch(page, -1)
	require.Len(t, examples, 3)
	for _, example := range examples {
		write(t, db, string(example[1]))
	}
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM river_job`))
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_runs`))
}

// What docs/stored.md shows can be pasted.
func TestTheExamplesOfStoredSchedulesRun(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	write(t, db, `INSERT INTO worker_kinds VALUES ('welcome', 'ranura', 'default'); CREATE ROLE team_of_the_docs`)
	t.Cleanup(func() {
		_, err := db.Exec(context.Background(), `DROP OWNED BY team_of_the_docs; DROP ROLE team_of_the_docs`)
		require.NoError(t, err)
	})
	page, err := os.ReadFile("../docs/stored.md")
	require.NoError(t, err)
	examples := regexp.MustCompile("(?s)```sql\n(.+?)```").FindAllSubmatch(page, -1)
	require.Len(t, examples, 2)
	for _, example := range examples {
		write(t, db, strings.ReplaceAll(string(example[1]), "TO team", "TO team_of_the_docs"))
	}
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_schedules WHERE source = 'stored'`), "the third is deleted again")
}
