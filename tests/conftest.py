"""Tiny random-weight models of three shapes, made here: no network, no downloads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    AlbertConfig,
    AlbertForMaskedLM,
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

if "PYTEST_XDIST_WORKER" in os.environ:  # as many workers as cores: a thread for each
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"

SHARED = Path(__file__).parents[2] / "shared"
WORDS = [
    "a",
    "an",
    "the",
    "is",
    "are",
    "in",
    "winter",
    "snow",
    "when",
    "some",
    "robin",
    "sparrow",
    "trout",
    "oak",
    "hammer",
    "car",
    "house",
    "perches",
    "bird",
    "birds",
    "insect",
    "insects",
    "fish",
    "tree",
    "trees",
    "flower",
    "flowers",
    "vegetable",
    "vegetables",
    "vehicle",
    "vehicles",
    "tool",
    "tools",
    "building",
    "buildings",
    ",",
    ".",
    "(",
    ")",
]
TEXT = [" ".join(WORDS), "A robin is a bird. Robins are birds, and a trout is a fish."] * 20
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 256,
}
# Above the usual 0.02, so that different words get clearly different scores.
SPREAD = 0.1


def save_bert(folder: Path) -> None:
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    pieces += [p for letter in letters for p in (letter, f"##{letter}") if p not in pieces]
    tokenizer = BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)})
    torch.manual_seed(1)
    config = BertConfig(vocab_size=len(pieces), initializer_range=SPREAD, **SMALL)
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_roberta(folder: Path) -> None:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    inner.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(
            vocab_size=340,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    inner.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    from tokenizers import AddedToken

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True, special=True),
    )
    torch.manual_seed(2)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        initializer_range=SPREAD,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        type_vocab_size=1,
        **SMALL,
    )
    RobertaForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_albert(folder: Path) -> None:
    inner = Tokenizer(models.Unigram())
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    special = ["[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]"]
    inner.train_from_iterator(
        TEXT,
        trainers.UnigramTrainer(
            vocab_size=140,
            special_tokens=special,
            unk_token="<unk>",
            initial_alphabet=[chr(c) for c in range(ord("a"), ord("z") + 1)],
        ),
    )
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="[MASK]",
    )
    torch.manual_seed(3)
    config = AlbertConfig(
        vocab_size=len(tokenizer),
        embedding_size=16,
        initializer_range=SPREAD,
        pad_token_id=2,
        bos_token_id=0,
        eos_token_id=1,
        **SMALL,
    )
    AlbertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of a BERT, a RoBERTa and an ALBERT as `save_pretrained` writes them."""
    folders = {}
    for name, save in (("bert", save_bert), ("roberta", save_roberta), ("albert", save_albert)):
        folders[name] = tmp_path_factory.mktemp(name)
        save(folders[name])
    return folders


@pytest.fixture
def shared() -> Path:
    """The folder of papers and licensed data that some checkouts have beside them."""
    if not SHARED.is_dir():
        pytest.skip("no shared data beside this checkout")
    return SHARED
