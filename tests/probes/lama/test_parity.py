"""Our raw ranking against a plain restatement of the reference protocol, rank for rank.

The restatement reads the files itself, filters and deduplicates in the reference
code's order, tokenises around the mask as it did, puts the head over every
position, takes the log-softmax over the whole vocabulary at the first mask, narrows
it to the common vocabulary and looks the object up among the best 10,000. A row's
two sentences are a pair of segments.
"""

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertTokenizer

from hyperprobe.models.masked import MaskedModel
from hyperprobe.models.reference_tokens import reference_tokenise
from hyperprobe.probes.lama.metrics import add_filtered_rank, summarise_facts
from hyperprobe.probes.lama.predictions import predict_facts, predict_freq
from hyperprobe.probes.lama.protocol import Fact, Vocabulary, select
from hyperprobe.probes.lama.sources import Relation, load_relations, load_sources
from hyperprobe.probes.lama.vocabulary import make_vocabulary, read_words

BATCH, TOP = 8, 10_000
ROWS = 60  # of a relation; of each of T-REx's 16, a third


@pytest.fixture(scope="module")
def model() -> MaskedModel:
    """Random weights over a cased vocabulary that holds every common word.

    In double precision, so that no two candidates are as close as rounding errors.
    """
    from tests.conftest import SHARED

    if not SHARED.is_dir():
        pytest.skip("no shared data beside this checkout")
    words = read_words(SHARED / "lama" / "vocab" / "common_vocab_cased.txt")
    letters = sorted({letter for word in words for letter in word} | set("'().,-"))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    pieces += [p for letter in letters for p in (letter, f"##{letter}")]
    ids = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = BertTokenizer(vocab=ids, do_lower_case=False)
    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=len(ids),
        hidden_size=24,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        initializer_range=0.5,
    )
    asked = MaskedModel("random", BertForMaskedLM(config).double(), tokenizer, {})
    rule = reference_tokenise(tokenizer)
    assert rule is not None
    asked.tokenise_by(rule)
    return asked


@pytest.fixture(scope="module")
def words(model: MaskedModel) -> list[str]:
    from tests.conftest import SHARED

    return read_words(SHARED / "lama" / "vocab" / "common_vocab_cased.txt")


@pytest.fixture(scope="module")
def vocabulary(model: MaskedModel, words: list[str]) -> Vocabulary:
    return make_vocabulary(words, [model], lowercase=False)


def reference_input(tokenizer: BertTokenizer, sentences: list[str]) -> tuple[list[int], list[int]]:
    """(token ids, segment ids) of `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]`."""
    if len(sentences) > 2:
        raise ValueError("two sentences at most")
    tokens, segments = ["[CLS]"], [0]
    for number, sentence in enumerate(sentences):
        found = [*reference_tokens(tokenizer, sentence), "[SEP]"]
        tokens += found
        segments += [number] * len(found)
    return tokenizer.convert_tokens_to_ids(tokens), segments


def reference_tokens(tokenizer: BertTokenizer, text: str) -> list[str]:
    tokens: list[str] = []
    for part in text.split():
        if "[MASK]" in part:
            tokens.append("[MASK]")
            rest = part.replace("[MASK]", "")
            if rest:  # one piece of text for WordPiece, punctuation and all
                tokens += [t.value for t in tokenizer.backend_tokenizer.model.tokenize(rest)]
        else:
            tokens += tokenizer.tokenize(part)
    return tokens


def reference_ranks(
    model: MaskedModel, path: Path, template: str | None, words: list[str]
) -> tuple[list[int], int]:
    """(ranks in the order of the file, 0 beyond the best 10,000; rows left out)."""
    known, texts, golds, dropped, seen = set(words), [], [], 0, set()
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "obj_label" not in row or "sub_label" not in row:
            dropped += 1
            continue
        if template is None and len(" ".join(row["masked_sentences"]).split()) > 100:
            dropped += 1
            continue
        if any(part not in known for part in row["obj_label"].split(" ")):
            dropped += 1
            continue
        yes, no = 0, 0
        for vote in row.get("judgments", []):
            yes, no = (yes + 1, no) if vote["judgment"] == "yes" else (yes, no + 1)
        if no > yes:
            continue
        if template is not None:
            pair = (row["sub_label"], row["obj_label"])
            if pair in seen:
                continue
            seen.add(pair)
            texts.append([template.replace("[X]", row["sub_label"]).replace("[Y]", "[MASK]")])
        else:
            texts.append(row["masked_sentences"])
        golds.append(row["obj_label"])
    tokenizer = model.tokenizer
    index = torch.tensor(tokenizer.convert_tokens_to_ids(words))
    place = {word: i for i, word in enumerate(words)}
    ranks = [0] * len(texts)
    order = sorted(range(len(texts)), key=lambda i: len(" ".join(texts[i]).split()))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        inputs = [reference_input(tokenizer, texts[i]) for i in batch]
        rows = [row for row, _ in inputs]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        kinds = torch.tensor([kind + [0] * (longest - len(kind)) for _, kind in inputs])
        attention = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.no_grad():
            logits = model.model(
                input_ids=ids, token_type_ids=kinds, attention_mask=attention
            ).logits
        for i, row, places in zip(batch, rows, logits, strict=True):
            common = places[row.index(tokenizer.mask_token_id)].log_softmax(dim=-1)[index]
            best = common.topk(min(TOP, len(words))).indices.numpy()
            found = np.flatnonzero(best == place[golds[i]])
            ranks[i] = int(found[0]) + 1 if len(found) else 0
    return ranks, dropped


def some_rows(relation: Relation, folder: Path, n_rows: int = ROWS) -> Relation:
    """The relation with at most `n_rows` rows of its file, drawn at random, in the file's order."""
    lines = relation.path.read_text(encoding="utf-8").splitlines(keepends=True)
    drawn = sorted(random.Random(0).sample(range(len(lines)), min(n_rows, len(lines))))
    path = folder / f"{relation.name}.jsonl"
    path.write_text("".join(lines[i] for i in drawn), encoding="utf-8")
    return replace(relation, path=path)


@pytest.mark.parametrize("source", ["trex", "google-re", "squad"])
def test_raw_ranks_are_those_of_the_reference_protocol(
    model: MaskedModel,
    words: list[str],
    vocabulary: Vocabulary,
    shared: Path,
    source: str,
    tmp_path: Path,
):
    assert len(vocabulary.candidates) == len(words)
    relations = load_relations(source, shared / "lama")
    assert len(relations) == {"trex": 16, "google-re": 1, "squad": 1}[source]
    for relation in relations:
        relation = some_rows(relation, tmp_path, ROWS // 3 if len(relations) > 1 else ROWS)
        facts, counts = select(relation, vocabulary)
        ours = predict_facts(model, relation, facts, vocabulary.candidates)
        theirs, dropped = reference_ranks(model, relation.path, relation.template, words)
        capped = ours["gold_rank"].where(ours["gold_rank"] <= TOP, 0)
        assert capped.tolist() == theirs, relation.name
        assert dropped == sum(
            counts[key]
            for key in ("n_no_label", "n_too_long", "n_not_in_vocabulary", "n_several_tokens")
        )
        filtered = add_filtered_rank(ours)["filtered_rank"]
        assert (filtered <= ours["gold_rank"]).all() and (filtered >= 1).all()


def test_sentence_pairs_rank_as_in_the_reference_protocol(
    model: MaskedModel, words: list[str], vocabulary: Vocabulary, shared: Path, tmp_path: Path
):
    """The death places by their own sentences, of which 338 of 766 rows have two."""
    (places,) = load_sources(["google-re"], shared / "lama", ["place_of_death"])
    relation = some_rows(replace(places, template=None), tmp_path)
    facts, _ = select(relation, vocabulary)
    pairs = [len(fact.sentences) == 2 for fact in facts]
    assert 15 < sum(pairs) < len(pairs) - 15
    theirs, _ = reference_ranks(model, relation.path, None, words)

    def ranks(facts: list[Fact]) -> np.ndarray:
        ours = predict_facts(model, relation, facts, vocabulary.candidates)["gold_rank"]
        return ours.where(ours <= TOP, 0).to_numpy()

    assert ranks(facts).tolist() == theirs
    # The same words as one sentence are another question.
    joined = ranks([replace(fact, sentences=(fact.sentence,)) for fact in facts])
    assert (joined != theirs)[pairs].any()


def test_freq_on_the_real_death_places_is_as_published(vocabulary: Vocabulary, shared: Path):
    (relation,) = load_sources(["google-re"], shared / "lama", ["place_of_death"])
    facts, counts = select(relation, vocabulary)
    assert (counts["n_rows"], counts["n_repeated"], counts["n_facts"]) == (766, 1, 765)
    metrics = summarise_facts(add_filtered_rank(predict_freq(relation, facts)))
    raw = metrics[(metrics["relation"] == "place_of_death") & (metrics["ranking"] == "raw")]
    assert raw["p_at_1"].item() == pytest.approx(6.8, abs=0.05)
