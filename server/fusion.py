"""Late fusion over a federation: a model's branches standardised by sums that sites return."""

from fglguard.detector import Detector
from fglguard.fusion import fuse_branches
from fglguard.parameters import flatten, load_flat
from server.scoring import Scorer
from strategies.updates import FlatVector


def fused(
    detector: Detector, parameters: FlatVector, scorer: Scorer, site: str | None = None
) -> FlatVector:
    """The parameters with the branches' moments on the validation splits in them.

    Args:
        detector: Of the model's kind; holds the fused model on return.
        parameters: The model.
        scorer: How sites are asked; those that fail are left out as in scoring.
        site: Whose validation split alone counts; None: every site's.

    Returns:
        `parameters` as they are where the detector has no branches.
    """
    if not detector.branches:
        return parameters
    load_flat(detector, parameters, "the model to fuse")
    replies = scorer.branch_sums(parameters, detector.branches)
    robust = scorer.settings.strategy.aggregation != "mean"
    sums = [one.sums for one in replies if site in (None, one.site)]
    fuse_branches(detector, sums, robust=robust)
    return flatten(detector)
