"""The site of the documentation, built strictly and looked at in a browser: each page, light and dark, wide and narrow, without a network."""

import http.server
import json
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "build/site"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(not os.environ.get("FRIT_TEST_SITE"), reason="needs packages from PyPI; FRIT_TEST_SITE=1 builds the site")

#: Shows each page in a frame, and sends what it finds there.
LOOK = """<!doctype html><body><script>
const luminance = color => {
  const [r, g, b] = color.match(/[0-9.]+/g).map(Number).map(c => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
async function look(path, width) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 800; frame.src = path;
  const loaded = new Promise(done => frame.onload = done);
  document.body.append(frame);
  await loaded;
  const page = frame.contentDocument, root = page.documentElement, style = frame.contentWindow.getComputedStyle(page.body);
  const text = page.querySelector("article p, article li, article td");
  const resources = frame.contentWindow.performance.getEntriesByType("resource").map(one => one.name);
  const lights = [style.backgroundColor, frame.contentWindow.getComputedStyle(text).color].map(luminance).sort((a, b) => b - a);
  const found = {
    path, width, heading: page.querySelector("h1")?.textContent.trim() ?? "", background: style.backgroundColor,
    beyond: root.scrollWidth - root.clientWidth, contrast: (lights[0] + 0.05) / (lights[1] + 0.05),
    broken: [...page.images].filter(one => one.complete && !one.naturalWidth).map(one => one.src),
    elsewhere: resources.filter(one => !one.startsWith(location.origin)), styles: page.styleSheets.length,
  };
  frame.remove();
  return found;
}
(async () => {
  const found = [];
  for (const path of PAGES) for (const width of [1280, 390]) found.push(await look(path, width));
  const index = await (await fetch("search/search_index.json")).json();
  await fetch("found", {method: "POST", body: JSON.stringify({found, searched: index.docs.length})});
})().catch(error => fetch("found", {method: "POST", body: JSON.stringify({error: String(error)})}));
</script></body>"""


@pytest.fixture(scope="module")
def site():
    done = subprocess.run([ROOT / "scripts/docs-site"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")


def looked_at(pages, dark, profile):
    """What the browser finds on the pages: a list of one dictionary for each page and width, and the number of texts that the search knows."""
    said, answer = threading.Event(), {}

    class Server(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=SITE)

        def log_message(self, *_):
            pass

        def do_GET(self):
            if self.path != "/look":
                return super().do_GET()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(LOOK.replace("PAGES", json.dumps(pages)).encode())

        def do_POST(self):
            answer.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            said.set()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", "--remote-debugging-port=0"]
        options += [f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
        browser = subprocess.Popen([BROWSER, *options, f"http://127.0.0.1:{server.server_port}/look"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not said.wait(1):
            assert browser.poll() is None, "the browser ended"
        browser.kill()
        browser.wait()
        server.shutdown()
    assert "error" not in answer, answer["error"]
    return answer["found"], answer["searched"]


def test_the_site_has_its_pages_and_links_by_their_titles(site):
    assert "index.html" in site and len(site) > 20
    assert "docs/Sizes.md" not in (SITE / "index.html").read_text()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium")
def test_a_browser_shows_each_page(site, tmp_path):
    shown = {dark: looked_at(site, dark, tmp_path / str(dark)) for dark in (False, True)}
    for found, searched in shown.values():
        assert [(one["path"], one["width"]) for one in found] == [(path, width) for path in site for width in (1280, 390)]
        assert searched > len(site)
        for one in found:
            assert one["heading"] and one["styles"] >= 2, one
            assert not one["broken"] and not one["elsewhere"], one
            assert one["beyond"] <= 0, f"{one['path']} is {one['beyond']} pixels too wide for {one['width']}"
            assert one["contrast"] >= 4.5, one
    assert all(light["background"] != dark["background"] for light, dark in zip(shown[False][0], shown[True][0]))
    assert not re.findall(r"""(?:src|href)="(?:https?:)?//[^"]+\.(?:js|css|woff2?|png|svg)""", "".join((SITE / path).read_text() for path in site))
