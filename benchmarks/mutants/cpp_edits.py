"""Mutants of C++: operators of our own on the syntax tree that tree-sitter makes."""

import re
from collections.abc import Iterator

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from .mutant import Edit

_LANGUAGE = Language(tree_sitter_cpp.language())
SWAPPED = {
    **{"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"},
    **{"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "^": "&"},
    **{"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|=", "<<=": ">>=", ">>=": "<<="},
    **{"^=": "&=", "%=": "*=", "++": "--", "--": "++"},
    **{"true": "false", "false": "true", "min": "max", "max": "min"},
}
LEFT_OUT = {
    *("comment", "preproc_include", "preproc_defined", "static_assert_declaration", "template_argument_list"),
    *("template_parameter_list", "attribute_declaration", "array_declarator", "string_literal", "ERROR"),
    *("type_descriptor", "parameter_list", "alias_declaration", "using_declaration"),
}
_NUMBER = re.compile(r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)([a-zA-Z]*)")


def cpp_edits(source: str) -> list[Edit]:
    """All edits of a source or a header but of texts, types and what is settled while compiling by its form."""
    code = source.encode()
    characters = [0] * (len(code) + 1)
    for index, byte in enumerate(code):
        characters[index + 1] = characters[index] + (byte & 0xC0 != 0x80)
    edits: list[Edit] = []

    def walk(node: Node, scope: tuple[str, ...], statement: tuple[int, int]) -> None:
        if node.type in LEFT_OUT or node.is_missing:
            return
        name = _name(node)
        scope = (*scope, name) if name else scope
        if node.type.endswith(("_statement", "declaration")) and node.type != "compound_statement":
            statement = (node.start_point[0] + 1, node.end_point[0] + 1)
        for operator, place, after in _changes(node):
            start, end = characters[place.start_byte], characters[place.end_byte]
            edits.append(Edit(start, end, after, operator, "::".join(scope), statement))
        skipped = node.child_by_field_name("condition") if node.type.startswith("preproc") else None
        for child in node.children:
            if skipped is None or child != skipped:
                walk(child, scope, statement)

    walk(Parser(_LANGUAGE).parse(code).root_node, (), (1, 1))
    return edits


def _name(node: Node) -> str | None:
    """Of a class, namespace or function that the node defines."""
    if node.type in ("class_specifier", "struct_specifier", "namespace_definition"):
        name = node.child_by_field_name("name")
        return _text(name) if name else None
    if node.type != "function_definition":
        return None
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(iter(declarator.named_children), None)
    name = declarator.child_by_field_name("declarator") if declarator else None
    return _text(name) if name else None


def _text(node: Node) -> str:
    return (node.text or b"").decode()


def _changes(node: Node) -> Iterator[tuple[str, Node, str]]:
    """Operator, what is replaced, by what."""
    kind = node.type
    if kind in ("binary_expression", "assignment_expression", "update_expression"):
        operator = node.child_by_field_name("operator")
        if operator and _text(operator) in SWAPPED:
            yield "swapped_operator", operator, SWAPPED[_text(operator)]
        if operator and kind == "assignment_expression" and _text(operator) != "=":
            yield "plain_assignment", operator, "="
    elif kind in ("true", "false"):
        yield "swapped_name", node, SWAPPED[kind]
    elif kind == "identifier" and _text(node) in ("min", "max") and node.parent and node.parent.type != "declaration":
        yield "swapped_name", node, SWAPPED[_text(node)]
    elif kind == "number_literal" and (found := _NUMBER.fullmatch(_text(node))):
        digits, suffix = found[1].replace("'", ""), found[2]
        whole = digits.lower().startswith("0x") or digits.isdigit()
        value = int(digits, 0) if whole and not re.fullmatch("0[0-9]+", digits) else float(digits)
        for step in (1, -1):
            if value + step != value and value + step >= 0:
                yield "number", node, f"{value + step!r}{suffix}"
    elif kind == "unary_expression" and (operator := node.child_by_field_name("operator")):
        argument = node.child_by_field_name("argument")
        if _text(operator) in "!-~" and argument and argument.type != "number_literal":
            yield "removed_operator", node, _text(argument)
    elif kind in ("if_statement", "while_statement", "do_statement", "for_statement", "conditional_expression"):
        condition = node.child_by_field_name("condition")
        value = (
            condition.child_by_field_name("value") if condition and condition.type == "condition_clause" else condition
        )
        if value and value.type == "parenthesized_expression":
            value = value.named_children[0]
        if value and value.type != "declaration" and not _text(value).startswith("!"):
            yield "negated_condition", value, f"!({_text(value)})"
    elif kind in ("expression_statement", "break_statement", "continue_statement"):
        if _text(node) != ";":
            yield "deleted_statement", node, ";"
    elif kind == "return_statement" and node.named_child_count and _text(node) != "return {};":
        yield "returned_default", node, "return {};"
