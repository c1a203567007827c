package migrations_test

import (
	"os"
	"regexp"
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
