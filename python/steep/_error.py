"""What every part of the package raises."""


class SteepError(ValueError):
    """A spec, a parameter or a tensor that cannot be served; says which and why."""
