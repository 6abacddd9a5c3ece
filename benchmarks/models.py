"""Random-weight models of several families, with tokenizers trained on the diagnostic prompts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

END = "<|endoftext|>"


def gpt2_tokenizer(texts: Iterable[str], n_pieces: int) -> PreTrainedTokenizerFast:
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=n_pieces,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=END, eos_token=END, pad_token=END
    )


def save_gpt2(folder: Path, texts: Iterable[str], n_pieces: int = 400, **shape: int) -> Path:
    """A GPT-2; its vocabulary in the model may be larger than the tokenizer's."""
    tokenizer = gpt2_tokenizer(texts, n_pieces)
    torch.manual_seed(0)
    config = GPT2Config(
        **{"vocab_size": len(tokenizer), "initializer_range": 0.1, **shape},
        bos_token_id=0,
        eos_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_bert(folder: Path, texts: Iterable[str], **shape: int) -> Path:
    """A BERT whose few word pieces make several of most words."""
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    inner.train_from_iterator((text.lower() for text in texts), trainer)
    tokenizer = BertTokenizer(vocab=inner.get_vocab())
    torch.manual_seed(0)
    config = BertConfig(**{"vocab_size": len(tokenizer), "initializer_range": 0.1, **shape})
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_t5(folder: Path, texts: Iterable[str], **shape: int) -> Path:
    """A T5 with SentencePiece-like pieces and sentinels."""
    inner = Tokenizer(models.Unigram())
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    inner.train_from_iterator(texts, trainer)
    inner.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    sentinels = ["<extra_id_0>", "<extra_id_1>"]
    tokenizer.add_special_tokens({"additional_special_tokens": sentinels})
    torch.manual_seed(0)
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, **shape)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
