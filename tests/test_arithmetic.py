"""No arithmetic that depends on the processor decides a byte: every use of it in the sources stands here, with why."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.project import ROOT

NUMPY = {"dot", "vdot", "inner", "einsum", "tensordot", "linalg", "exp", "log", "log2", "log10", "tanh", "sin", "cos"}
NUMPY |= {"tan", "power", "float_power", "convolve", "fft", "cov", "corrcoef", "interp", "logaddexp", "expm1", "log1p"}
MATH = {"exp", "log", "log2", "log10", "log1p", "expm1", "pow", "sin", "cos", "tan", "atan", "atan2", "tanh", "erf"}
MATH |= {"acos", "asin", "gamma", "lgamma", "cbrt"}
WHY = {
    "exact.py": ({"@"}, "its docstring: what it multiplies lies on a grid"),
    "encoder/features.py": ({"@"}, "whole numbers"),
    "corpus/describe.py": ({"@"}, "whole numbers"),
    "measures/paired.py": ({"@"}, "whole numbers of any size"),
    "corpus/outline.py": ({"math.tan", "math.atan2"}, "compared with limits that no outline of pixels meets exactly"),
    "report/svg.py": ({"math.log10"}, "where marks of an axis stand, to two decimals"),
    "report/frontier_plot.py": ({"math.log10"}, "where points stand, to two decimals"),
    "calibration/certificate.py": ({"scipy"}, "incomplete beta, used to 9 decimals"),
    "measures/two_sample.py": ({"scipy"}, "a p value, never in the figures of a pipeline whose questions are no draws"),
}


def uses(tree: ast.AST) -> Iterator[str]:
    """Products of matrices, functions of numpy and math that round differently, and whatever scipy computes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
            yield "@"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            if (module == "np" and name in NUMPY) or (module == "math" and name in MATH):
                yield f"{module}.{name}"
        if isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [one.name for one in node.names]
            names = {one.name for one in node.names}
            yield from ("scipy" for module in modules if module.split(".")[0] in ("scipy", "sklearn"))
            yield from (f"math.{name}" for name in names & MATH if modules == ["math"])
            yield from (f"np.{name}" for name in names & NUMPY if modules == ["numpy"])


def test_where_bytes_could_depend_on_the_processor() -> None:
    found = defaultdict(set)
    for path in (ROOT / "stages").rglob("*.py"):
        for use in uses(ast.parse(path.read_bytes())):
            found[path.relative_to(ROOT / "stages").as_posix()].add(use)
    assert found == {path: names for path, (names, _) in WHY.items()}
