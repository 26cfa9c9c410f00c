#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/sbom.py ROOT FILE [PACKAGE]: what FILE is made of and needs, as SPDX 2.3 in JSON on standard output.

FILE is the Debian PACKAGE, which is installed below ROOT: with what it depends on, and what that does in turn. Or it is an
image, whose files are below ROOT: with all of its packages. The time is SOURCE_DATE_EPOCH.
"""

import datetime
import hashlib
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import quote

HOME = "ddiperf maintainers"
EMBEDDED = Path("lib/report/page/uPlot.iife.min.js")  # a part of the pages, and so of the program


def installed(root):
    """Fields of the packages below it, by the names that they have and provide."""
    packages, names = [], {}
    for text in (root / "var/lib/dpkg/status").read_text().split("\n\n"):
        package = dict(re.findall(r"^([\w-]+): *(.*)", text, re.M))
        if package.get("Status") == "install ok installed":
            packages.append(package)
    for package in packages:
        for name in [package["Package"], *re.findall(r"(?:^|, )([\w.+-]+)", package.get("Provides", ""))]:
            names.setdefault(name, []).append(package)
    return packages, names


def needs(package, names):
    """Installed packages that satisfy what it depends on, of its own architecture where there are two."""
    wanted = ", ".join(package.get(field, "") for field in ("Pre-Depends", "Depends"))
    for name in re.findall(r"(?:^|[,|]) *([\w.+-]+)", wanted):
        found = sorted(names.get(name, []), key=lambda p: p["Architecture"] != package["Architecture"])
        yield from found[:1]


def identity(package):
    return f"SPDXRef-{package['Package']}-{package['Architecture']}".replace("+", ".")


def described(package, distro):
    name, version, arch = (package[field] for field in ("Package", "Version", "Architecture"))
    return {
        "name": name,
        "SPDXID": identity(package),
        "versionInfo": version,
        "supplier": f"Organization: {HOME if HOME in package['Maintainer'] else 'Debian'}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "sourceInfo": f"built from {package.get('Source', name)}",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{quote(name)}@{quote(version, safe='.-~')}?arch={arch}&distro={distro}",
        }],
    }


def main(root, file, wanted=None):
    root, file = Path(root), Path(file)
    packages, names = installed(root)
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)', (root / "etc/os-release").read_text(), re.M))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    top = {
        "name": file.name,
        "SPDXID": "SPDXRef-artefact",
        "packageFileName": file.name,
        "supplier": f"Organization: {HOME}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseDeclared": "BSD-3-Clause",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    found, lines, queue = {}, set(), packages
    if wanted:
        own, = names[wanted]
        top.update(name=wanted, SPDXID=identity(own), versionInfo=own["Version"])
        queue = [own]
    else:
        lines |= {(top["SPDXID"], "CONTAINS", identity(p)) for p in packages}
    while queue:
        package, *queue = queue
        if identity(package) not in found:
            found[identity(package)] = package
            lines |= {(identity(package), "DEPENDS_ON", identity(p)) for p in needs(package, names)}
            queue += needs(package, names)
    found.pop(top["SPDXID"], None)
    part = []
    if wanted in (None, "ddiperf"):
        version = re.search(r"\(v([\d.]+)\)", EMBEDDED.read_text())[1]
        part = [{"name": "uPlot", "SPDXID": "SPDXRef-uPlot", "versionInfo": version, "downloadLocation": "NOASSERTION",
                 "filesAnalyzed": False, "licenseDeclared": "MIT"}]
        lines.add((top["SPDXID"], "CONTAINS", "SPDXRef-uPlot"))
    json.dump({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": file.name,
        "documentNamespace": f"https://ddiperf.example/spdx/{quote(file.name)}/{digest}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": [f"Organization: {HOME}", "Tool: sbom.py"]},
        "packages": [top, *part, *(described(p, f"{release['ID']}-{release['VERSION_ID']}") for _, p in sorted(found.items()))],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in [("SPDXRef-DOCUMENT", "DESCRIBES", top["SPDXID"]), *sorted(lines)]
        ],
    }, sys.stdout, indent=1)
    print()


main(*sys.argv[1:])
