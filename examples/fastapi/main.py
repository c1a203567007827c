"""A community in FastAPI, beside Ranura on one database. The README says how to start it."""

from fastapi import FastAPI

import raffle
import signup

app = FastAPI(title="Ranura's example")
app.include_router(signup.router)
app.include_router(raffle.router)
