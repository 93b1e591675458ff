"""Dialects: which words there are, who uses them, and what is said where one is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from emulated.compiler import DIALECT as EMULATED
from phalanx import device_code
from phalanx.device_code.dialect import WORDS, Dialect
from phalanx.errors import PluginError
from phalanx.kernels_cuda.dialect import DIALECT as CUDA
from phalanx.kernels_opencl.dialect import DIALECT as OPENCL

_ROOM = Path(device_code.__file__).parent
_TEXTS = {
    path.name: path.read_text("utf-8")
    for suffix in ("*.h", "*.py")
    for path in _ROOM.glob(suffix)
    if path.name != "dialect.py"
}
_SCALAR = "".join(path.read_text("utf-8") for path in (_ROOM.parent / "scalar").glob("*.h"))


@pytest.mark.parametrize("dialect", [OPENCL, CUDA, EMULATED], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("word", WORDS)
def test_a_missing_word_is_named_with_what_it_stands_for(dialect: Dialect, word: str) -> None:
    text = re.sub(rf"\b{word}\b", "another", dialect.text)
    with pytest.raises(PluginError) as found:
        Dialect(dialect.name, text, dialect.options)
    assert str(found.value) == f"the dialect {dialect.name} lacks {word}: {WORDS[word]}"


def test_a_word_in_a_comment_is_missing() -> None:
    text = re.sub(r"\bPHX_BARRIER\b", "another", CUDA.text) + "/* PHX_BARRIER */ // PHX_BARRIER\n"
    with pytest.raises(PluginError, match="PHX_BARRIER"):
        Dialect("CUDA C++", text, CUDA.options)


@pytest.mark.parametrize("word", [word for word in WORDS if word.startswith("PHX_")])
def test_every_word_is_used(word: str) -> None:
    everything = "".join(_TEXTS.values()) + _SCALAR
    # PHX_TO_F32 and PHX_TO_F64 are put together from the dtype
    assert re.search(rf"\b{word}\b", everything) or word in ("PHX_TO_F32", "PHX_TO_F64"), word


@pytest.mark.parametrize("name", sorted(_TEXTS))
def test_texts_have_the_words_of_no_dialect(name: str) -> None:
    foreign = r"__\w*(?:global|local|kernel|shared|constant)\w*|get_\w+_(?:id|size)|atomic_\w+"
    foreign += r"|convert_\w+|as_(?:u?int|u?long|float|double)\w*\(|\b(?:ulong|uint|uchar) \w"
    foreign += r"|float\d+\b\(|threadIdx|__syncthreads|barrier\(CLK"
    assert re.findall(foreign, _TEXTS[name]) == []
