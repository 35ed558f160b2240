"""A headless Chromium that opens a page and tells what it did."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--force-device-scale-factor=1",
)


def programs() -> tuple[str, str]:
    """Chromium and its driver; the test is skipped where they are missing."""
    found = [
        next((path for name in names if (path := shutil.which(name)) is not None), None)
        for names in (("chromium", "chromium-browser", "google-chrome"), ("chromedriver", "chromium.chromedriver"))
    ]
    if found[0] is None or found[1] is None:
        pytest.skip("the pages of reports are tested in Chromium: apt-get install chromium chromium-driver")
    return found[0], found[1]


class Browser:
    """An open browser."""

    def __init__(self, driver: Any) -> None:  # noqa: ANN401 - Selenium's own types are loose
        self.driver = driver

    def open(self, page: Path, width: int, height: int = 900) -> None:
        """Show a file as on a screen of this width [px]."""
        # What the browser shows before does not belong to the page.
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.get(page.resolve().as_uri())

    def run(self, script: str, *arguments: object) -> Any:  # noqa: ANN401
        """Return value of a script."""
        return self.driver.execute_script(script, *arguments)

    def console_lines(self) -> list[str]:
        """Lines on the console since the page was opened."""
        return [str(line["message"]) for line in self.driver.get_log("browser")]

    def requested(self) -> list[str]:
        """Addresses that the page requested since it was opened."""
        events = [json.loads(line["message"])["message"] for line in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def click(self, selector: str, nth: int = 0) -> None:
        """Click an element."""
        element = self.driver.find_elements("css selector", selector)[nth]
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def keys(self, selector: str, text: str, nth: int = 0) -> None:
        """Type into an element."""
        self.driver.find_elements("css selector", selector)[nth].send_keys(text)

    def picture(self, target: Path) -> None:
        """The whole page as a PNG."""
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        screen = {"width": size[0], "height": min(size[1], 16000), "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        self.driver.save_screenshot(str(target))


@contextmanager
def browser(folder: Path) -> Generator[Browser]:
    """A browser with a profile of its own in a folder."""
    chromium, driver = programs()
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield Browser(opened)
    finally:
        opened.quit()
