"""Stage 2: the uncased word pieces of the embedded masked LM.

WordPiece learnt on the training text; then the nine categories, their plurals
and the diagnostic hyponyms that the text really uses are made whole words, so
that a probe asks about a word and not about its spelling.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer

from hyperprobe.analysis.corpus_counts import WORD
from hyperprobe.diagnostic.build import CATEGORIES, all_hyponyms, negated_pairs
from hyperprobe.lexicon.morphology import plural
from hyperprobe.lexicon.wordnet import open_wordnet

TEXTS = ("dictionary", "sentences", "doses", "mentions", "textbooks", "fiction")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# A word seen less often than this would be a vector that training hardly moves.
MIN_COUNT = 3


def word_counts(work: Path) -> Counter[str]:
    """How often each lower-case word occurs in the training text."""
    counts: Counter[str] = Counter()
    for name in TEXTS:
        with (work / f"{name}.txt").open(encoding="utf-8") as lines:
            for line in lines:
                counts.update(WORD.findall(line.lower()))
    return counts


def whole_words(counts: Counter[str]) -> list[str]:
    """Categories and hyponyms; and the plurals that stem + s does not spell."""
    words = list(CATEGORIES) + [plural(word) for word in CATEGORIES]
    nouns = [item.lemma for item in all_hyponyms(open_wordnet())]
    nouns += [pair["hyponym"] for pair in negated_pairs()]
    for noun in nouns:
        forms = (noun,) if plural(noun).startswith(noun) else (noun, plural(noun))
        words += [form for form in forms if counts[form] >= MIN_COUNT]
    return list(dict.fromkeys(words))


def train_tokenizer(work: Path, size: int) -> BertTokenizer:
    """The tokenizer, saved under `work/tokenizer`."""
    trainer_tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    trainer_tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    trainer_tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=5, special_tokens=list(SPECIAL), limit_alphabet=300
    )
    trainer_tokenizer.train([str(work / f"{name}.txt") for name in TEXTS], trainer)
    learnt = trainer_tokenizer.get_vocab()
    # The trainer numbers letters in another order each time it runs.
    pieces = [*SPECIAL, *sorted(set(learnt) - set(SPECIAL))]
    pieces += [word for word in whole_words(word_counts(work)) if word not in learnt]
    tokenizer = BertTokenizer(
        vocab={piece: i for i, piece in enumerate(pieces)},
        do_lower_case=True,
        model_max_length=128,
    )
    tokenizer.save_pretrained(work / "tokenizer")
    return tokenizer
