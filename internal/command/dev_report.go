package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/community"
)

// report prints who ran the slot and who got what, and returns an error unless
// it is exactly right.
func (i incident) report(ctx context.Context, out io.Writer, db *pgxpool.Pool, shots []shot) error {
	fmt.Fprintf(out, "\nThe incident's slot, %s@%s: %s\n\n", i.slot.Name, i.slot.Key, i.slot.At.In(i.zone).Format("Monday 2 January 2006, 15:04 MST"))
	if err := printShots(out, shots); err != nil {
		return err
	}
	awards, err := community.Awards(ctx, db, i.slot.Key)
	if err != nil {
		return err
	}
	totals, err := community.AwardTotals(ctx, db, i.slot.Key)
	if err != nil {
		return err
	}
	title, err := community.SummaryTitle(ctx, db, i.slot.Key)
	if err != nil {
		return err
	}
	mismatches, err := community.WalletMismatches(ctx, db)
	if err != nil {
		return err
	}
	if err := printAwards(out, awards); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThread: %s\nIn all: %d notifications, %d bonuses, %d Coins, %d thread\n",
		title, totals.Notifications, totals.Bonuses, totals.Coins, totals.Threads)

	wrong := errors.Join(wrongShots(shots), wrongAwards(i.expected, awards), wrongTotals(len(i.expected), totals))
	if len(mismatches) > 0 {
		wrong = errors.Join(wrong, fmt.Errorf("%d wallets disagree with the ledger", len(mismatches)))
	}
	if wrong != nil {
		return fmt.Errorf("the ledger is not right: %w", wrong)
	}
	fmt.Fprintln(out, "The ledger is exactly right: everybody was paid once.")
	return nil
}

func printShots(out io.Writer, shots []shot) error {
	rows := make([][]string, 0, len(shots))
	for _, s := range shots {
		what := "already ran"
		switch {
		case s.err != nil:
			what = s.err.Error()
		case s.result.Outcome == claim.Ran && s.result.Run != nil:
			what = fmt.Sprintf("won the claim: %s effects", orDash(s.result.Run.Effects))
		case s.result.Run != nil:
			what = "already ran, by " + orDash(s.result.Run.Replica)
		}
		rows = append(rows, []string{s.when, s.replica, what})
	}
	return printTable(out, []string{"TRIGGERED", "REPLICA", "RESULT"}, rows)
}

func printAwards(out io.Writer, awards []community.Award) error {
	rows := make([][]string, 0, len(awards))
	for _, a := range awards {
		rows = append(rows, []string{
			strconv.Itoa(a.Place), "@" + a.Handle, strconv.FormatInt(a.Points, 10), "+" + strconv.FormatInt(a.Coins, 10),
			strconv.FormatInt(a.Balance, 10), strings.Join(a.Notifications, " | "),
		})
	}
	fmt.Fprintln(out)
	return printTable(out, []string{"PLACE", "MEMBER", "POINTS", "COINS", "WALLET", "NOTIFICATION"}, rows)
}

func wrongShots(shots []shot) error {
	var wrong error
	winners := 0
	for _, s := range shots {
		wrong = errors.Join(wrong, s.err)
		if s.result.Outcome == claim.Ran {
			winners++
		}
	}
	if winners > 1 {
		wrong = errors.Join(wrong, fmt.Errorf("%d replicas won the claim", winners))
	}
	return wrong
}

func wrongAwards(expected []community.Place, awards []community.Award) error {
	if len(awards) != len(expected) {
		return fmt.Errorf("%d members were placed, not %d", len(awards), len(expected))
	}
	for i, want := range expected {
		got := awards[i]
		if got.MemberID != want.MemberID || got.Points != want.Points || got.Coins != community.Bonus || len(got.Notifications) != 1 {
			return fmt.Errorf("place %d: @%s with %d points, %d Coins and %d notifications, instead of @%s with %d points, %d Coins and 1",
				want.Place, got.Handle, got.Points, got.Coins, len(got.Notifications), want.Handle, want.Points, community.Bonus)
		}
	}
	return nil
}

func wrongTotals(winners int, got community.Totals) error {
	n := int64(winners)
	if want := (community.Totals{Notifications: n, Bonuses: n, Coins: n * community.Bonus, Threads: 1}); got != want {
		return fmt.Errorf("wrote %+v instead of %+v", got, want)
	}
	return nil
}
