"""The files of packaging/ against the real program: every path is there, every flag is known, every configuration is
good, and the probes get their answers. A container engine is not needed."""

import json
import os
import re
import shutil
import subprocess
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import yaml

BINARY, ROOT, SCRATCH = (os.environ[name] for name in ("TOOLMUX_BIN", "TOOLMUX_ROOT", "TOOLMUX_SCRATCH"))
PACKAGING, SCRATCH = Path(ROOT, "packaging"), Path(SCRATCH)
HELP = subprocess.run([BINARY, "serve", "--help"], capture_output=True, text=True, check=True).stdout
SECRETS = {"TOOLMUX_KEY": "a-key-of-the-tests", "TOOLMUX_STORE": "memory"}


def read(name):
    return (PACKAGING / name).read_text()


def command_line(words, where):
    assert words[0] == "serve", where
    for word in words:
        assert not re.search(r"://|\$[({]", word), f"{where}: {word} may hold a password, and anybody can read it"
    for flag in (word for word in words if word.startswith("--")):
        assert re.search(rf"{flag}\b", HELP), f"{where}: `serve` has no {flag}"


def dockerfile():
    text = read("Dockerfile")
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.M):
        for source in line.split()[:-1]:
            assert Path(ROOT, source).exists(), f"Dockerfile copies {source}, which is not there"
    manifest = tomllib.loads(Path(ROOT, "crates/toolmux/Cargo.toml").read_text())
    assert f"--package {manifest['package']['name']} --bin toolmux" in text
    command_line(json.loads(re.search(r"^CMD (.*)$", text, re.M)[1]), "Dockerfile")
    assert re.search(r"^USER nonroot", text, re.M), "the image runs as root"


def compose():
    compose = yaml.safe_load(read("docker-compose.yml"))
    services = compose["services"]
    command_line(services["toolmux"]["command"], "docker-compose.yml")
    assert Path(PACKAGING, services["toolmux"]["build"]["context"], services["toolmux"]["build"]["dockerfile"]).exists()
    assert services["toolmux"]["depends_on"].keys() <= services.keys()
    return compose["configs"][services["toolmux"]["configs"][0]["source"]]["content"]


def kubernetes():
    kinds = {document["kind"]: document for document in yaml.safe_load_all(read("kubernetes.yaml"))}
    pod = kinds["Deployment"]["spec"]["template"]
    assert kinds["Service"]["spec"]["selector"] == pod["metadata"]["labels"]
    assert kinds["Deployment"]["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]
    container = pod["spec"]["containers"][0]
    command_line(container["args"], "kubernetes.yaml")
    probes = {container[probe]["httpGet"]["path"] for probe in ("startupProbe", "readinessProbe", "livenessProbe")}
    return kinds["ConfigMap"]["data"]["toolmux.toml"], probes


def configuration(name, text):
    """Good as it stands but for the folder of the image."""
    shutil.copy(Path(ROOT, "examples/opendyn/libm.opendyn.json"), SCRATCH)
    path = SCRATCH / name
    path.write_text(text.replace("/etc/toolmux/", ""))
    subprocess.run([BINARY, "check", path], check=True, env={**os.environ, **SECRETS})
    return path


def status(url):
    try:
        return urllib.request.urlopen(url, timeout=30).status
    except urllib.error.HTTPError as error:
        return error.code


def probes_are_answered(path, probes):
    """Served on every address of this machine, as in a container, on a port of the system's choice."""
    words = [BINARY, "serve", path, "--listen", "0.0.0.0:0", "--store", "memory", "--log", "json"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **SECRETS})
    try:
        said = (json.loads(line)["fields"] for line in server.stderr)
        base = next(fields["url"] for fields in said if fields["message"] == "serving")
        for probe in probes:
            assert status(base + probe) == 200, probe
        assert status(base + "/tools") == 401
    finally:
        server.terminate()
        assert server.wait(60) == 0


def unit():
    text = read("toolmux.service")
    words = re.search(r"^ExecStart=(.*)$", text, re.M)[1].split()
    command_line(words[1:], "toolmux.service")
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not here: the unit is only read")
        return
    path = SCRATCH / "toolmux.service"
    path.write_text(text.replace(words[0], BINARY).replace("Documentation=man:toolmux(1)\n", ""))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "toolmux" in line]
    assert not ours, "\n".join(ours)


dockerfile()
composed = compose()
in_cluster, probed = kubernetes()
unit()
configuration("cluster.toml", in_cluster)
configuration("composed.toml", composed)
probes_are_answered(configuration("container.toml", read("container.toml")), probed)
print("packaging/ is as it should be")
