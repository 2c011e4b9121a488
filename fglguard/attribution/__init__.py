"""Attribution: which edges of an episode drove its score."""
