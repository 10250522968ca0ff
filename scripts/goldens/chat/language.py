"""What Python makes of every pair of operator and operand, filter, test, method and whitespace marker: language.py OUT.jsonl.gz

Each line is [source, text], or [source, null] where Python raises. The environment is transformers' own.
"""

import gzip
import itertools
import json
import random
import re
import sys

from transformers.utils import chat_template_utils

OPERANDS = ["nope", "none", "true", "false", "0", "3", "-2", "2.5", "1.0", "-0.5", "''", "'ab'", "'A b\\n'", "'12'", "'-1.5'", "[]", "[1, 2]", "['b', 'A', 'b']",
            "[1, 'x', none]", "(1, 'x')", "()", "{}", "{'b': 1, 'a': [2.0, 'é']}", "{1: 'x', none: 2}", "range(3)", "{'a': 1}.items()", "[1, 2]|map('string')", "namespace(a=1)",
            "'<b>'|safe", "'<b>'|escape"]
BINARY = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
UNARY = ["{{ -X }}", "{{ +X }}", "{{ not X }}", "{{ [X] }}", "{{ {'k': X} }}", "{% if X %}t{% else %}f{% endif %}", "{% for i in X %}[{{ i }}]{% else %}none{% endfor %}", "{{ (X)() }}",
         "{{ (X).a }}", "{{ (X).a.b }}", "{{ (X)['a'] }}", "{{ (X)[0] }}", "{{ (X)[-1] }}", "{{ (X)[5] }}", "{{ (X)[5].a }}", "{{ (X)[1:] }}", "{{ (X)[::-1] }}", "{{ (X)[:'a'] }}", "{{ (X).items }}",
         "{{ (X).items()|list }}", "{{ (X).get('a', 7) }}", "{{ (X).keys()|list }}", "{{ (X).append(1) }}", "{{ (X).update({}) }}", "{{ (X).upper() }}", "{{ (X).index(1) }}", "{{ (X).count('b') }}",
         "{{ {X: 1} }}", "{% set a, b = X %}{{ a }}{{ b }}", "{% set X_ = X %}{{ X_ }}", "{{ X if nope }}", "{{ (X).__class__ }}", "{{ raise_exception(X) }}", "{{ range(X) }}", "{{ range(X)|list }}",
         "{{ dict(X) }}", "{{ namespace(X).a }}", "{{ 'a%sb' % X }}", "{{ '%d' % X }}", "{{ '%.1f' % X }}", "{{ '{}'.format(X) }}", "{{ X is in X }}", "{{ '{0}{a}'.format(X, a=X) }}"]
FILTERS = ["abs", "capitalize", "lower", "upper", "title", "trim", "trim('a')", "string", "escape", "indent", "indent(2, true)", "indent('>', blank=true)", "replace('b', 'xx')", "replace(1, 2)",
           "wordcount", "center(7)", "int", "int(9)", "float", "float(9)", "round", "round(1)", "round(1, 'floor')", "round(method='ceil')", "default('d')", "default('d', true)", "d", "tojson", "tojson(indent=2)",
           "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(indent=0)", "length", "count", "list", "join", "join(', ')", "join('-', attribute='a')", "items|list",
           "items", "first", "last", "reverse", "reverse|list", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", "sort(attribute='a')", "dictsort", "dictsort(by='value')", "dictsort(true, reverse=true)",
           "unique|list", "sum", "sum(start=2)", "min", "max", "map('upper')|list", "map(attribute='a')|list", "map(attribute='a', default='z')|list", "map|list", "select|list", "reject|list",
           "select('string')|list", "select('equalto', 'b')|list", "selectattr('a')|list", "selectattr('a', 'defined')|list", "rejectattr('a', 'eq', 1)|list", "batch(2)|list", "map('string')", "select",
           "map('string')|length", "map('string')|tojson", "map('string')|list|length", "safe", "format(1)", "reverse|length", "map('string')|first", "map('string')|last", "abs|string ~ '!'", "length + 1"]
TESTS = ["defined", "undefined", "none", "true", "false", "boolean", "integer", "float", "number", "string", "mapping", "sequence", "iterable", "callable", "odd", "even", "divisibleby 2", "divisibleby(0)",
         "lower", "upper", "escaped", "eq 1", "equalto('ab')", "ne none", "lt 3", "ge('a')", "in [1, 'ab']", "sameas none", "sameas true", "not none", "not string"]
METHODS = ["strip()", "strip('A')", "lstrip()", "rstrip('\\n ')", "strip(none)", "strip(1)", "split()", "split(' ')", "split('b', 1)", "split(none, 1)", "split('')", "rsplit('b', 1)", "rsplit(none, 1)", "split(maxsplit=1)",
           "split(sep='a')", "splitlines()", "splitlines(true)", "upper()", "lower()", "title()", "capitalize()", "startswith('A')", "startswith(('x', 'A'))", "endswith('\\n')", "startswith()", "replace('b', '')",
           "replace('', '-')", "replace('a', 'b', 1)", "replace('a', 1)", "find('b')", "rfind('b')", "find('z')", "index('z')", "count('b')", "count('')", "join(['x', 'y'])", "join([1])", "join('xy')", "format()",
           "isdigit()", "isalpha()", "isalnum()", "isspace()", "isupper()", "islower()", "removeprefix('A')", "removesuffix('b')", "zfill(6)", "center(9)", "center(8, '*')", "ljust(5)", "rjust(5, '0')",
           "partition('b')", "rpartition('b')", "partition('z')", "rpartition('z')", "nope()", "nope", "swapcase()", "encode()"]
SUBJECTS = ["'A b\\n'", "'bab'", "'  a  b  c '", "''", "'-12'", "'Ünï Köd'", "'12'", "'x\\ny\\r\\nz'", "'AB'"]
SNIPPETS = [
    "{{ 1 + 2 * 3 ~ 'x' }}", "{{ 1 ~ 2 * 3 }}", "{{ -2|abs }}", "{{ -2 ** 2 }}", "{{ 2 ** 3 ** 2 }}", "{{ 7 // 2 }}{{ -7 // 2 }}{{ -7 % 3 }}{{ 7 % -3 }}", "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}", "{{ not 1 == 2 }}",
    "{{ 'a' if false else 'b' if true else 'c' }}", "{{ 1, 2 }}", "{{ 'a' 'b' }}", "{{ 'a' is string and 1 is odd }}", "{{ 1 if true }}", "{{ [1, 2, ] }}", "{{ {'a': 1, } }}", "{{ (1) }}{{ (1,) }}", "{{ 1_000 }}{{ 0x1f }}{{ 1e3 }}{{ 1.5e-7 }}{{ 1e16 }}{{ 1e22 }}",
    "{{ 0.1 + 0.2 }}{{ 1/3 }}{{ 100.0 }}{{ 123456789012345678 }}", "{{ \"a\\\"b\\n\\t\\\\ \\x41\\u00e9\\101 \\q\" }}", "{{ 'it\\'s' }}{{ [\"it's\", 'a\"b', 'é\\x00\\n'] }}", "{{ a.b }}", "{{ a.b.c }}", "{{ none.a }}", "{{ none.a.b }}",
    "{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "{% set ns = namespace() %}{% set ns._x = 1 %}", "{{ namespace(_x=1) }}", "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{% else %}none{% endfor %}",
    "{% for i in [] %}x{% else %}none{% endfor %}", "{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for i in [1, 2] %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a', 'b') }}{{ loop.changed(1) }}{{ loop.depth }}{% endfor %}", "{% for i in [1] %}{{ loop.nope }}{{ loop.nope.x }}{% endfor %}", "{{ loop }}", "{% break %}",
    "{% macro m(a, b='x') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(2, b=3) }}{{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(c=2) }}", "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, c=3) }}",
    "{% macro m(n) %}{{ n }}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}", "{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}", "{% macro m(a, b=a) %}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}x{% endcall %}",
    "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(a) m() %}x{{ a }}{% endcall %}", "{% macro m() %} x {% endmacro %}{{ m()|trim }}{{ m()|length }}", "{{ m }}", "{% macro m() %}{% endmacro %}{{ m }}", "{% set x %}a{{ 1 }}{% endset %}{{ x }}", "{% set x | upper %}a{% endset %}{{ x }}",
    "{% filter upper %}a{{ 'b' }}{% endfilter %}", "{% filter trim|upper %} a {% endfilter %}", "{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}", "{% with a=1, b=2 %}{{ a }}{{ b }}{% endwith %}{{ a }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set x.y = 1 %}", "{% set a = namespace(b={'c': 1}) %}{{ a.b.c }}{{ a['b'] }}",
    "{{ joiner('-') }}", "{% set j = joiner('-') %}{{ j() }}a{{ j() }}b{{ j() }}c", "{{ dict(a=1, b=2) }}", "{{ dict({'a': 1}, b=2) }}", "{{ dict([('a', 1)]) }}", "{{ {'a': 1, 'a': 2} }}", "{{ {1: 'a', true: 'b', 1.0: 'c'} }}", "{{ [1, 2] == [1.0, 2] }}{{ (1,) == [1] }}{{ 1 == true }}", "{{ 'a' == 'a'|safe }}",
    "{{ '<'|safe ~ '>' }}{{ '<'|safe + '>' }}{{ '>' + '<'|safe }}", "{{ ['<'|safe]|join }}", "{{ 'a'|safe|upper }}", "{{ x|default(y)|default('z') }}", "{{ x is defined }}{{ x.y is defined }}", "{% if x.y is defined %}{% endif %}", "{% if none.y is defined %}a{% else %}b{% endif %}", "{{ [1, 2][0].x }}",
    "{{ messages }}", "{{ 'a'.join }}", "{% include 'x' %}", "{% extends 'x' %}", "{% block x %}{% endblock %}", "{{ 1 | nope }}", "{% if false %}{{ 1 | nope }}{% endif %}", "{{ 1 is nope }}", "{{ f(1)(2) }}", "{{ 'x'|upper() }}", "{{ 'x' | upper | lower }}", "{{ 'ab'|first|upper }}", "{{ 1.5|int + 1 }}", "{{ '3'|int * 'ab' }}",
    "{{ [3, 1, 2]|sort|join }}", "{{ ['a', 'B', 'c']|sort }}", "{{ [{'a': 2}, {'a': 1}]|sort(attribute='a') }}", "{{ [{'a': {'b': 2}}, {'a': {'b': 1}}]|map(attribute='a.b')|sum }}", "{{ [[1, 2], [3]]|map('first')|list }}", "{{ [[1, 2], [3]]|map('join', '-')|list }}", "{{ [1, 2, 3, 4]|select('divisibleby', 2)|list }}",
    "{{ [1, 2, 3]|select('gt', 1)|list }}", "{{ range(10)|batch(3)|map('list')|list }}", "{{ range(5)[1:3] }}", "{{ range(5)[1:3]|list }}", "{{ range(1, 10, 3)|list }}{{ range(3, 0, -1)|list }}", "{{ range(0, 10, 0) }}", "{{ range(1000000) }}", "{{ ''.join(['a'] * 3) }}", "{{ 'a' * -1 }}", "{{ [1] * 2 }}", "{{ 2 * (1, 2) }}",
    "{{ 10 ** 30 }}", "{{ 9223372036854775807 + 1 }}", "{{ 2 ** -1 }}", "{{ 1 / 0 }}", "{{ 1 % 0 }}", "{{ 1.0 // 0.3 }}{{ 5.5 % 2 }}{{ -5.5 % 2 }}", "{{ 'nan'|float }}{{ 'inf'|float }}", "{{ 2.5|round }}{{ 3.5|round }}{{ 2.675|round(2) }}", "{{ true + true }}{{ true * 2.5 }}", "{{ (1, 2) + (3,) }}", "{{ [1] + (2,) }}",
    "{{ 'abc'[1] }}{{ 'abc'[-1] }}{{ 'äöü'[1:] }}", "{{ [1, 2, 3][-2:] }}{{ [1, 2, 3][5:] }}{{ [1, 2, 3][::2] }}{{ [1, 2, 3][::-2] }}{{ [1, 2, 3][2:0:-1] }}", "{{ [1, 2, 3][::0] }}", "{{ 'x' in {'x': 1} }}{{ 1 in 'a' }}", "{{ [] in {} }}", "{{ 'a' is in 'abc' }}", "{{ x is not defined or y }}", "{{ true is true is false }}",
]
PIECES = ["{% if true %}", "{% endif %}", "{%- if true %}", "{% endif -%}", "{%+ if true %}", "{% endif +%}", "{{ 1 }}", "{{- 2 -}}", "{{ '}}' }}", "{# c #}", "{#- c -#}", "{#+ c +#}", "\n", "\n\n", " ", "  ", "\t", "a", "b ", "\n  ", "{% raw %}", "{% endraw %}", "{% for i in [1, 2] %}",
          "{% endfor %}", "{%- for i in [1] -%}", "{%- endfor -%}", "{% set x = 1 %}", "{{ i }}", "{", "}", "%", "{{ {'a': {}} }}", "\r\n", "é"]


def sources():
    for op, x, y in itertools.product(BINARY, OPERANDS, OPERANDS):
        yield f"{{{{ ({x}) {op} ({y}) }}}}"
    for form, x in itertools.product(UNARY, OPERANDS):
        yield form.replace("X_", "x").replace("X", x)
    for f, x in itertools.product(FILTERS, OPERANDS):
        yield f"{{{{ ({x})|{f} }}}}"
    for t, x in itertools.product(TESTS, OPERANDS):
        yield f"{{{{ ({x}) is {t} }}}}"
    for m, x in itertools.product(METHODS, SUBJECTS):
        yield f"{{{{ {x}.{m} }}}}"
        yield f"{{{{ [{x}.{m}] }}}}"
    yield from SNIPPETS
    rng = random.Random(1)
    for _ in range(4000):
        yield "".join(rng.choice(PIECES) for _ in range(rng.randint(1, 9)))


def render(source):
    try:
        text = chat_template_utils.render_jinja_template(conversations=[[]], chat_template=source)[0][0]
        return "(an address)" if re.search("sync_do|0x[0-9a-f]{6}", text.lower()) else text
    except Exception:
        return None


def main(out):
    cases = [[s, render(s)] for s in dict.fromkeys(sources())]
    with gzip.GzipFile(out, "wb", mtime=0) as f:
        for case in cases:
            f.write((json.dumps(case, ensure_ascii=False) + "\n").encode())
    print(f"{out}: {len(cases)} cases, {sum(text is not None for _, text in cases)} render")


if __name__ == "__main__":
    main(*sys.argv[1:])
