"""Figures as text: the same characters on every machine."""


def decimal(value: float, places: int) -> str:
    """Give at most `places` (1 or more) decimals, without trailing zeros and without a sign on zero."""
    text = f"{value:.{places}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def figure(value: float | None) -> str:
    """Give a count, signal or error with at most six decimals; a dash for None."""
    return "–" if value is None else decimal(value, 6)


def difference(value: float | None) -> str:
    """Give a difference of two rates with its sign and three decimals; a dash where one of them is not known."""
    return "–" if value is None else f"{value:+.3f}"


def ratio(value: float | None) -> str:
    """Give a rate with three decimals, so that a column lines up; a dash where there is nothing to count."""
    return "–" if value is None else f"{value:.3f}"
