"""What is refused before anything is sent to the database."""


class InvalidArgument(ValueError):
    """A value that cannot be right. The transaction is as it was.

    ``field`` is where it stands, such as ``args.items[2]``. The message never
    shows the value, which may be a secret.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field


class NoTransaction(RuntimeError):
    """The connection would commit by itself, and a claim that does protects nothing."""

    def __init__(self, remedy: str) -> None:
        super().__init__(f"the connection commits each statement by itself: {remedy}")
