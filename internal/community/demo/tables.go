package demo

type table struct {
	name    string
	columns []string
	rows    [][]any
}

func (t *table) add(values ...any) { t.rows = append(t.rows, values) }

// tables lists the rows to copy, referenced tables before the ones that refer
// to them.
func (t *town) tables() []table {
	members := table{name: "members", columns: []string{"id", "handle", "name", "joined_on", "is_bot"}}
	for _, m := range t.members {
		members.add(m.id, m.handle, m.name, m.joinedOn, m.isBot)
	}
	activity := table{name: "activity", columns: []string{"member_id", "points", "occurred_at"}}
	for _, a := range t.activity {
		activity.add(a.memberID, a.points, a.at)
	}
	wallets := table{name: "wallets", columns: []string{"member_id", "coins"}}
	ledger := table{name: "token_transactions", columns: []string{"member_id", "reason", "period", "coins"}}
	for i, coins := range t.coins {
		wallets.add(t.members[i].id, coins)
		ledger.add(t.members[i].id, "opening", "demo", coins)
	}
	return append([]table{members, activity, wallets, ledger}, append(t.forum(), t.squads()...)...)
}

func (t *town) forum() []table {
	sections := table{name: "sections", columns: []string{"id", "name"}}
	for i, name := range sectionNames {
		sections.add(int64(i+1), name)
	}
	threads := table{name: "threads", columns: []string{"id", "section_id", "author_id", "title", "body", "created_at"}}
	for _, th := range t.threads {
		threads.add(th.id, th.section, th.author, th.title, th.title, th.at)
	}
	replies := table{name: "replies", columns: []string{"thread_id", "author_id", "body", "created_at"}}
	for _, r := range t.replies {
		replies.add(r.thread, r.author, r.body, r.at)
	}
	return []table{sections, threads, replies}
}

// squads has ten members in each squad; the first one leads it.
func (t *town) squads() []table {
	squads := table{name: "squads", columns: []string{"id", "name", "leader_id"}}
	belongs := table{name: "squad_members", columns: []string{"squad_id", "member_id"}}
	for i, m := range t.people() {
		squad := int64(i/squadSize + 1)
		if i%squadSize == 0 {
			squads.add(squad, squadNames[i/squadSize], m.id)
		}
		belongs.add(squad, m.id)
	}
	return []table{squads, belongs}
}
