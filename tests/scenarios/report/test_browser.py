"""The page of a study in a browser, on a telephone and on a desk: quiet, offline, legible, sorted at a click."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from erugin.scenarios.report import write_report

from ...support.browser import Browser, browser
from ...support.report_study import HOSTILE, IMAGE, results

WIDTHS = pytest.mark.parametrize("width", [360, 1440])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    target = folder / "report.html"
    write_report(results(folder / "results"), target)
    return target


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@WIDTHS
def test_the_console_stays_empty_and_nothing_is_fetched(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width)
    chromium.click("th button")
    chromium.click("summary")
    assert chromium.console_lines() == []
    assert [url for url in chromium.requested() if not url.startswith("data:")] == [page.resolve().as_uri()]


def test_a_page_that_misbehaves_is_detected(chromium: Browser, page: Path, tmp_path: Path) -> None:
    """The tests above would detect an error, a picture from elsewhere, and a page that is too wide."""
    bad = tmp_path / "bad.html"
    extra = '<img src="missing.png"><script>undefined.nothing</script><div style="width:3000px">.</div>'
    text = page.read_text(encoding="utf-8")
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    text = text[:start] + text[text.index("\n", start) :]
    bad.write_text(text.replace("</main>", f"{extra}</main>"), encoding="utf-8")
    chromium.open(bad, 1440)
    message, asked = "\n".join(chromium.console_lines()), chromium.requested()
    # The console's entries reach the driver a moment after the page is loaded.
    for _ in range(50):
        if "TypeError" in message:
            break
        time.sleep(0.1)
        message += "\n".join(chromium.console_lines())
    assert "TypeError" in message
    assert any(url.endswith("missing.png") for url in asked)
    assert chromium.run("return document.documentElement.scrollWidth") > 1440


def test_a_script_in_a_name_would_not_run_even_as_markup(chromium: Browser, page: Path, tmp_path: Path) -> None:
    """The page's policy names its own script by hash: any other is refused."""
    bad = tmp_path / "bad.html"
    text = page.read_text(encoding="utf-8").replace("</main>", f"{HOSTILE}{IMAGE}</main>")
    bad.write_text(text, encoding="utf-8")
    chromium.open(bad, 1440)
    assert chromium.run("return document.title") == "Study sled & <i>ice"
    assert any("Content Security Policy" in line for line in chromium.console_lines())


@WIDTHS
def test_the_page_fits_the_screen(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width)
    assert chromium.run("return innerWidth") == width
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    outside = """
        const wide = document.documentElement.clientWidth + 1;
        return [...document.querySelectorAll("body *")].filter((e) => !e.closest(".scroll table, pre"))
          .filter((e) => e.getBoundingClientRect().right > wide || e.getBoundingClientRect().left < -1)
          .map((e) => e.outerHTML.slice(0, 80));
    """
    assert chromium.run(outside) == []


@WIDTHS
def test_letters_are_large_enough_and_stand_out(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width)
    # Relative luminance and contrast as in WCAG 2.
    script = r"""
        const number = (text) => text.match(/[\d.]+/g).map(Number);
        const light = (rgb) => {
          const [r, g, b] = rgb.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (e) => {
          for (; e; e = e.parentElement) {
            const color = number(getComputedStyle(e).backgroundColor);
            if (color.length === 3 || color[3] > 0) return color;
          }
          return [255, 255, 255];
        };
        document.querySelector("details").open = true;
        const found = [];
        for (const e of document.querySelectorAll("body *")) {
          const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
          if (!own || e.tagName === "SCRIPT") continue;
          const style = getComputedStyle(e);
          const [a, b] = [light(number(style.color).slice(0, 3)), light(behind(e).slice(0, 3))].sort((x, y) => y - x);
          found.push([parseFloat(style.fontSize), (a + 0.05) / (b + 0.05), e.tagName]);
        }
        return found;
    """
    found = chromium.run(script)
    assert len(found) > 300
    assert min(size for size, *_ in found) >= 12.0
    assert min(contrast for _, contrast, _ in found) >= 4.5


@WIDTHS
def test_plots_show(chromium: Browser, page: Path, width: int) -> None:
    chromium.open(page, width)
    script = """
        return [...document.images].map((i) => [
          i.naturalWidth, i.clientWidth, i.complete, i.closest("figure") !== null, i.alt]);
    """
    sizes = chromium.run(script)
    plots = [size for size in sizes if size[3]]
    assert len(plots) > 8
    assert len(sizes) == len(plots) + 3
    for natural, shown, complete, plot, alt in sizes:
        assert complete
        assert natural > 0
        if plot:
            # Letters of 10 points are 13 px at a picture's own size, which is 326 px.
            assert shown >= 300
            assert alt


def cells(chromium: Browser, place: int, *, text: bool = False) -> list[str]:
    """A column of the table of medians: what is shown, or the numbers it is sorted by."""
    script = """
        const rows = document.querySelectorAll("#metrics tbody tr");
        return [...rows].map((r) => r.cells[arguments[0]]).map((c) => arguments[1] ? c.textContent : c.dataset.value);
    """
    return list(chromium.run(script, place, text))


def sort(chromium: Browser, place: int, key: str | None = None) -> str:
    """Press a head, by the mouse or a key; its aria-sort, if all others have none."""
    if key is None:
        chromium.click("#metrics th button", place)
    else:
        chromium.keys("#metrics th button", key, place)
    sorts = chromium.run("return [...document.querySelectorAll('#metrics th')].map((h) => h.getAttribute('aria-sort'))")
    assert [each for i, each in enumerate(sorts) if i != place] == ["none"] * (len(sorts) - 1)
    return str(sorts[place])


@pytest.mark.parametrize("key", [None, "\n", " "])
def test_tables_sort_numbers_as_numbers_both_ways(chromium: Browser, page: Path, key: str | None) -> None:
    chromium.open(page, 1440)
    before = cells(chromium, 5)
    assert sort(chromium, 5, key) == "ascending"
    values = [float(text) for text in cells(chromium, 5)]
    assert values == sorted(values)
    assert values != sorted(values, key=str)
    assert sort(chromium, 5, key) == "descending"
    assert [float(text) for text in cells(chromium, 5)] == values[::-1]
    assert sorted(cells(chromium, 5)) == sorted(before)


def test_what_has_no_number_stands_last_either_way(chromium: Browser, page: Path) -> None:
    chromium.open(page, 1440)
    for way in ("ascending", "descending"):
        assert sort(chromium, 7) == way
        found = cells(chromium, 7)
        known = sum(1 for text in found if text)
        assert 0 < known < len(found)
        assert all(found[:known])
        values = list(map(float, found[:known]))
        assert values == sorted(values, reverse=way == "descending")


def test_text_and_infinity_sort_too(chromium: Browser, page: Path) -> None:
    chromium.open(page, 1440)
    sort(chromium, 1)
    names = cells(chromium, 1, text=True)
    assert names[-5:] == ["slow"] * 5
    assert len(set(names[:5])) == len(set(names[5:10])) == 1
    sort(chromium, 1)
    assert cells(chromium, 1, text=True)[:5] == ["slow"] * 5
    sort(chromium, 2)
    found = cells(chromium, 2)
    assert found[-1] == "Infinity"
    assert list(map(float, found)) == sorted(map(float, found))


def test_names_are_text(chromium: Browser, page: Path) -> None:
    chromium.open(page, 1440)
    assert chromium.run("return document.title") == "Study sled & <i>ice"
    cells = chromium.run(
        "return [...document.querySelectorAll('#controllers tbody tr')].map((r) => r.cells[0].textContent)"
    )
    assert cells == ["slow", HOSTILE, IMAGE]
    assert chromium.run("return document.querySelectorAll('td img, td script, h1 i').length") == 0


def test_every_table_is_named_and_can_be_scrolled_by_keys(chromium: Browser, page: Path) -> None:
    chromium.open(page, 360)
    script = """
        return [...document.querySelectorAll(".scroll")].map((e) => [
          e.tabIndex, e.getAttribute("role"), e.getAttribute("aria-label") !== "",
          getComputedStyle(e).overflowX, e.querySelector("caption").textContent !== ""]);
    """
    found = chromium.run(script)
    assert len(found) > 7
    assert found == [[0, "region", True, "auto", True]] * len(found)
