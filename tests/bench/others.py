"""What others wrote, through the whole pipeline: `python -m tests.bench.others [--cases FOLDER] [--readme FILE]`.

Imports and runs each case in a temporary folder, as the README says, with the params of this project but fp_weight 2,
prints a Markdown table of the holdouts and writes it into the README between two markers. A case that is not here is
named, and then the README stays as it is. Takes two to three minutes, the encoder's training on emoji most of it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stages.params import SYSTEMS
from tests.project import ROOT, environment

CASES = ROOT.parent / "shared" / "cases"
BEGIN, END = "<!-- results of others -->", "<!-- end -->"
HEAD = (
    *("questions of", "system", "hit@1", "hit@5", "questions", "unanswerable", "AUROC"),
    *("false accepts", "refused or wrong", "known of others"),
)
SOURCES = ("stages", "dvc.yaml", "params.yaml", "pyproject.toml")


class Case(NamedTuple):
    """A source below the folder of cases, what is known of others on it, and the options of its import."""

    name: str
    format: str
    source: str
    known: str
    options: tuple[str, ...] = ()


LISTED = (
    Case(
        *("SQuAD 2.0, 2 articles", "squad2", "squad2/small.json"),
        "BM25 over paragraphs: hit@1 81 %; its score: AUROC 0.55",
    ),
    Case(
        *("NoMIRACL, English", "nomiracl", "nomiracl-en"),
        "the two columns before: GPT-4 42.4 / 4.8, GPT-3.5 44.4 / 8.0, Mixtral 27.2 / 20.8, "
        "Mistral-7B 6.4 / 58.8, Llama-2-70B 89.6 / 0; BM25's best score 42.4 / 39.6, AUROC 0.637",
    ),
    Case("Twemoji, keywords", "images", "emoji", "none"),
    Case("Ethereum proposals, front matter", "documents", "markdown/eips", "none"),
    Case(
        *("SQuAD 2.0, scores of XLNet", "scores", "scores/xlnet-squad2.tsv", "AUROC 0.895 over all 8,733"),
        ("--score-column", "null_odds", "--lower-is-better"),
    ),
)


def frostline(here: Path, *words: str) -> str:
    """Run a command in a folder and return what it printed; a failure ends the benchmark with it."""
    known = environment(here.parent / "machine") | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "stages.cli", *words]
    done = subprocess.run(command, cwd=here, env=known, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def project(folder: Path) -> Path:
    """The sources and params, with fp_weight 2, of which every run makes a project of its own."""
    folder.mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, folder / name)
    params = (folder / "params.yaml").read_text("utf-8").splitlines()
    text = ["  fp_weight: 2" if line.strip().startswith("fp_weight:") else line for line in params]
    (folder / "params.yaml").write_text("\n".join([*text, ""]), "utf-8")
    return folder


def rows(case: Case, source: Path, folder: Path) -> Iterator[tuple[str, ...]]:
    """Import and run a case; one row a system."""
    here, made, run = project(folder / "project"), str(folder / "made"), folder / "run"
    told = frostline(here, "import", case.format, str(source), made, *case.options)
    print(f"{case.name}: {told.removeprefix(f'{made}: ').rstrip()}", flush=True)
    frostline(here, "run", made, str(run))
    if case.format == "scores":
        applied = ("calibrate", "--apply", str(run / "threshold.json"), f"{made}/holdout.tsv", "--model", "made")
        found = json.loads(frostline(here, *applied, "--json"))["holdout"]
        yield case.name, "none", "-", "-", *row(found, found["tp"], found["selective"]), case.known
    else:
        metrics = json.loads((run / "artifacts" / "metrics.json").read_bytes())
        for system, one in ((name, metrics[name]) for name in SYSTEMS if name in metrics):
            right = sum(one["answers"][category]["correct"] for category in ("image", "field", "passage"))
            hits = (hit(one["retrieval"], depth) for depth in (1, 5))
            yield case.name, system, *hits, *row(one["decision"], right, one["selective"]), case.known


def row(decision: Mapping[str, Any], right: int, selective: Mapping[str, Any]) -> tuple[str, ...]:
    """What was asked, how well the signal ranks, and what was decided; `right` answers of the answerable questions."""
    answerable, unanswerable = decision["tp"] + decision["fn"], decision["fp"] + decision["tn"]
    return (
        *(str(answerable + unanswerable), str(unanswerable), f"{selective['auroc']:.3f}"),
        *(share(decision["fp"], unanswerable), share(answerable - right, answerable)),
    )


def hit(retrieval: Mapping[str, Any], depth: int) -> str:
    """A hit rate before and after reranking."""
    (before, asked), (after, _) = (retrieval[f"{when}_rerank"][f"hit_at_{depth}_of"] for when in ("before", "after"))
    return f"{100 * before / asked:.1f} → {100 * after / asked:.1f} % ({before} → {after} of {asked})"


def share(number: int, of: int) -> str:
    """A rate with its counts."""
    return f"{100 * number / of:.1f} % ({number}/{of})"


def table(found: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (HEAD, ("---",) * len(HEAD), *found))


def written(readme: Path, text: str) -> str:
    """Put the table between the markers, and say so."""
    old = readme.read_text("utf-8")
    if not 0 <= old.find(BEGIN) < old.find(END, old.find(BEGIN)):
        return f"{readme}: no `{BEGIN}` and `{END}` to write the table between; left as it is"
    before, _, rest = old.partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")
    return f"written to {readme}"


def main() -> None:
    parser = argparse.ArgumentParser(description="The pipeline on what others wrote, beside what is known of others.")
    parser.add_argument("--cases", type=Path, default=CASES, help="default: ../shared/cases")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md", help="default: README.md")
    chosen = parser.parse_args()
    here = [case for case in LISTED if (chosen.cases / case.source).exists()]
    found: list[tuple[str, ...]] = []
    for case in here:
        with tempfile.TemporaryDirectory() as folder:
            found += rows(case, chosen.cases / case.source, Path(folder))
    absent = [f"{case.name}: no {chosen.cases / case.source} here; left out" for case in LISTED if case not in here]
    print("\n".join([table(found), *absent]))
    print(f"{chosen.readme}: left as it is" if absent else written(chosen.readme, table(found)))


if __name__ == "__main__":
    main()
