"""syncfinder finds hidden GPU synchronisation points in PyTorch code."""

__version__ = "0.1.0"
