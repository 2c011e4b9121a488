from server.tracking.figures import final_figures


def test_undefined_figures_are_left_out():
    """Domain b has one class, so no AUROC; a threshold that blocks nothing is None."""
    estimate = {"value": 0.75, "low": 0.5, "high": 1.0, "reason": None}
    undefined = {"value": None, "low": None, "high": None, "reason": "no unsafe episode"}
    results = {
        "test": {
            "mean_auroc_raw": 0.75,
            "domains": {"a": {"auroc_raw": estimate, "episodes": 9}, "b": {"auroc_raw": undefined}},
            "pooled": {"recall": estimate},
        },
        "calibration": {"threshold": None, "budget": 0.1, "rule": "plain"},
    }
    assert final_figures(results) == {
        "test/mean_auroc_raw": 0.75,
        "test/a/auroc_raw": 0.75,
        "test/a/auroc_raw_low": 0.5,
        "test/a/auroc_raw_high": 1.0,
        "test/a/episodes": 9.0,
        "test/pooled/recall": 0.75,
        "test/pooled/recall_low": 0.5,
        "test/pooled/recall_high": 1.0,
        "calibration/budget": 0.1,
    }
