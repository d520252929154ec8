"""Finds places in formatted Swift code where a small fault can be put, each on one line."""
import hashlib
import re

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
ARITHMETIC = {"+": "-", "-": "+"}
BOOLEANS = {"true": "false", "false": "true"}

TYPE = re.compile(r"\b(struct|class|enum|extension|protocol|actor)\s+\w")
SKIPPED = re.compile(r"^(@|#|import |case .*[^:]$)|\b(precondition|assert|preconditionFailure|fatalError|catch)\b|#\"")
OPERATOR = re.compile(r" (<=|>=|==|!=|&&|\|\||<|>|\+|-) ")
LITERAL = re.compile(r"(?<![\w.$<])\d[\d_]*(?![\w.>])")
BOOLEAN = re.compile(r"\b(true|false)\b")
CALL = re.compile(r"(try |await )*(?!super\b|self\.init)[a-z_][\w.?!]*\(.*\)$")
# What stands before the expression that a statement or an argument holds.
PREFIXES = [
    re.compile(r"\} "), re.compile(r"(else )?(if|guard|while|return|throw|yield) "), re.compile(r"else "),
    re.compile(r"for .*? in "), re.compile(r"(let|var) \w+(: [\w.\[\]?]+)? = "),
    re.compile(r"[\w.\[\]$?!]+ [-+*/|&]?= "),
]
LABEL = re.compile(r"\w+: ")
HEADER = re.compile(r"[\w, ()$:.\[\]&?]*?( throws(\(\w+\))?)?( -> [\w.?]+)? ?\bin ")
NO_EXPRESSION = re.compile(r"(let|var|case|is|as|switch|do|defer|repeat|func|&|#|@)(?!\w)")
STARTS_LATER = re.compile(r"(\.|\?|:|&&|\|\||[-+*/<>=|&]+ )")
ENDS_LATER = re.compile(r"(&&|\|\||\?\?|[-+*/<>?]|[<>=!]=| as| is|\bin)$")
OPENERS, CLOSERS = "([{", ")]}"


class Fault:
    """One line of one file, and the text that takes its place in the tree of mutants."""

    def __init__(self, path, number, kind, line, span, mutated, form):
        self.path, self.number, self.kind, self.line = path, number, kind, line
        self.span, self.form = span, form
        self.original = line[span[0]:span[1]]
        self.mutated = mutated
        text = "\0".join([path, line, str(span), kind, mutated])
        # The number of a fault depends on nothing but its line, so that other faults do not build its file again.
        self.id = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1 or 1

    @property
    def key(self):
        return f"{self.path}:{self.id}"

    @property
    def module(self):
        return self.path.split("/")[1]

    def rank(self, seed):
        return hashlib.sha256(f"{seed}:{self.path}:{self.id}".encode()).digest()

    def written(self):
        start, end = self.span
        if self.form == "call":
            return f"{self.line[:start]}if kfMutant != {self.id} {{ {self.original} }}{self.line[end:]}"
        choice = f"(kfMutant == {self.id} ? ({self.mutated}) : ({self.original}))"
        return self.line[:start] + choice + self.line[end:]


def masked(text):
    """The text with strings and comments replaced by characters that mean nothing, line by line."""
    result = list(text)
    position, depths = 0, []  # depths: open brackets of each interpolation
    in_string = in_lines = False

    def hide(start, end):
        for index in range(start, end):
            if result[index] != "\n":
                result[index] = "\x01"

    while position < len(text):
        if in_string:
            end = '"""' if in_lines else '"'
            if text.startswith(end, position):
                hide(position, position + len(end))
                position += len(end)
                in_string = False
            elif text.startswith("\\(", position):
                # An interpolation: all of it is hidden, with the strings in it.
                depth, start = 1, position
                position += 2
                while depth and position < len(text) and text[position] != "\n":
                    if text[position] == '"':
                        position += 1
                        while position < len(text) and text[position] not in '"\n':
                            position += 2 if text[position] == "\\" else 1
                    depth += {"(": 1, ")": -1}.get(text[position], 0)
                    position += 1
                hide(start, position)
            else:
                step = 2 if text[position] == "\\" else 1
                hide(position, min(position + step, len(text)))
                position += step
        elif text.startswith("//", position):
            end = text.find("\n", position)
            end = len(text) if end == -1 else end
            for index in range(position, end):
                result[index] = " "
            position = end
        elif text.startswith("/*", position):
            end = text.find("*/", position) + 2
            hide(position, end)
            position = end
        elif text[position] == '"':
            in_lines = text.startswith('"""', position)
            hide(position, position + (3 if in_lines else 1))
            position += 3 if in_lines else 1
            in_string = True
        else:
            position += 1
    return "".join(result)


def scopes(mask):
    """For each character whether its innermost braces are those of code, not of a type."""
    inside, stack, since = [], [], 0
    for position, character in enumerate(mask):
        if character == "{":
            stack.append(not TYPE.search(mask, since, position))
            since = position + 1
        elif character == "}":
            if stack:
                stack.pop()
            since = position + 1
        inside.append(bool(stack) and stack[-1])
    return inside


def expression(mask, start, continues):
    """The span of the smallest expression around a place that is an element of brackets or of a statement; or None.

    `continues`: the line goes on with the conditions of the line before it.
    """
    depth, left = 0, start
    while left > 0:
        character = mask[left - 1]
        if character in CLOSERS:
            depth += 1
        elif character in OPENERS:
            if depth == 0:
                break
            depth -= 1
        elif character in ",;" and depth == 0:
            break
        left -= 1
    opener = mask[left - 1] if left else ""
    while left < start and mask[left] == " ":
        left += 1
    head = mask[:start]
    control = continues or re.search(r"(^|[ {])(if|guard|while|switch|for) (?!.*\{)", head)
    while True:
        for prefix in PREFIXES:
            found = prefix.match(mask, left)
            if found and found.end() <= start:
                left = found.end()
                break
        else:
            break
    if opener in ("(", "[", ",") and (found := LABEL.match(mask, left)) and found.end() <= start:
        left = found.end()
    if opener == "{" and (found := HEADER.match(mask, left)) and found.end() <= start:
        left = found.end()
    where = mask.rfind(" where ", left, start)
    if where != -1:
        left = where + 7
    depth, right = 0, start
    while right < len(mask):
        character = mask[right]
        if depth == 0 and (character in CLOSERS + ",;" or mask.startswith(" else ", right)):
            break
        if depth == 0 and character == "{" and control:
            break
        if depth == 0 and character == ":" and "?" not in mask[left:right]:
            break
        depth += (character in OPENERS) - (character in CLOSERS)
        right += 1
    while right > start and mask[right - 1] == " ":
        right -= 1
    text = mask[left:right]
    if depth or not text or NO_EXPRESSION.match(text) or re.search(r" [-+*/|&]?= ", text):
        return None
    return left, right


def faults(path, text):
    """All places of a file, each with the first fault of each kind that fits there."""
    lines, mask = text.split("\n"), masked(text)
    masks = mask.split("\n")
    in_code = scopes(mask)
    offset = 0
    for number, (line, hidden) in enumerate(zip(lines, masks), 1):
        start_of_line, offset = offset, offset + len(line) + 1
        code = hidden.strip()
        if not code or SKIPPED.search(code):
            continue
        before = next((masks[index].strip() for index in range(number - 2, -1, -1) if masks[index].strip()), "")
        after = next((masks[index].strip() for index in range(number, len(masks)) if masks[index].strip()), "")
        first = len(hidden) - len(hidden.lstrip())
        pattern = hidden.find(":") if re.match(r"case\b", code) else -1
        continues = before.endswith(",") and not before.startswith(("case ", "let "))

        def fits(position):
            if not in_code[start_of_line + position] or position < pattern:
                return False
            return "\x01" not in hidden[position:position + 1]

        def whole(position):
            """The expression around a place, when it neither begins before the line nor goes on after it."""
            span = expression(hidden, position, continues)
            if span is None or pattern >= span[0]:
                return None
            if span[0] == first and (STARTS_LATER.match(code) or ENDS_LATER.search(before)):
                return None
            if span[1] >= len(hidden.rstrip()) and (STARTS_LATER.match(after) or ENDS_LATER.search(code)):
                return None
            return span

        def fault(kind, span, mutated, form="choice"):
            return Fault(path, number, kind, line, span, mutated, form)

        for found in OPERATOR.finditer(hidden):
            place, sign = found.start(1), found.group(1)
            if not fits(place) or (span := whole(place)) is None:
                continue
            kind = "comparison" if sign in COMPARISONS else "logic" if sign in LOGIC else "arithmetic"
            other = (COMPARISONS | LOGIC | ARITHMETIC)[sign]
            if kind == "arithmetic" and "\x01" in hidden[span[0]:span[1]]:
                continue
            yield fault(kind, span, line[span[0]:place] + other + line[found.end(1):span[1]])
        for found in LITERAL.finditer(hidden):
            if fits(found.start()):
                value = int(found.group().replace("_", ""))
                down = value > 1 and found.start() % 2
                yield fault("literal", found.span(), str(value - 1 if down else value + 1))
        for found in BOOLEAN.finditer(hidden):
            if not fits(found.start()) or (span := whole(found.start())) != found.span():
                continue
            if not re.search(r"\b(let|var) ", hidden[:found.start()]):
                yield fault("boolean", span, BOOLEANS[found.group()])
        for found in re.finditer(r"\b(if|guard) |, ", hidden):
            place = found.end()
            # A comma parts conditions where every bracket since the keyword is closed.
            words = hidden[:place].rpartition("guard " if "guard " in hidden[:place] else "if ")
            inside = words[1] and all(words[2].count(a) == words[2].count(b) for a, b in zip(OPENERS, CLOSERS))
            if not inside or place >= len(hidden) or not fits(place) or (span := whole(place)) is None:
                continue
            if span[0] == place and not OPERATOR.search(hidden[span[0]:span[1]]):
                yield fault("condition", span, f"!({line[span[0]:span[1]]})")
        call = CALL.match(code)
        if call and fits(first) and hidden.count("(") == hidden.count(")") and not STARTS_LATER.match(after):
            last_value = after.startswith("}") and ("->" in before or re.search(r"\bvar |\bget ", before))
            if (before.endswith(("{", "}", ":", ")")) or re.search(r"\w$|\bin$", before)) and not last_value \
                    and not re.search(r"(^|= )return$", before):
                yield fault("call", (first, first + len(code)), "", "call")
