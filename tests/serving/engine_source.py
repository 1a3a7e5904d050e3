"""Reads the command line that a vLLM release builds out of its source text, without running any of it.

`Source` finds what a name of the release stands for, and `Reader` follows the statements that build the
parser: assignments, dictionaries, calls of methods of the release's own classes, `add_argument`. Whatever
it cannot follow becomes an `Opaque` with the source text. Both branches of an `if` are read.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

_CONTAINER_METHODS = {"get", "items", "pop", "remove", "replace", "update"}
_TRANSPARENT_HINTS = {"Annotated", "Optional", "SkipValidation", "Union"}
_NOT_FIELDS = {"ClassVar", "InitVar"}


@dataclass(frozen=True)
class Opaque:
    """An expression that was not followed; only its source text is known."""

    text: str


@dataclass(frozen=True)
class Import:
    """A name bound by `from module import name`."""

    module: str
    name: str


@dataclass(frozen=True, eq=False)
class Module:
    """One source file: what its top level binds, and the modules that it imports all names of."""

    name: str
    bindings: Mapping[str, ast.AST | Import]
    stars: Sequence[str] = ()


@dataclass(frozen=True)
class Found:
    """What a name stands for: a class, a function or a value expression, with the module to read it in."""

    module: Module
    node: ast.AST


@dataclass(frozen=True)
class Method:
    """A method reached through a class: the class that defines it, and the class it was asked of."""

    function: ast.FunctionDef
    owner: Found
    receiver: Found


@dataclass(frozen=True)
class Super:
    """`super()` inside a class method."""

    owner: Found
    receiver: Found


@dataclass(frozen=True)
class Hint:
    """One member of an annotation's union."""

    name: str
    values: tuple[Any, ...] = ()
    arguments: tuple[ast.expr, ...] = ()
    config: Found | None = None


@dataclass
class Flag:
    """One long flag as the parser gets it."""

    name: str
    aliases: list[str]
    kind: str
    type: str | None
    choices: list[str] | None
    nargs: int | str | None
    repeatable: bool
    config: Found | None = field(default=None, repr=False)

    def entry(self) -> dict[str, Any]:
        """The flag as the table holds it."""
        return {
            "aliases": self.aliases,
            "choices": self.choices,
            "kind": self.kind,
            "nargs": self.nargs,
            "repeatable": self.repeatable,
            "type": self.type,
        }


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that a module runs when it is imported, through `if` and `try`."""
    for statement in body:
        if isinstance(statement, ast.If):
            typing_only = ast.unparse(statement.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}
            yield from _statements([] if typing_only else statement.body)
            yield from _statements(statement.orelse)
        elif isinstance(statement, ast.Try):
            yield from _statements([*statement.body, *statement.orelse])
        else:
            yield statement


def _bound(statement: ast.stmt, package: Sequence[str]) -> Iterator[tuple[str, ast.AST | Import]]:
    """The names that one statement binds; `package` are the parts of the package that it is in."""
    match statement:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name, statement
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.ImportFrom(module=module, names=names, level=level):
            base = package[: len(package) - level + 1] if level else ()
            origin = ".".join([*base, *([module] if module else [])])
            yield from ((alias.asname or alias.name, Import(origin, alias.name)) for alias in names)


class Source:
    """The Python files of a release, by their path in its wheel."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files
        self._modules: dict[str, Module | None] = {}

    def module(self, name: str) -> Module | None:
        """A module of the release, or None when the release has none of that name."""
        if name not in self._modules:
            self._modules[name] = self._load(name)
        return self._modules[name]

    def _load(self, name: str) -> Module | None:
        path, parts = name.replace(".", "/"), name.split(".")
        package = parts if f"{path}/__init__.py" in self.files else parts[:-1]
        text = self.files.get(f"{path}/__init__.py", self.files.get(f"{path}.py"))
        if text is None:
            return None
        bound = [pair for statement in _statements(ast.parse(text).body) for pair in _bound(statement, package)]
        stars = [target.module for key, target in bound if key == "*" and isinstance(target, Import)]
        return Module(name, dict(bound), stars)

    def find(self, module: str, name: str) -> Found:
        """What a name of a module stands for; raises LookupError when the release does not say."""
        home = self.module(module)
        found = self.resolve(home, name) if home else None
        if found is None:
            raise LookupError(f"this release has no {module}.{name}")
        return found

    def resolve(self, module: Module, name: str, passed: frozenset[str] = frozenset()) -> Found | None:
        """What a name in a module stands for, through imports; `passed` are the modules on the way there."""
        if module.name in passed:
            return None
        bound = module.bindings.get(name)
        if bound and not isinstance(bound, Import):
            return Found(module, bound)
        onward = [(bound.module, bound.name)] if bound else [(star, name) for star in module.stars]
        homes = ((self.module(origin), theirs) for origin, theirs in onward)
        tries = (self.resolve(home, theirs, passed | {module.name}) for home, theirs in homes if home)
        return next((found for found in tries if found), None)

    def lineage(self, cls: Found) -> list[Found]:
        """A class and the classes of the release that it derives from, nearest first."""
        found = [cls]
        for base in cls.node.bases if isinstance(cls.node, ast.ClassDef) else []:
            parent = self.resolve(cls.module, base.id) if isinstance(base, ast.Name) else None
            found += self.lineage(parent) if parent else []
        return found

    def fields(self, cls: Found) -> dict[str, tuple[ast.expr, Module]]:
        """The fields that the constructor of a dataclass takes: annotation and the module to read it in."""
        found: dict[str, tuple[ast.expr, Module]] = {}
        for ancestor in reversed(self.lineage(cls)):
            for statement in getattr(ancestor.node, "body", []):
                match statement:
                    case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                        if _head(annotation) not in _NOT_FIELDS and not _computed(value):
                            found[name] = annotation, ancestor.module
        return found

    def hints(self, annotation: ast.expr, module: Module) -> list[Hint]:
        """The members of the union that an annotation stands for."""
        match annotation:
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                return [*self.hints(left, module), *self.hints(right, module)]
            case ast.Constant(value=str() as text):
                return self.hints(ast.parse(text, mode="eval").body, module)
            case ast.Constant(value=None):
                return [Hint("None")]
            case ast.Subscript():
                return self._subscripted(annotation, module)
            case ast.Name(id=name):
                return self._named(name, module)
        return [Hint(ast.unparse(annotation))]

    def _subscripted(self, annotation: ast.Subscript, module: Module) -> list[Hint]:
        head, inner = _head(annotation), annotation.slice
        arguments = tuple(inner.elts) if isinstance(inner, ast.Tuple) else (inner,)
        if head == "Literal":
            return [Hint("Literal", tuple(self._literals(arguments, module)))]
        if head in _TRANSPARENT_HINTS:
            members = arguments[:1] if head in {"Annotated", "SkipValidation"} else arguments
            found = [hint for member in members for hint in self.hints(member, module)]
            return [*found, Hint("None")] if head == "Optional" else found
        return [Hint(head, arguments=arguments)]

    def _literals(self, arguments: Sequence[ast.expr], module: Module) -> Iterator[Any]:
        for argument in arguments:
            if isinstance(argument, ast.Constant):
                yield argument.value
            else:
                yield from (value for hint in self.hints(argument, module) for value in hint.values)

    def _named(self, name: str, module: Module) -> list[Hint]:
        found = self.resolve(module, name)
        match found:
            case Found(node=ast.ClassDef(decorator_list=decorators, bases=bases)):
                if any(_head(base) == "dict" for base in bases):
                    return [Hint("dict")]
                made = any(_head(decorator) in {"config", "dataclass"} for decorator in decorators)
                return [Hint(name, config=found if made else None)]
            case Found(module=home, node=ast.expr() as node):
                return self.hints(node, home)
        return [Hint(name)]

    def names(self, found: Found) -> list[str]:
        """The names that a definition lists: values of a Literal, keys of a dict, members or fields."""
        match found.node:
            case ast.Dict(keys=keys):
                return sorted(str(key.value) for key in keys if isinstance(key, ast.Constant))
            case ast.ClassDef(body=body):
                members = [s.targets[0] for s in body if isinstance(s, ast.Assign)]
                enumerated = {m.id for m in members if isinstance(m, ast.Name) and not m.id.startswith("_")}
                return sorted(enumerated | set(self.fields(found)))
            case ast.expr() as node:
                return sorted(str(value) for hint in self.hints(node, found.module) for value in hint.values)
        return []


def _head(node: ast.expr) -> str:
    """The last name of a possibly dotted, subscripted or called expression."""
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _head(inner)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _computed(value: ast.expr | None) -> bool:
    """Whether a field's default says `init=False`."""
    keywords = value.keywords if isinstance(value, ast.Call) else []
    return any(k.arg == "init" and getattr(k.value, "value", True) is False for k in keywords)


class Reader:
    """Follows the functions of a release that build a parser, and collects its flags."""

    def __init__(self, source: Source, inverses: Mapping[str, str] | None = None) -> None:
        self.source = source
        self.inverses = inverses or {}
        self.flags: dict[str, Flag] = {}

    def read(self, function: Found) -> Self:
        """Follow a function and collect the flags that it adds."""
        if isinstance(function.node, ast.FunctionDef):
            self._run(function.node.body, _Scope(function.module, {}))
        return self

    def _run(self, body: Sequence[ast.stmt], scope: "_Scope") -> Any:
        result: Any = Opaque("None")
        for statement in body:
            match statement:
                case ast.Return(value=ast.expr() as value):
                    result = self.value(value, scope)
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self.value(value, scope), scope)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign(target, self.value(value, scope), scope)
                case ast.Delete(targets=targets):
                    self._delete(targets, scope)
                case ast.Expr(value=value):
                    self.value(value, scope)
                case ast.If(body=met, orelse=unmet):
                    self._run([*met, *unmet], scope)
                case ast.For():
                    self._repeat(statement, scope)
        return result

    def _assign(self, target: ast.expr, value: Any, scope: "_Scope") -> None:
        match target:
            case ast.Name(id=name):
                scope.names[name] = value
            case ast.Subscript(value=inner, slice=key):
                container = self.value(inner, scope)
                if isinstance(container, dict):
                    container[self.value(key, scope)] = value
            case ast.Tuple(elts=targets) if isinstance(value, (list, tuple)):
                for part, item in zip(targets, value, strict=False):
                    self._assign(part, item, scope)

    def _delete(self, targets: Sequence[ast.expr], scope: "_Scope") -> None:
        for target in targets:
            container = self.value(target.value, scope) if isinstance(target, ast.Subscript) else None
            if isinstance(target, ast.Subscript) and isinstance(container, dict):
                container.pop(self.value(target.slice, scope), None)

    def _repeat(self, loop: ast.For, scope: "_Scope") -> None:
        items = self.value(loop.iter, scope)
        for item in items if isinstance(items, list) else []:
            self._assign(loop.target, item, scope)
            self._run(loop.body, scope)

    def value(self, node: ast.expr, scope: "_Scope") -> Any:
        """What an expression evaluates to, as far as it can be followed."""
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self._name(name, scope)
            case ast.Attribute(value=inner, attr=name):
                return self._attribute(self.value(inner, scope), name, node)
            case ast.Call():
                return self._call(node, scope)
            case ast.Subscript() | ast.BinOp():
                return self._operation(node, scope)
        return self._display(node, scope)

    def _operation(self, node: ast.Subscript | ast.BinOp, scope: "_Scope") -> Any:
        if isinstance(node, ast.Subscript):
            container, key = self.value(node.value, scope), self.value(node.slice, scope)
            if isinstance(container, dict) and key in container:
                return container[key]
        elif isinstance(node.op, ast.Add):
            left, right = self.value(node.left, scope), self.value(node.right, scope)
            if isinstance(left, (str, list)) and type(left) is type(right):
                return left + right
        return Opaque(ast.unparse(node))

    def _display(self, node: ast.expr, scope: "_Scope") -> Any:
        match node:
            case ast.Dict(keys=keys, values=values):
                found: dict[Any, Any] = {}
                for key, item in zip(keys, values, strict=True):
                    value = self.value(item, scope)
                    at = {self.value(key, scope): value} if key else value
                    found.update(at if isinstance(at, dict) else {})
                return found
            case ast.JoinedStr(values=parts):
                texts = [self.value(p.value if isinstance(p, ast.FormattedValue) else p, scope) for p in parts]
                return "".join(texts) if all(isinstance(t, str) for t in texts) else Opaque(ast.unparse(node))
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                return self._items(elements, scope)
        return Opaque(ast.unparse(node))

    def _items(self, elements: Sequence[ast.expr], scope: "_Scope") -> list[Any]:
        found: list[Any] = []
        for element in elements:
            value = self.value(element.value if isinstance(element, ast.Starred) else element, scope)
            spread = isinstance(element, ast.Starred) and isinstance(value, list)
            found += value if spread else [value]
        return found

    def _name(self, name: str, scope: "_Scope") -> Any:
        if name in scope.names:
            return scope.names[name]
        found = self.source.resolve(scope.module, name)
        if found and isinstance(found.node, (ast.Constant, ast.List, ast.Tuple, ast.Dict)):
            return self.value(found.node, _Scope(found.module, {}))
        return found if found and isinstance(found.node, ast.ClassDef) else Opaque(name)

    def _attribute(self, base: Any, name: str, node: ast.expr) -> Any:
        if isinstance(base, Found):
            return self._method(base, self.source.lineage(base), name) or Opaque(ast.unparse(node))
        if isinstance(base, Super):
            line = self.source.lineage(base.receiver)
            return self._method(base.receiver, line[line.index(base.owner) + 1 :], name) or Opaque("")
        if isinstance(base, (dict, list, str)) and name in _CONTAINER_METHODS and hasattr(base, name):
            return getattr(base, name)
        return Opaque(ast.unparse(node))

    @staticmethod
    def _method(receiver: Found, line: Sequence[Found], name: str) -> Method | None:
        for owner in line:
            for statement in getattr(owner.node, "body", []):
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return Method(statement, owner, receiver)
        return None

    def _call(self, node: ast.Call, scope: "_Scope") -> Any:
        called, name = self.value(node.func, scope), _head(node.func)
        if isinstance(called, Opaque) and name == "super":
            return Super(scope.names["__class__"], scope.names["cls"])
        if isinstance(called, Opaque) and name == "get_args":
            return self._literal_values(node.args[0], scope)
        arguments = self._items(node.args, scope)
        if isinstance(called, Opaque) and name == "get_kwargs" and isinstance(arguments[0], Found):
            return self.keywords(arguments[0])
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.value(keyword.value, scope)
            at = {keyword.arg: value} if keyword.arg else value
            keywords.update(at if isinstance(at, dict) else {})
        if isinstance(called, Opaque) and name == "add_argument":
            self._add(arguments, keywords)
        elif isinstance(called, Method):
            return self._invoke(called, arguments, keywords)
        elif not isinstance(called, (Opaque, Found)):
            result = _apply(called, arguments)
            return list(result) if name == "items" else result
        return Opaque(ast.unparse(node))

    def _literal_values(self, annotation: ast.expr, scope: "_Scope") -> list[Any]:
        return [value for hint in self.source.hints(annotation, scope.module) for value in hint.values]

    def _invoke(self, method: Method, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
        names = [argument.arg for argument in method.function.args.args]
        decorators = {_head(decorator) for decorator in method.function.decorator_list}
        bound = [method.receiver, *arguments] if "classmethod" in decorators else arguments
        scope = _Scope(method.owner.module, {**dict(zip(names, bound, strict=False)), **keywords})
        scope.names |= {"__class__": method.owner, "cls": method.receiver}
        return self._run(method.function.body, scope)

    def keywords(self, cls: Found) -> dict[str, dict[str, Any]]:
        """What the release's `get_kwargs` makes of each field of a dataclass, without the defaults."""
        return {
            name: self._keywords(self.source.hints(annotation, module), module)
            for name, (annotation, module) in self.source.fields(cls).items()
        }

    def _keywords(self, hints: Sequence[Hint], module: Module) -> dict[str, Any]:
        by_name = {hint.name: hint for hint in hints}
        config = next((hint.config for hint in hints if hint.config), None)
        collection = next((by_name[name] for name in ("tuple", "list", "set") if name in by_name), None)
        if config:
            return {"type": Opaque("json.loads"), "config": config}
        if set(by_name) == {"bool", "str", "None"}:
            return {"type": Opaque("str"), "nargs": "?"}
        if "bool" in by_name:
            return {"action": Opaque("argparse.BooleanOptionalAction")}
        if "Literal" in by_name:
            return _choices([value for hint in hints for value in hint.values], enforced="str" not in by_name)
        if collection:
            return self._collection(collection, module)
        return {"type": _scalar(by_name)}

    def _collection(self, hint: Hint, module: Module) -> dict[str, Any]:
        elements = [a for a in hint.arguments if not (isinstance(a, ast.Constant) and a.value is Ellipsis)]
        fixed = hint.name == "tuple" and len(elements) == len(hint.arguments)
        members = self.source.hints(elements[0], module) if elements else []
        inner = self._keywords(members, module) if len(members) == 1 and not members[0].config else {}
        return {"type": Opaque("str"), **inner, "nargs": len(elements) if fixed else "+"}

    def _add(self, names: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        long = [name for name in names if isinstance(name, str) and name.startswith("--")]
        if not long:
            return
        action = keywords.get("action", "store")
        action = getattr(action, "text", action if isinstance(action, str) else "")
        aliases = [name for name in names if isinstance(name, str) and name != long[0]]
        paired = action.endswith("BooleanOptionalAction")
        if paired:
            aliases += [f"--no-{name[2:]}" for name in long]
            aliases += [new + n[len(old) :] for n in long for old, new in self.inverses.items() if n.startswith(old)]
        switch = paired or action in {"store_true", "store_false"}
        self.flags[long[0]] = Flag(
            name=long[0],
            aliases=sorted(aliases),
            kind="bool" if switch else "value",
            type=None if switch else _type(keywords.get("type")),
            choices=_texts(keywords.get("choices")),
            nargs=0 if switch else keywords.get("nargs"),
            repeatable=action == "append",
            config=keywords.get("config"),
        )


@dataclass
class _Scope:
    """The local names of a function that is being followed."""

    module: Module
    names: dict[str, Any]


def _apply(function: Any, arguments: Sequence[Any]) -> Any:
    """Call a method of a plain container; what it has no answer for is opaque."""
    try:
        return function(*arguments)
    except (KeyError, TypeError, ValueError):
        return Opaque("")


def _choices(values: Sequence[Any], *, enforced: bool) -> dict[str, Any]:
    kind = Opaque(type(values[0]).__name__ if values else "str")
    return {"type": kind, "choices": list(values)} if enforced else {"type": kind}


def _scalar(by_name: Mapping[str, Hint]) -> Opaque:
    """The conversion of a field that is neither a switch, a choice nor a collection."""
    for name in ("int", "float"):
        if name in by_name:
            return Opaque(name)
    if "dict" not in by_name:
        return Opaque("str")
    foreign = any(name != "None" and not hasattr(builtins, name) for name in by_name)
    return Opaque("union_dict_and_str" if "str" in by_name or foreign else "json.loads")


def _type(conversion: Any) -> str:
    """The table's word for a conversion: int, float, json, "json or str", str."""
    text = conversion.text if isinstance(conversion, Opaque) else ""
    if text in {"int", "float"}:
        return text
    if "union_dict_and_str" in text:
        return "json or str"
    return "json" if re.search(r"\bjson\.loads\b", text) else "str"


def _texts(choices: Any) -> list[str] | None:
    """Choices as they are written on a command line; None when they were not all read."""
    if not isinstance(choices, list) or any(isinstance(choice, Opaque) for choice in choices):
        return None
    return sorted(str(choice) for choice in choices)
