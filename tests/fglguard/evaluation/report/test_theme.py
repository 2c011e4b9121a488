import pytest

from fglguard.evaluation.report.theme import DASHES, SERIES, THEME, series, stylesheet


def luminance(code):
    """Relative luminance of WCAG 2.1."""
    channels = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Contrast ratio of WCAG 2.1, from 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_what_is_behind_them(side):
    """WCAG 2.1 AA: 4.5 for text (1.4.3), 3 for graphical objects (1.4.11)."""
    for ground in ("page", "surface"):
        for name in ("text", "muted", "safe", "unsafe"):  # all of them colour letters somewhere
            assert contrast(THEME[name][side], THEME[ground][side]) >= 4.5, (name, ground)
        for name in SERIES:
            assert contrast(THEME[name][side], THEME[ground][side]) >= 3, (name, ground)


def test_light_colours_differ_since_they_stand_for_names():
    assert len({light for light, _ in THEME.values()}) == len(THEME)


def test_series_repeat_after_every_pair_of_colour_and_dashes():
    looks = [series(number) for number in range(len(SERIES) * len(DASHES))]
    assert len(set(looks)) == len(looks)


def test_the_style_sheet_has_every_colour_twice():
    sheet = stylesheet()
    assert all(sheet.count(f"--{name}:") == 2 for name in THEME)
