"""Mutants of Python: mutmut's operators, and three of our own (negated condition, deleted statement, returned None)."""

import ast
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePath

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

from .mutant import Edit, changed_tokens

PROSE = re.compile(r"\w[.,;:]? +\w")
LOGS = {"log", "warn", "warning", "info", "debug"}
_ANNOTATIONS = (cst.Annotation, cst.Import, cst.ImportFrom, cst.TypeAlias)
_OWN_CHANGES = {cst.Equal, cst.NotEqual, cst.Is, cst.IsNot, cst.In, cst.NotIn}


def python_edits(source: str) -> list[Edit]:
    """All edits of a module but of what only people or type checkers read."""
    visitor = _Visitor(source)
    MetadataWrapper(cst.parse_module(source)).visit(visitor)
    return visitor.edits


def compiles(source: str, path: str) -> bool:
    try:
        compile(source, PurePath(path).name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Visitor(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self, source: str) -> None:
        super().__init__()
        self.edits: list[Edit] = []
        self._source = source
        self._starts = [0, *(match.end() for match in re.finditer("\n", source))]
        self._code = cst.Module([]).code_for_node
        self._scope: list[str] = []
        self._statements: list[tuple[int, int]] = [(1, 1)]

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, _ANNOTATIONS) or _is_docstring(node) or _is_for_type_checkers(node):
            return False
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            self._statements.append(self._header(node))
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
            self._scope.append(node.name.value)
        for operator, span, after in self._changes(node):
            self.edits.append(Edit(*span, after, operator, ".".join(self._scope), self._statements[-1]))
        return not _speaks(node)

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and not (
            _is_docstring(original_node) or _is_for_type_checkers(original_node)
        ):
            self._statements.pop()
        if isinstance(original_node, (cst.ClassDef, cst.FunctionDef)):
            self._scope.pop()

    def _changes(self, node: cst.CSTNode) -> Iterator[tuple[str, tuple[int, int], str]]:
        if not _speaks(node) and not (isinstance(node, cst.SimpleString) and PROSE.search(str(node.evaluated_value))):
            for kind, operator in mutation_operators:
                if isinstance(node, kind) and kind is not cst.Match:
                    # Of a string's three the first: the other two change its case.
                    for new in islice(operator(node), 1 if isinstance(node, cst.BaseString) else None):
                        yield operator.__name__.removeprefix("operator_"), *self._replaced(node, new)
        if isinstance(node, (cst.If, cst.While, cst.CompIf)):
            test = node.test
            ours = (
                isinstance(test, cst.Comparison) and {type(part.operator) for part in test.comparisons} & _OWN_CHANGES
            )
            if not ours and not (isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)):
                start, end = self._span(test)
                yield "negated_condition", (start, end), f"not ({self._source[start:end]})"
        if isinstance(node, (cst.Raise, cst.Del)) or (
            isinstance(node, cst.Expr) and isinstance(node.value, (cst.Call, cst.Yield)) and not _speaks(node.value)
        ):
            yield "deleted_statement", self._span(node), "pass"
        if isinstance(node, cst.Return) and node.value is not None and self._code(node.value) != "None":
            yield "returned_none", self._span(node.value), "None"

    def _replaced(self, node: cst.CSTNode, new: cst.CSTNode) -> tuple[tuple[int, int], str]:
        """The least part of the source that `new` changes, and what it becomes."""
        if getattr(new, "lpar", ()) is getattr(node, "lpar", None):
            new = new.with_changes(lpar=[], rpar=[])
        bare = node.with_changes(lpar=[], rpar=[]) if hasattr(node, "lpar") else node
        old_code, new_code = self._code(bare).strip(), self._code(new).strip()
        start, before, after = changed_tokens(old_code, new_code)
        span_start, span_end = self._span(node)
        there = self._source[span_start:span_end]
        replacement = new_code[start : start + after]
        if there == old_code:
            return (span_start + start, span_start + start + before), replacement
        # The same text, indented otherwise: counted in characters that are no spaces.
        visible = [span_start + index for index, character in enumerate(there) if not character.isspace()]
        skipped = sum(not character.isspace() for character in old_code[:start])
        changed = sum(not character.isspace() for character in old_code[start : start + before])
        if not changed:
            position = visible[skipped - 1] + 1 if skipped else span_start
            return (position, position), replacement
        return (visible[skipped], visible[skipped + changed - 1] + 1), replacement

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._place(node)
        start, end = ((point.line, point.column) for point in (place.start, place.end))
        return self._starts[start[0] - 1] + start[1], self._starts[end[0] - 1] + end[1]

    def _header(self, node: cst.CSTNode) -> tuple[int, int]:
        """Lines of a statement, of a compound one those before its body."""
        place = self._place(node)
        first, last = place.start.line, place.end.line
        if isinstance(node, (cst.ClassDef, cst.FunctionDef)) and node.decorators:
            first = min(first, *(self._place(decorator).start.line for decorator in node.decorators))
        if isinstance(node, cst.BaseCompoundStatement) and hasattr(node, "body"):
            last = max(first, self._place(node.body).start.line - 1, place.start.line)
        return first, last

    def _place(self, node: cst.CSTNode) -> CodeRange:
        place = self.get_metadata(PositionProvider, node)
        assert isinstance(place, CodeRange)
        return place


def _is_docstring(node: cst.CSTNode) -> bool:
    """A statement that is a string alone: of a module, class, function, or below a field."""
    if isinstance(node, cst.SimpleStatementLine):
        node = node.body[0]
    return isinstance(node, cst.Expr) and isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString))


def _is_for_type_checkers(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.If) and isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"


def _speaks(node: cst.CSTNode) -> bool:
    """Is it an error that is raised, or a line of a log? What is in it only people read."""
    if isinstance(node, cst.Raise):
        return True
    if not isinstance(node, cst.Call):
        return False
    name = node.func.attr.value if isinstance(node.func, cst.Attribute) else getattr(node.func, "value", "")
    of_tqdm = isinstance(node.func, cst.Attribute) and getattr(node.func.value, "value", "") == "tqdm"
    to_stderr = any(arg.keyword and arg.keyword.value == "file" for arg in node.args)
    return name in LOGS or (name == "write" and of_tqdm) or (name == "print" and to_stderr)


def imported_modules(source: str) -> set[str]:
    """Dotted names of modules that a source imports at its top."""
    found = set[str]()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            found.add(statement.module)
    return found
