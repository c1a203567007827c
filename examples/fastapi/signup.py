"""A member signs up, and is welcomed by a worker of Ranura."""

from datetime import datetime
from zoneinfo import ZoneInfo

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, Field
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from database import Session
from ranura import enqueue

router = APIRouter()

MEXICO_CITY = ZoneInfo("America/Mexico_City")


class SignUp(BaseModel):
    handle: str = Field(min_length=1, max_length=30)
    name: str = Field(min_length=1, max_length=100)
    squad: str | None = None


SIGN_UP_SQL = text("INSERT INTO members (handle, name, joined_on) VALUES (:handle, :name, :joined_on) RETURNING id")

JOIN_SQUAD_SQL = text("""
INSERT INTO squad_members (squad_id, member_id)
SELECT id, :member_id FROM squads WHERE name = :squad RETURNING squad_id""")


@router.post("/signup", status_code=201)
async def sign_up(new: SignUp) -> dict[str, int]:
    """All of it or nothing: whatever is raised below takes the member and the job back.

    The transaction ends here and not in a dependency, because some versions of
    FastAPI end a dependency after the answer, and then a commit that fails has
    been answered 201.
    """
    if not (new.handle + new.name + (new.squad or "")).isprintable():
        raise HTTPException(422, "write handle, name and squad without control characters")
    joined_on = datetime.now(MEXICO_CITY).date()
    try:
        async with Session.begin() as session:
            row = {"handle": new.handle, "name": new.name, "joined_on": joined_on}
            member_id = (await session.execute(SIGN_UP_SQL, row)).scalar_one()
            await enqueue(session, "welcome", {"member_id": member_id}, dedupe_key=str(member_id))
            if new.squad:
                joined = await session.execute(JOIN_SQUAD_SQL, {"member_id": member_id, "squad": new.squad})
                if not joined.first():
                    raise HTTPException(404, "no squad has this name")
    except IntegrityError:
        raise HTTPException(409, "somebody has this handle") from None
    return {"id": member_id}


NOTIFICATIONS_SQL = text("SELECT text FROM notifications WHERE member_id = :member_id ORDER BY id")


@router.get("/members/{member_id}/notifications")
async def notifications(member_id: int) -> list[str]:
    async with Session.begin() as session:
        return list((await session.execute(NOTIFICATIONS_SQL, {"member_id": member_id})).scalars())
