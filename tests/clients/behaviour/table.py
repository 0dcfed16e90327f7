#!/usr/bin/env python3
"""The tables of clients in docs/testing.md, as `petstore exam` judges them in all scenarios.

    table.py make PETSTORE [ID...]           examines the clients, or these, and writes results.json and the tables
    table.py verify PETSTORE ID SCENARIO...  examines a client in these scenarios, and compares that with results.json
    table.py check                           compares clients, results and tables with each other and with the rules of today

`make` needs what `tests/tools/install deep` installs. It compiles the clients into target/clients-table, and leaves the report about each
one there as a page and as JSON.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TOOLS = ROOT / "tests/tools"
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "clients-table"
PAGE = ROOT / "docs/testing.md"
RESULTS = HERE / "results.json"
RULES = ROOT / "adapters/client-report/src/rules.rs"
SCENARIOS = ROOT / "app/command/src/exam/built_in.rs"
MARKS = {name: (f"<!-- {name} of clients -->", f"<!-- end of the {name} of clients -->") for name in ("rules", "scenarios")}

# Worst last.
VERDICTS = ["untested", "kept", "hint", "broken"]
# One that waits for X-RateLimit-Reset by its own clock waits longer than a minute, twice where it is refused twice.
TIMEOUT = "200s"
# Most of an exam is waiting.
AT_ONCE = 4
# The most exams of a scenario in which a client with `random_pauses` has other results than before. Other clients are examined once.
EXAMS = 6


def clients():
    return tomllib.loads((HERE / "clients.toml").read_text())["client"]


def names(path, pattern):
    return re.findall(pattern, path.read_text(), re.MULTILINE)


def rules():
    return names(RULES, r'^ +name: "([\w-]+)",$')


def scenarios():
    return names(SCENARIOS, r'^ +\("([\w-]+)", include_str!')


def locked():
    """The version of each package that a file of this repository locks."""
    found = {}
    for line in (TOOLS / "requirements.txt").read_text().splitlines():
        if match := re.match(r"([\w-]+)(?:\[\w+\])?==([\w.]+)$", line):
            found[match[1]] = match[2]
    found |= json.loads((TOOLS / "package.json").read_text())["devDependencies"]
    crates = tomllib.loads((HERE / "reqwest/Cargo.lock").read_text())["package"]
    return found | {crate["name"]: crate["version"] for crate in crates if crate["name"].startswith("reqwest")}


def of_this_machine(package):
    """The version of a program that no file locks."""
    commands = {
        "curl": (["curl", "--version"], r"curl ([\d.]+)"),
        "java": (["java", "-version"], r'version "([\d.]+)"'),
        "go-retryablehttp": (["dpkg-query", "-Wf", "${Version}", "golang-github-hashicorp-go-retryablehttp-dev"], r"([\d.]+)"),
    }
    command, pattern = commands[package]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return re.search(pattern, done.stdout + done.stderr)[1]


def packages(client):
    return re.findall(r"{([^}]+)}", client["name"])


def digest(client):
    """A digest of a client's program, and of the errand that it runs."""
    errand = {"python": ["errand.py"], "node": ["errand.mjs"]}.get(client["kind"], [])
    files = [client["program"], *([] if client["id"] in ("careful", "bad") else errand)]
    return hashlib.sha256(b"".join((HERE / file).read_bytes() for file in files)).hexdigest()[:16]


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, **options)


def generated(generator, folder):
    """Makes a client with openapi-generator, unless the contract has not changed since."""
    mark, contract = folder / "contract", (ROOT / "openapi.yaml").read_bytes()
    if not mark.is_file() or mark.read_bytes() != contract:
        options = {"python": "packageName=petstore_client", "typescript-fetch": "importFileExtension=.js"}[generator]
        cli = TOOLS / ".venv/bin/openapi-generator-cli"
        flags = ["-i", ROOT / "openapi.yaml", "-o", folder, f"--additional-properties={options}"]
        run(cli, "generate", "-g", generator, *flags, stdout=subprocess.DEVNULL)
        mark.write_bytes(contract)


def command_of(client):
    """Compiles a client if it has to be, and returns its command and the variables that it needs."""
    kind, program = client["kind"], HERE / client["program"]
    python = TOOLS / ".venv/bin/python"
    folder = BUILD / client["id"]
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "python":
        return [python, program], {}
    if kind == "node":
        # Node looks for packages beside a program.
        for source in (program, HERE / "errand.mjs"):
            (folder / source.name).write_bytes(source.read_bytes())
        linked(folder)
        return ["node", folder / program.name], {}
    if kind == "java":
        run("javac", "-d", folder, program)
        return ["java", "-cp", folder, program.stem], {}
    if kind == "go":
        variables = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(BUILD / "go-cache"), "CGO_ENABLED": "0"}
        run("go", "build", "-o", folder / "errand", program, env={**os.environ, **variables})
        return [folder / "errand"], {}
    if kind == "rust":
        run("cargo", "build", "--locked", "--manifest-path", HERE / "reqwest/Cargo.toml", "--target-dir", folder)
        return [folder / "debug/petstore-behaviour-of-reqwest"], {}
    if kind == "generated-python":
        generated("python", folder)
        return [python, program], {"PYTHONPATH": str(folder)}
    assert kind == "generated-typescript", kind
    generated("typescript-fetch", folder / "client")
    for source in program.parent.iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    linked(folder)
    run(TOOLS / "node_modules/.bin/tsc", cwd=folder)
    return ["node", folder / "out/errand.js"], {}


def linked(folder):
    link = folder / "node_modules"
    if not link.is_symlink():
        link.symlink_to(TOOLS / "node_modules")


def examined(petstore, client, prepared, wanted=()):
    """Examines a client, and returns the end and the verdicts of each scenario. The report about all of them is kept."""
    command, variables = prepared
    with tempfile.TemporaryDirectory() as folder:
        other = subprocess.check_output([petstore, "keys", "generate"], text=True).strip()
        flags = [word for name in wanted for word in ("--scenario", name)]
        flags += ["--timeout", TIMEOUT, "--report", "exam.json", "--report", "exam.html"]
        environment = {**os.environ, **variables, "PETSTORE_OTHER_KEY": other, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [petstore, "exam", *flags, "--", *map(str, command)], cwd=folder, env=environment, capture_output=True, text=True
        )
        report = Path(folder, "exam.json")
        if not report.is_file():
            sys.exit(f"{client['id']}: no report\n{done.stderr}")
        for kept in () if wanted else (report, Path(folder, "exam.html")):
            (BUILD / client["id"] / kept.name).write_bytes(kept.read_bytes())
        exam = json.loads(report.read_text())
    first = exam["scenarios"][0]
    if first["name"] == "calm" and result(first)["end"] != "done":
        sys.exit(f"{client['id']} fails where nothing does:\n{first['output']}")
    return {one["name"]: result(one) for one in exam["scenarios"]}


def result(scenario):
    end = scenario["end"]
    ended = "done" if end == {"how": "exited", "code": 0} else "hangs" if end["how"] == "timed-out" else "fails"
    verdicts = {}
    for rule in scenario["rules"]:
        verdicts.setdefault(rule["verdict"], []).append(rule["name"])
    return {"end": ended, **{verdict: verdicts[verdict] for verdict in ("broken", "hint", "kept") if verdict in verdicts}}


def verdict_of(rule, results):
    """The worst verdict about a rule in some scenarios."""
    return next((verdict for verdict in reversed(VERDICTS) if any(rule in one.get(verdict, []) for one in results)), VERDICTS[0])


def table(head, rows):
    lines = ["| Client | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows])


def ended(results):
    """The cell of a scenario: how the program ended, and the rules that it broke."""
    ends = {one["end"] for one in results}
    end = next(end for end in ("hangs", "fails", "done") if end in ends)
    broken = sorted({rule for one in results for rule in one.get("broken", [])}, key=rules().index)
    return end if not broken else f"{end}; **{', '.join(broken)}**"


def tables(results):
    """The tables, by the name of their marks."""
    by_rule, by_scenario = [], []
    for client in clients():
        of_client = results[client["id"]]
        name = client["name"].format_map(of_client["versions"])
        runs = of_client["scenarios"]
        by_rule.append((name, [verdict_of(rule, runs.values()) for rule in rules()]))
        of_name = [[one for run, one in runs.items() if run.split("/")[0] == scenario] for scenario in scenarios()]
        by_scenario.append((name, [ended(one) for one in of_name]))
    return {"rules": table(rules(), by_rule), "scenarios": table(scenarios(), by_scenario)}


def page_with(results):
    text = PAGE.read_text()
    for name, drawn in tables(results).items():
        begin, end = MARKS[name]
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{drawn}\n{end}{rest.split(end)[1]}"
    return text


def written(results):
    """The text of results.json: a line for each scenario of a client."""
    lines = []
    for client in (client for client in clients() if client["id"] in results):
        own = results[client["id"]]
        runs = ",\n".join(f"      {json.dumps(name)}: {json.dumps(one)}" for name, one in own["scenarios"].items())
        head = f'    "versions": {json.dumps(own["versions"])},\n    "program": "{own["program"]}",\n    "rules": {json.dumps(own["rules"])},'
        lines.append(f'  "{client["id"]}": {{\n{head}\n    "scenarios": {{\n{runs}\n    }}\n  }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def settled(petstore, client, command, found, before):
    """The results of an exam, with each of those before that a further exam of its scenario has."""
    for scenario in scenarios():
        runs = [run for run in found if run.split("/")[0] == scenario and run in before]
        for _ in range(1, EXAMS):
            if all(found[run] == before[run] for run in runs):
                break
            again = examined(petstore, client, command, [scenario])
            found |= {run: again[run] for run in runs if found[run] != before[run]}
    return found


def make(petstore, wanted):
    chosen = [client for client in clients() if not wanted or client["id"] in wanted]
    results, versions = {}, locked()
    before = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    prepared = [command_of(client) for client in chosen]

    def one(client, command):
        found = examined(petstore, client, command)
        if client.get("random_pauses"):
            found = settled(petstore, client, command, found, before.get(client["id"], {}).get("scenarios", {}))
        print(client["id"], *[f"{name}: {ended([run])}" for name, run in found.items()], sep="\n  ", flush=True)
        return found

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for client, found in zip(chosen, pool.map(one, chosen, prepared)):
            own = {package: versions.get(package) or of_this_machine(package) for package in packages(client)}
            results[client["id"]] = {"versions": own, "program": digest(client), "rules": rules(), "scenarios": found}
    results = before | results
    RESULTS.write_text(written(results))
    if missing := [client["id"] for client in clients() if client["id"] not in results]:
        sys.exit(f"no tables without the results of {', '.join(missing)}")
    PAGE.write_text(page_with(results))


def verify(petstore, name, wanted):
    client = next(client for client in clients() if client["id"] == name)
    expected = json.loads(RESULTS.read_text())[name]["scenarios"]
    found = examined(petstore, client, command_of(client), wanted)
    wrong = [f"{run}: {one}, and results.json has {expected[run]}" for run, one in found.items() if one != expected[run]]
    return [f"{name} in {line}" for line in wrong]


def check():
    results, versions = json.loads(RESULTS.read_text()), locked()
    for client in clients():
        name = client["id"]
        if name not in results:
            yield f"{name} has no results"
            continue
        own = results[name]
        if own["program"] != digest(client):
            yield f"{name}: its program is not the one that was examined"
        if own["rules"] != rules():
            yield f"{name} was examined by other rules"
        if list(dict.fromkeys(run.split("/")[0] for run in own["scenarios"])) != scenarios():
            yield f"{name} was examined in other scenarios"
        for package in packages(client):
            if own["versions"].get(package) != versions.get(package, own["versions"].get(package)):
                yield f"{name}: {package} is locked at {versions[package]}, and was {own['versions'].get(package)}"
    ids = {client["id"] for client in clients()}
    if unknown := results.keys() - ids:
        yield f"results of clients that do not exist: {sorted(unknown)}"
    if ids <= results.keys() and page_with(results) != PAGE.read_text():
        yield "docs/testing.md has other tables than the results"


def main():
    match sys.argv[1:]:
        case ["make", petstore, *wanted]:
            return make(str(Path(petstore).resolve()), wanted)
        case ["verify", petstore, name, *wanted]:
            faults = verify(str(Path(petstore).resolve()), name, wanted)
        case ["check"]:
            faults = list(check())
        case _:
            sys.exit(__doc__)
    if faults:
        sys.exit("\n".join([*faults, "examine the clients again: bash tests/deep behaviour"]))


if __name__ == "__main__":
    main()
