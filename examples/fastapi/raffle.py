"""Ranura calls this every Friday. However often it calls for one Friday, one member wins."""

import os

from fastapi import APIRouter
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from database import Session
from ranura.fastapi import Call, Receiver

router = APIRouter()

# The variable that Ranura itself reads for its endpoint "example".
ranura = Receiver(Session.begin, os.environ["ENDPOINT_EXAMPLE_SECRET"])

DRAW_SQL = text("""
WITH winner AS (SELECT id, handle FROM members WHERE NOT is_bot ORDER BY random() LIMIT 1),
told AS (
    INSERT INTO notifications (member_id, kind, period, text)
    SELECT id, 'weekly_raffle', :period, '🎁 ¡Ganaste el sorteo de la semana!' FROM winner)
SELECT handle FROM winner""")


@router.post("/jobs/weekly-raffle")
@ranura.once
async def weekly_raffle(session: AsyncSession, call: Call) -> dict[str, object]:
    """Draw this week's winner. The week is the call's key: nobody here asks what day it is."""
    winner = (await session.execute(DRAW_SQL, {"period": call.key})).scalar()
    return {"week": call.key, "winner": winner}
