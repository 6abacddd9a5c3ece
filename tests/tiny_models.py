"""Tiny random-weight models of many architectures, on tokenizers of the four kinds in use."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import transformers
from tokenizers import (
    AddedToken,
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


LETTERS = [chr(c) for c in range(ord("a"), ord("z") + 1)]


def byte_level(special: dict[str, str], mask: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE as GPT-2, Pythia, Qwen and BART have it; BART's adds <s> and </s>."""
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    names = list(dict.fromkeys(special.values()))
    trainer = trainers.BpeTrainer(
        vocab_size=340,
        special_tokens=names,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    inner.train_from_iterator(TEXT, trainer)
    extra = {}
    if mask:
        ids = {name: inner.token_to_id(name) for name in names}
        inner.post_processor = processors.RobertaProcessing(
            ("</s>", ids["</s>"]), ("<s>", ids["<s>"])
        )
        extra["mask_token"] = AddedToken("<mask>", lstrip=True, special=True)
    return PreTrainedTokenizerFast(tokenizer_object=inner, **special, **extra)


def byte_fallback() -> PreTrainedTokenizerFast:
    """SentencePiece BPE with byte fallback and a BOS before every text, as Llama 2 has it."""
    inner = Tokenizer(models.BPE(unk_token="<unk>"))
    inner.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    # (Llama's merges never cross a space; this one is trained on words to the same end)
    inner.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    special = ["<unk>", "<s>", "</s>"]
    inner.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(vocab_size=160, special_tokens=special, initial_alphabet=LETTERS),
    )
    inner.pre_tokenizer = None  # type: ignore[assignment]
    state = json.loads(inner.to_str())
    vocab = state["model"]["vocab"]
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    state["model"].update(vocab=vocab, byte_fallback=True, fuse_unk=True)
    inner = Tokenizer.from_str(json.dumps(state))
    inner.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def unigram() -> PreTrainedTokenizerFast:
    """SentencePiece unigram with sentinels and </s> at the end, as T5 has it."""
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    sentinels = [f"<extra_id_{i}>" for i in range(3)]
    inner.train_from_iterator(
        TEXT,
        trainers.UnigramTrainer(
            vocab_size=150,
            special_tokens=["<pad>", "</s>", "<unk>"],
            unk_token="<unk>",
            initial_alphabet=LETTERS,
        ),
    )
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.add_special_tokens({"additional_special_tokens": sentinels})
    return tokenizer


def lower_cased() -> transformers.OpenAIGPTTokenizer:
    """BPE of lower-cased words whose last piece is marked, as GPT-1 has it; it has a token for the
    end of a line, and none that begins or ends a text."""
    inner = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    inner.normalizer = normalizers.BertNormalizer(lowercase=True)
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=200,
        special_tokens=["<unk>"],
        initial_alphabet=LETTERS,
        end_of_word_suffix="</w>",
    )
    inner.train_from_iterator([*TEXT, " ".join(LETTERS)], trainer)
    state = json.loads(inner.to_str())["model"]
    vocab = {**state["vocab"], "\n</w>": len(state["vocab"])}
    merges = [tuple(pair) for pair in state["merges"]]
    return transformers.OpenAIGPTTokenizer(vocab=vocab, merges=merges)


GPT2_SPECIAL = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
QWEN_SPECIAL = {"eos_token": "<|endoftext|>"}
BART_SPECIAL = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "cls_token": "<s>",
    "sep_token": "</s>",
}
LAYERS = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "initializer_range": SPREAD,
}
LLAMA = {
    **LAYERS,
    "intermediate_size": 64,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
}

# architecture: (tokenizer, class, config)
CAUSAL = {
    "GPT2": (
        "gpt2",
        "GPT2LMHeadModel",
        {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128, "initializer_range": SPREAD},
    ),
    "OpenAIGPT": (
        "gpt1",
        "OpenAIGPTLMHeadModel",
        {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 128, "initializer_range": SPREAD},
    ),
    "Llama": ("llama", "LlamaForCausalLM", LLAMA),
    "Qwen2": ("qwen", "Qwen2ForCausalLM", LLAMA),
    "GPTNeoX": (
        "gpt2",
        "GPTNeoXForCausalLM",
        {**LAYERS, "intermediate_size": 64, "max_position_embeddings": 128},
    ),
    "Gemma2": (
        "llama",
        "Gemma2ForCausalLM",
        {**LLAMA, "head_dim": 16, "final_logit_softcapping": 2.0, "sliding_window": 4},
    ),
    "OPT": (
        "bart",
        "OPTForCausalLM",
        {
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "ffn_dim": 64,
            "word_embed_proj_dim": 16,
            "max_position_embeddings": 128,
            "init_std": SPREAD,
        },
    ),
    "Bloom": ("gpt2", "BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 2}),
    "Mamba": (
        "qwen",
        "MambaForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "initializer_range": SPREAD},
    ),
}
SEQ2SEQ = {
    "T5": (
        "t5",
        "T5ForConditionalGeneration",
        {
            "d_model": 32,
            "d_ff": 64,
            "d_kv": 16,
            "num_layers": 2,
            "num_heads": 2,
            "initializer_factor": 1.0,
            "decoder_start_token_id": 0,
            "pad_token_id": 0,
            "eos_token_id": 1,
        },
    ),
    "Bart": (
        "bart",
        "BartForConditionalGeneration",
        {
            "d_model": 32,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 2,
            "decoder_attention_heads": 2,
            "encoder_ffn_dim": 64,
            "decoder_ffn_dim": 64,
            "max_position_embeddings": 128,
            "init_std": SPREAD,
        },
    ),
}
TOKENIZERS = {
    "gpt1": lower_cased,
    "gpt2": lambda: byte_level(GPT2_SPECIAL),
    "qwen": lambda: byte_level(QWEN_SPECIAL),
    "bart": lambda: byte_level(BART_SPECIAL, mask=True),
    "llama": byte_fallback,
    "t5": unigram,
}


def save_model(architecture: str, folder: Path) -> Path:
    """A model of `CAUSAL` or `SEQ2SEQ` as `save_pretrained` writes it."""
    kind, name, shape = {**CAUSAL, **SEQ2SEQ}[architecture]
    tokenizer = TOKENIZERS[kind]()
    ids = {}
    if kind == "bart":
        ids = {
            "bos_token_id": tokenizer.bos_token_id,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
            "decoder_start_token_id": tokenizer.eos_token_id,
        }
    model_class = getattr(transformers, name)
    torch.manual_seed(4)
    # Rows that no token has, as Pythia and T5 have them, are part of the vocabulary's sum.
    config = model_class.config_class(vocab_size=len(tokenizer) + 3, **{**ids, **shape})
    model_class(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
