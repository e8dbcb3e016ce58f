"""The official conformance suite: toolmux as a server in front of fixtures of either era and with tools of its own,
and as a client of the suite's servers; both requirement sets."""

import json
import re
import subprocess
import sys

from known import KNOWN, NATIVELY
from serving import HERE, SCRATCH, toolmux

REQUIREMENTS = ("2026-07-28", "2025-11-25")
FIXTURE = str(HERE / "conformance.py")
NATIVE = """
[sources.Native]
kind = "command"
names = "bare"
tools.test_simple_text = { description = "Says it", command = ["printf", "This is a simple text response for testing."] }
tools.test_error_handling = { description = "Fails", command = ["sh", "-c", "echo it fails >&2; exit 1"] }

[sources.Native.tools.test_mirrored_parameter]
description = "Says a region"
command = ["printf", "%s", "{region}"]
parameters.region = { type = "string", x-mcp-header = "Region" }

[sources.Native.tools.greet]
description = "Greets"
command = ["printf", "Hello, %s!", "{name}"]
parameters.name = { type = "string" }

[sources.Native.tools.slow_compute]
description = "Takes its time"
command = ["sh", "-c", 'sleep "$1"; echo computed', "sh", "{seconds}"]
parameters = { seconds = { type = "number" }, label = { type = "string", default = "" } }
"""


def checks_of(folder, side, status):
    """Checks that ended so, by scenario."""
    for checks in sorted(folder.glob("**/checks.json")):
        name = str(checks.parent.relative_to(folder))
        scenario = re.sub(rf"^{side}-|-\d{{4}}-\d\d-\d\dT.*$", "", name)
        for check in json.loads(checks.read_text()):
            if check["status"] == status:
                yield scenario, check["id"], check.get("errorMessage")


def absent(scenario, message):
    """True when a check needs what only a fixture has."""
    return scenario not in NATIVELY or "Not testable" in message or "is not available" in message


def judged(what, requirements, side, command, least):
    folder = SCRATCH / f"{what}-{requirements}-results"
    command = ["conformance", side, *command, "--requirements", requirements, "-o", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    # A check that a retry repeats counts once, and one in a scenario that is known to fail counts for nothing.
    passed = {(scenario, check) for scenario, check, _ in checks_of(folder, side, "SUCCESS")
              if (what, requirements, scenario) not in KNOWN}
    if len(passed) < least:
        raise SystemExit(f"the suite did not run:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    seen, bad = set(), []
    for scenario, check, message in checks_of(folder, side, "FAILURE"):
        keys = [(what, requirements, key) for key in (check, scenario)]
        known = next((key for key in keys if key in KNOWN), None)
        seen.add(known)
        if known is None and not (what == "native" and absent(scenario, message)):
            bad.append(f"{what} {requirements}: {scenario} {check}: {message}")
    stale = [key for key in KNOWN if key[:2] == (what, requirements) and key not in seen]
    bad += [f"{key} is known to fail, but does not" for key in stale]
    print(f"{what}, {requirements}: {len(passed)} checks passed, {len(bad)} unexpected", flush=True)
    return bad


def as_server(era, requirements):
    table = ['names = "bare"', f'command = ["python3", {json.dumps(FIXTURE)}, "{era}"]']
    with toolmux({"Fixture": table}, name=f"{era}-{requirements}") as base:
        return judged(era, requirements, "server", ["--url", f"{base}/mcp"], 70)


def with_own_tools(requirements):
    with toolmux({}, name=f"native-{requirements}", more=NATIVE) as base:
        return judged("native", requirements, "server", ["--url", f"{base}/mcp"], 25)


def as_client(requirements):
    client = f"{sys.executable} {HERE / 'conformance_client.py'}"
    return judged("client", requirements, "client", ["--command", client], 150)


def main():
    found = []
    for requirements in REQUIREMENTS:
        found += [*as_server("modern", requirements), *as_server("legacy", requirements)]
        found += [*with_own_tools(requirements), *as_client(requirements)]
    print("\n".join(found))
    sys.exit(bool(found))


main()
