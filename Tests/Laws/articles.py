"""What the articles promise: a law makes an exception only where a sentence of the documentation does."""
import ast
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ARTICLES = FOLDER.parents[1] / "Sources/KFCore/KFCore.docc"
SCREEN = 30  # The most exceptions of one law.


def says(article, sentence):
    """Marks an exception with the sentence that promises it, word by word. It is true, and `unfounded` checks the rest."""
    return bool(article and sentence)


def exceptions(law):
    """The exceptions of a law: line, article, sentence."""
    for node in ast.walk(ast.parse((FOLDER / f"{law}.py").read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "says":
            yield (node.lineno, *(word.value for word in node.args))


def unfounded(laws):
    """What is wrong with the exceptions of these laws: a sentence that no longer stands, or too many of them."""
    if not ARTICLES.is_dir():
        return
    texts = {path.stem: " ".join(path.read_text().split()) for path in ARTICLES.glob("*.md")}
    for law in laws:
        known = list(exceptions(law))
        if len(known) > SCREEN:
            yield f"{law}.py has {len(known)} exceptions, more than a screen"
        for line, article, sentence in known:
            if " ".join(sentence.split()) not in texts.get(article, ""):
                yield f"{law}.py:{line}: {article}.md does not say: {sentence}"
