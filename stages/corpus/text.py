"""Bytes -> text."""

from stages.errors import BadInputError


def decode_text(data: bytes) -> str:
    """Decode UTF-8, keeping every character and line end as it is; BadInputError says at which byte it is not."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInputError(f"not UTF-8 at byte {error.start}; save the file as UTF-8") from error
