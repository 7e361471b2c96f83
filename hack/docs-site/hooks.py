"""Hooks of MkDocs: the navigation of docs/README.md, and links to files beside docs."""

import posixpath
import re
from pathlib import Path

LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")
FENCE = re.compile(r"^\s*(```|~~~)")


def on_config(config):
    """Make the navigation from the tables of README.md: each heading is a section, each link a page."""
    nav, listed = [{"Pages": "README.md"}], set()
    for line in (Path(config["docs_dir"]) / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        links = [(name, target) for name, target, _ in LINK.findall(line) if target.endswith(".md") and not target.startswith("..")]
        if line.startswith("|") and len(cells) == 2 and cells[0] and not cells[1] and not links:
            nav.append({cells[0][0].upper() + cells[0][1:]: []})
        for name, target in links:
            if target not in listed:
                listed.add(target)
                list(nav[-1].values())[0].append({name[0].upper() + name[1:]: target})
    config["nav"] = nav
    return config


def on_page_markdown(markdown, page, config, files):
    """Point links that leave docs, or name a folder, to the repository."""
    known = {file.src_path for file in files}
    folder = posixpath.dirname(page.file.src_path)

    def replace(match):
        name, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if ":" in target or target.startswith("/"):
            return match.group(0)
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in known:
            return match.group(0)
        root = Path(config["docs_dir"]).parent
        inside = posixpath.normpath(posixpath.join("docs", path))
        if not (root / inside).exists():
            return match.group(0)  # MkDocs reports it
        kind = "tree" if (root / inside).is_dir() else "blob"
        return f"[{name}]({config['repo_url']}/{kind}/main/{inside}{anchor})"

    lines, in_code = [], False
    for line in markdown.split("\n"):
        in_code ^= bool(FENCE.match(line))
        lines.append(line if in_code else LINK.sub(replace, line))
    return "\n".join(lines)
