# SPDX-License-Identifier: MIT
"""Names of what code accesses: run by gdb on a program with debug information.

    gdb -nx -batch -x tools/gdb/fields.py PROGRAM       (pairs in the variable FIELDS: `pc:address …`)

Prints one JSON object: "pc:address" -> {"field": "struct cluster.hungry" or null, "source": "core/idle.h:259"}. The field is
the first member expression of the source line whose offset fits the address: structures lie where their alignment has them.
"""
import json
import os
import re

import gdb

PATH = re.compile(r"([A-Za-z_]\w*)((?:\s*(?:->|\.)\s*[A-Za-z_]\w*|\[[^][]*\])+)")
#: what is accessed is what the member points to
BEHIND = re.compile(r"\b(?:atomic_\w+|tn_park|tn_unpark)\($|\*$")
STEP = re.compile(r"(->|\.)\s*([A-Za-z_]\w*)|(\[)")


def plain(kind):
    return kind.strip_typedefs().unqualified().strip_typedefs()


def scope(pc):
    """The type of each name that the code at pc can see, the innermost first."""
    out, block = {}, gdb.block_for_pc(pc)
    while block is not None:
        for symbol in block:
            if symbol.is_variable or symbol.is_argument:
                out.setdefault(symbol.name, symbol.type)
        block = block.superblock
    return out


def walk(kind, steps):
    """(the structure's name, its type, the members from there, their offset) of `kind` followed by ->a.b[i].c."""
    struct, members, offset, known = None, [], 0, True
    for how, name, index in STEP.findall(steps):
        kind = plain(kind)
        if index:
            if kind.code not in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_PTR):
                return None
            known, kind = False, kind.target()
            continue
        if how == "->":
            if kind.code != gdb.TYPE_CODE_PTR:
                return None
            kind, struct = plain(kind.target()), None
        if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
            return None
        if struct is None:
            struct, members, offset, known = kind, [], 0, True
        field = next((f for f in kind.fields() if f.name == name), None)
        if field is None:
            return None
        members.append(name)
        offset += field.bitpos // 8
        kind = field.type
    return (struct, members, offset if known else None, kind) if struct is not None else None


def statement(file, line):
    """The source from that line to the end of the statement."""
    try:
        with open(file, encoding="utf-8") as source:
            text = source.read().split("\n")[line - 1:line + 3]
    except OSError:
        return ""
    for i, part in enumerate(text):
        if ";" in part or part.endswith("{"):
            return " ".join(text[:i + 1])
    return text[0] if text else ""


def name(pc, at):
    here = gdb.find_pc_line(pc - 1)
    if here.symtab is None:
        return {"field": None, "source": None}
    file = here.symtab.fullname()
    types, found, star = scope(pc - 1), None, ""
    text = statement(file, here.line)
    for match in PATH.finditer(text):
        kind = types.get(match[1])
        said = walk(kind, match[2]) if kind is not None else None
        if said is None:
            continue
        behind = BEHIND.search(text[:match.start()]) is not None and plain(said[3]).code == gdb.TYPE_CODE_PTR
        if behind or said[2] is None or (at - said[2]) % max(said[0].alignof, 1) == 0:
            found, star = said, "*" if behind else ""
            break
    tag = found[0].name or found[0].tag if found else None
    root = os.environ.get("ROOT", "")
    where = os.path.relpath(file, root) if root else file
    where = os.path.basename(file) if where.startswith("..") else where     # a program of the user's
    return {"field": f"{star}{'struct ' + tag if tag else 'struct'}.{'.'.join(found[1])}" if found else None,
            "source": f"{where}:{here.line}"}


print(json.dumps({pair: name(*map(int, pair.split(":"))) for pair in os.environ.get("FIELDS", "").split()}))
