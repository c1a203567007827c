package chaos

// balance judges the atomicity of each effect.
func (v *verdict) balance(e *evidence) {
	for _, effect := range e.effects {
		if effect.Parts != partsOfAnEffect {
			v.add(torn, "%s@%s: nonce %s wrote %d of %d rows", effect.Name, effect.Key, effect.Nonce, effect.Parts, partsOfAnEffect)
		}
		if effect.WrittenAt.Before(effect.Slot) {
			v.add(early, "%s@%s ran %s before its time", effect.Name, effect.Key, effect.Slot.Sub(effect.WrittenAt))
		}
	}
	if want := int64(accounts * initialBalance); e.balance != want {
		v.add(torn, "the accounts hold %d, and held %d", e.balance, want)
	}
}

// acknowledged compares what the processes said with what is there.
func (v *verdict) acknowledged(e *evidence) {
	there := make(map[string]bool, len(e.effects))
	for _, effect := range e.effects {
		there[effect.Nonce] = true
	}
	for _, event := range e.events {
		switch {
		case event.kind == ok && event.nonce != "" && !there[event.nonce] && !event.at.After(e.readAt):
			v.add(forgotten, "%s: nonce %s, acknowledged to %s", event.key, event.nonce, event.process)
		case event.kind == fail && event.nonce != "" && there[event.nonce]:
			v.add(phantom, "%s: nonce %s, which had failed in %s", event.key, event.nonce, event.process)
		}
	}
}
