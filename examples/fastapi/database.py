"""The application's connections, in the same database as Ranura's."""

import os

from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import sessionmaker


def _for_asyncpg(text: str) -> str:
    """The URL as Go, psql and libpq take it, as SQLAlchemy's asyncpg does: its sslmode is called ssl."""
    url = make_url(text.replace("postgres://", "postgresql://", 1))
    query = {"ssl" if name == "sslmode" else name: value for name, value in url.query.items()}
    return url.set(drivername="postgresql+asyncpg", query=query).render_as_string(hide_password=False)


engine = create_async_engine(_for_asyncpg(os.environ["DATABASE_URL"]))

# `async with Session.begin() as session` is one transaction.
Session = sessionmaker(engine, class_=AsyncSession, expire_on_commit=False)
