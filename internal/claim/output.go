package claim

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const outputSQL = `UPDATE worker_runs SET output = $3::text::jsonb WHERE name = $1 AND key = $2`

// Output is a finishing step that keeps a value, as JSON, in the row of the
// claim: what came back from elsewhere. Its texts must have no NUL.
func Output(key Key, value any) Step {
	return func(ctx context.Context, tx pgx.Tx) error {
		output, err := json.Marshal(value)
		if err == nil {
			_, err = tx.Exec(ctx, outputSQL, key.Name, key.Key, string(output))
		}
		if err != nil {
			return fmt.Errorf("keep output: %w", err)
		}
		return nil
	}
}
