"""Who holds what in a simulation: one corpus dealt to many clients."""

from fglguard.partitions.registry import KINDS, partition
from fglguard.partitions.share import MIXED_DOMAIN, Share

__all__ = ["KINDS", "MIXED_DOMAIN", "Share", "partition"]
