"""Does a report pass axe-core in a browser, and how does it look?

    python -m benchmarks.page_check results/report-.../report.html --axe node_modules/axe-core

needs Chromium with chromedriver, `pip install selenium` and `npm install axe-core`. The page is
opened at two widths in a light and a dark scheme, with everything unfolded; violations of any
impact are printed, screenshots are written, and serious or critical violations and pages wider
than the screen end with exit code 1.
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

WIDTHS = {380: 800, 1280: 800}  # CSS pixels: a phone's and a laptop's screen
SCHEMES = ("light", "dark")
SECONDS = 240  # for axe on a long page
FAILING = ("serious", "critical")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
UNFOLD = "document.querySelectorAll('main details').forEach((fold) => { fold.open = true; });"
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"
AXE = "const done = arguments[0]; axe.run(document).then((found) => done(found.violations));"


@contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium with a profile of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory() as profile:
        for option in (*OPTIONS, f"--user-data-dir={profile}"):
            options.add_argument(option)
        driver = webdriver.Chrome(
            options, webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
        )
        try:
            yield driver
        finally:
            driver.quit()


def check(
    driver: Any, page: Path, axe: str, width: int, scheme: str, out: Path | None
) -> list[dict[str, Any]]:
    """The violations of the unfolded page; its screenshots, as opened and whole, go to `out`."""
    size = {"width": width, "height": WIDTHS[width], "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    driver.get(page.resolve().as_uri())
    for whole in (False, True) if out else ():
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": whole})
        name = f"{width}-{scheme}-{'page' if whole else 'first'}.png"
        (out / name).write_bytes(base64.b64decode(shot["data"]))
    driver.set_script_timeout(SECONDS)
    driver.execute_script(UNFOLD)
    driver.execute_script(axe)
    found: list[dict[str, Any]] = driver.execute_async_script(AXE)
    if (more := driver.execute_script(OVERFLOW)) > 0:
        nodes = [{"target": [f"{more} pixels"]}]
        found.append({"impact": "serious", "id": "the page scrolls sideways", "nodes": nodes})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=Path)
    parser.add_argument("--axe", type=Path, required=True, help="the folder of axe-core")
    parser.add_argument("--out", type=Path, help="where screenshots go")
    given = parser.parse_args()
    if not shutil.which("chromedriver"):
        sys.exit("no chromedriver: install Chromium with its driver")
    axe = (given.axe / "axe.min.js").read_text(encoding="utf-8")
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    failed = False
    with browser() as driver:
        for width in WIDTHS:
            for scheme in SCHEMES:
                found = check(driver, given.page, axe, width, scheme, given.out)
                failed |= any(one["impact"] in FAILING for one in found)
                print(f"{width} px, {scheme}: {len(found)} violations")
                for one in found:
                    where = one["nodes"][0]["target"][0]
                    print(f"  {one['impact']}: {one['id']}, {len(one['nodes'])} times: {where}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
