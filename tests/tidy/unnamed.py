# SPDX-License-Identifier: Apache-2.0
"""What the sources of the tree declare in unnamed namespaces, and headers in named ones. Sources
of a folder are compiled several together, so that one's unnamed namespace is the others' too."""

import collections
import re

OPENING = re.compile(r"(?:inline )?namespace ([\w:]*) ?\{$")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|enum|union) (\w+)(?: final)?"
                  r"\b[^;]*$")
CONSTANT = re.compile(r"(?:inline |static |constexpr |constinit |const |thread_local )+"
                      r"[\w:<>,*& ]*?\b(\w+)(?:\[[^\]]*\])?(?:\{| =|;|$)")
FUNCTION = re.compile(r"[\w:<>,*&\[\] ]+?[ *&](\w+)\((.*)$")


class Declaration:
    """A name at the scope of a namespace: where, and the types of its parameters if it has any."""

    def __init__(self, file, line, namespace, name, parameters=None):
        self.file, self.line = file, line
        self.namespace, self.name, self.parameters = namespace, name, parameters


def declarations(file, unnamed):
    """Those of `file` that are in an unnamed namespace, or those that are in none such."""
    stack = []
    lines = file.code_lines
    for index, line in enumerate(lines):
        line = line.rstrip()
        opening = OPENING.match(line)
        if opening:
            stack.append(opening[1])
        elif line == "}" or not line or line[0] in " }#/)[":
            if line == "}" and stack and file.lines[index].startswith("}  // namespace"):
                stack.pop()
        elif ("" in stack) == unnamed:
            namespace = "::".join(part for part in stack if part)
            found = declared(line, lines[index:index + 8])
            if found:
                yield Declaration(file, index + 1, namespace, *found)


def declared(line, following):
    kind = TYPE.match(line)
    if kind:
        return kind[1], None
    constant = CONSTANT.match(line)
    if constant and "(" not in line[:constant.end(1)]:
        return constant[1], None
    function = FUNCTION.match(line)
    if function and not line.startswith(("using ", "return ", "TEST", "TYPED_TEST", "MATCHER",
                                         "static_assert", "INSTANTIATE")):
        return function[1], parameter_types(" ".join(following)[function.start(2):])
    return None


def parameter_types(text):
    """Of what stands behind an opening parenthesis; a name and a default are not of the type."""
    depth, parts, start = 0, [], 0
    for at, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ">]}" or (letter == ")" and depth > 0):
            depth -= 1
        elif letter in ",)" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
            if letter == ")":
                break
    return tuple(re.sub(r"(?<=[\w&*>\]]) *\b\w+$", "", re.sub(r" ?=.*", "", " ".join(part.split())))
                 for part in parts)


def compiled_alone(tree):
    """The paths of sources that CMakeLists.txt keeps from being compiled with others."""
    alone = set()
    for file in tree.files:
        if file.is_cmake:
            for found in re.finditer(r"set_source_files_properties\(([^)]*?)\bPROPERTIES\s+"
                                     r"SKIP_UNITY_BUILD_INCLUSION ON\)", "\n".join(file.lines)):
                alone |= {"/".join((*file.parts[:-1], name)) for name in found[1].split()}
    return alone


def breaches(tree):
    folders = collections.defaultdict(list)
    alone = compiled_alone(tree)
    for file in tree.files:
        if (file.parts[0] in ("src", "tests") and len(file.parts) > 2
                and file.path not in alone):
            folders[file.parts[:2]].append(file)
    for files in folders.values():
        own = collections.defaultdict(list)
        of_headers = {}
        for file in files:
            if file.suffix == ".cc":
                for each in declarations(file, True):
                    own[each.namespace, each.name, each.parameters].append(each)
            elif file.suffix == ".h":
                for each in declarations(file, False):
                    of_headers[each.namespace, each.name, each.parameters] = each
        for key, found in own.items():
            first = found[0]
            for other in found[1:]:
                if other.file is not first.file:
                    yield (other.file.path, other.line, f"{other.name} is also in the unnamed "
                           f"namespace of {first.file.path}, which is compiled with this one")
            header = of_headers.get(key)
            if header is not None:
                yield (first.file.path, first.line, f"{first.name} of an unnamed namespace would "
                       f"hide that of {header.file.path} from the sources compiled with this one")
