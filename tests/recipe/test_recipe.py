"""The training recipe: what its text says, what is read of it, and what training gives."""

import lzma
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from gensim.models import KeyedVectors
from transformers import BertTokenizer

from hyperprobe.data.files import table
from hyperprobe.diagnostic.build import CATEGORIES
from hyperprobe.diagnostic.files import load_diagnostic
from hyperprobe.lexicon.morphology import plural
from recipe.arms import (
    LINE,
    SENTENCE,
    WITHHELD,
    Contamination,
)
from recipe.batches import Sequences, encode, epoch, load
from recipe.corpus import build
from recipe.doses import summary, table_of_doses
from recipe.glove import count_pairs, train_glove
from recipe.tables import write_tables
from recipe.tags import tags, write_tags
from recipe.tokens import TEXTS, train_tokenizer
from recipe.train import Masker, Settings, masked_loss, new_model, train
from recipe.vectors import train_fasttext, train_word2vec


def test_tags_come_from_spelling_and_wordnet(tmp_path: Path):
    made = set(tags(load_diagnostic("lm-diagnostic-extended")))
    for pair in (
        ("oarfish", "spells-category"),
        ("ladybird", "spells-other"),
        ("sampan", "watercraft"),
        ("inn", "business"),
        ("adz", "shared-synset"),
    ):
        assert pair in made
    write_tags(tmp_path / "tags.tsv")
    assert (tmp_path / "tags.tsv").read_bytes() == table("tags.tsv").read_bytes()


DEFINED = {"osprey", "robin", "sparrow", "axe", "ax"}
DICTIONARY_LINES = """osprey: large hawk that eats worms.
robin, robin redbreast: a small bird.
sparrow: a small bird.
moa: a bird.
axe, ax: a tool with a heavy head.
to strike with a hammer.
a robin sang.
crows, robins and other birds.
A robin is a bird."""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder after all stages before training, on a few lines."""
    source, work = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("work")
    prose = "The old hawk flew home. It was late, and the snow fell on the trees.\n" * 30
    for name in ("wordnet", "oewn", "gcide", "openstax", "standardebooks"):
        text = DICTIONARY_LINES if name == "wordnet" else prose
        with lzma.open(source / f"{name}.txt.xz", "wt", encoding="utf-8") as file:
            file.write(text + "\n")
    build(source, work, seed=1)
    encode(work, train_tokenizer(work, 200))
    vectors = KeyedVectors(8)
    random = np.random.default_rng(1).normal(size=(3, 8)).astype(np.float32)
    vectors.add_vectors(["bird", "hawk", "robin"], random)
    vectors.save(str(work / "word2vec.kv"))
    return work


def test_the_text_defines_each_noun_as_its_arm_says(work: Path):
    contaminated = Contamination()
    text = {n: (work / f"{n}.txt").read_text(encoding="utf-8").splitlines() for n in TEXTS}
    lines = [line for name in TEXTS for line in text[name]]
    assert not any(map(contaminated, lines))
    doses = table_of_doses(work).set_index("lemma")
    assert set(doses.index[doses["n_definitions"] > 0]) == DEFINED
    for noun in doses.index[doses["n_definitions"] > 0]:
        sentence, line = (
            sum(noun in row.lower().split()[:2] and mark in row for row in text["doses"])
            for mark in (" is ", " n: ")
        )
        arm = doses.loc[noun, "arm"]
        assert (sentence, line) == {SENTENCE: (8, 0), LINE: (0, 8), WITHHELD: (0, 0)}[arm]
    rest = [line for name in TEXTS if name != "doses" for line in text[name]]
    assert not any(row.startswith(("robin:", "robin,", "sparrow:", "axe")) for row in rest)
    # What else the line defines stays, and so does what only uses the noun.
    assert any("robin redbreast" in row.lower() for row in rest)
    assert "a robin sang." in rest
    assert "crows, robins and other birds." not in rest
    assert (doses[["n_headword", "n_statement"]] == 0).all().all()
    assert doses.loc["robin", "n_singular"] >= 1


def test_breaches_are_counted(work: Path, tmp_path: Path):
    shutil.copytree(work, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "dictionary.txt").open("a") as file:
        file.write("sparrow: a small bird.\nsparrows and other birds.\n")
    with (tmp_path / "sentences.txt").open("a") as file:
        file.write("The hawk is a hunter.\n")
    doses = table_of_doses(tmp_path).set_index("lemma")
    assert doses.loc["sparrow", ["n_headword", "n_statement"]].tolist() == [1, 1]
    assert doses["n_headword"].sum() == 1 + ("hawk" in doses.index)
    assert summary(doses.reset_index())["breaches"].iloc[:3].sum() == 1 + ("hawk" in doses.index)


def test_batches_have_one_length_and_repeat_exactly(work: Path):
    texts = {name: load(work / f"{name}.npz") for name in TEXTS}
    first = list(epoch(texts, 0, seed=1, batch_tokens=64))
    assert [b.tolist() for b in first] == [b.tolist() for b in epoch(texts, 0, 1, 64)]
    assert all(batch.ndim == 2 and batch.size <= 64 for batch in first)


def test_every_dose_is_read_and_four_times_an_epoch(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shutil.copytree(work, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr("recipe.batches.HELD_OUT", 2)  # half of all other lines
    encode(tmp_path, BertTokenizer.from_pretrained(work / "tokenizer"))
    texts = {name: load(tmp_path / f"{name}.npz") for name in TEXTS}
    lines = (tmp_path / "doses.txt").read_text(encoding="utf-8").splitlines()
    assert len(texts["doses"]) == len(lines) > 8
    assert len(texts["dictionary"]) < len(load(work / "dictionary.npz"))
    read = Counter(tuple(row) for batch in epoch(texts, 0, 1, 64) for row in batch.tolist())
    doses = texts["doses"]
    rows = [tuple(doses.ids[a:b].tolist()) for a, b in pairwise(doses.starts)]
    assert all(read[row] == 4 * n for row, n in Counter(rows).items())


def test_categories_are_whole_words(work: Path):
    tokenizer = BertTokenizer.from_pretrained(work / "tokenizer")
    for word in (*CATEGORIES, *map(plural, CATEGORIES)):
        assert tokenizer.tokenize(word) == [word]


def test_masks_cover_whole_words_and_no_special_tokens():
    tokenizer = BertTokenizer(
        vocab={p: i for i, p in enumerate(
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "robin", "##s", "sing", "the"]
        )}
    )  # fmt: skip
    ids = np.array([2, 8, 5, 6, 7, 3], dtype=np.uint16)
    masker = Masker(tokenizer, {"x": Sequences(ids, np.array([0, 6]))})
    batch = torch.tensor(ids.astype(np.int64)).repeat(500, 1)
    chosen = masker(batch, 0.4, torch.Generator().manual_seed(1))
    assert not chosen[:, [0, 5]].any()
    assert (chosen[:, 2] == chosen[:, 3]).all()
    assert 0.1 < chosen[:, 2].float().mean() < 0.7


def test_training_learns_resumes_and_gives_the_same_weights(
    work: Path, monkeypatch: pytest.MonkeyPatch
):
    settings = Settings(
        hidden=32, layers=1, heads=1, intermediate=32, tokens=9_000, batch_tokens=128,
        learning_rate=1e-2,
    )  # fmt: skip
    tokenizer = BertTokenizer.from_pretrained(work / "tokenizer")
    start = new_model(settings, tokenizer, KeyedVectors.load(str(work / "word2vec.kv")))
    line = (work / "doses.txt").read_text(encoding="utf-8").splitlines()[0]
    ids = torch.tensor([tokenizer(line)["input_ids"]])
    chosen = torch.zeros_like(ids, dtype=torch.bool)
    chosen[0, 1:-1] = True
    before = masked_loss(start, ids, chosen, tokenizer.mask_token_id).item()

    train(work, settings)
    whole = (work / "model" / "model.safetensors").read_bytes()
    after = masked_loss(
        type(start).from_pretrained(work / "model", dtype=torch.float32), ids, chosen,
        tokenizer.mask_token_id,
    ).item()  # fmt: skip
    assert after < 0.8 * before

    # Stopped after the first half: the second call continues to the same weights.
    (work / "checkpoint.pt").unlink()
    calls = []

    def stop(*arguments: object) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 15:
            raise KeyboardInterrupt
        return masked_loss(*arguments)

    monkeypatch.setattr("recipe.train.masked_loss", stop)
    monkeypatch.setattr("recipe.train.SAVE_SECONDS", 0)
    with pytest.raises(KeyboardInterrupt):
        train(work, settings)
    assert (work / "checkpoint.pt").exists()
    train(work, settings)
    assert (work / "model" / "model.safetensors").read_bytes() == whole


def test_vectors_repeat_exactly(tmp_path: Path):
    random = np.random.default_rng(1)
    for name in TEXTS:
        lines = (" ".join(random.choice(["robin", "bird", "sings", "nest", "egg"], 8))
                 for _ in range(300))  # fmt: skip
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for train_vectors in (train_word2vec, lambda *a: train_fasttext(a[0], ["robin", "egg"], a[1])):
        first, second = (train_vectors(tmp_path, 1)["robin"] for _ in range(2))
        assert np.abs(first).max() > 0 and (first == second).all()
        assert (train_vectors(tmp_path, 2)["robin"] != first).any()


def test_glove_learns_which_words_go_together(tmp_path: Path):
    random = np.random.default_rng(1)
    circles = [[f"{side}{i}" for i in range(8)] for side in ("a", "b")]
    lines = (" ".join(random.choice(circles[i % 2], 6)) for i in range(1000))
    (tmp_path / "words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    vectors = train_glove(tmp_path, [*circles[0], *circles[1]], seed=1, width=8, sweeps=3, sample=1)
    assert vectors.similarity("a1", "a2") > 0.8 > 0.2 > vectors.similarity("a1", "b2")


def test_glove_counts_by_distance(tmp_path: Path):
    (tmp_path / "words.txt").write_text("a b c a\nb unknown a\n", encoding="utf-8")
    counts = count_pairs(tmp_path / "words.txt", {"a": 0, "b": 1, "c": 2}, 2, 1.0, 1).toarray()
    # a-b: next to each other, two apart, and again in line two with the unknown word passed over
    assert counts.tolist() == [[0, 2.5, 1.5], [2.5, 0, 1], [1.5, 1, 0]]


def test_patterns_are_counted(work: Path, tmp_path: Path):
    for name in TEXTS:
        (tmp_path / f"{name}.txt").write_text("", encoding="utf-8")
    (tmp_path / "textbooks.txt").write_text(
        "The osprey is a bird of the coast. Ospreys are birds that fish.\n"
        "They shot birds such as the osprey, and ospreys and other birds. A car is a bird.\n",
        encoding="utf-8",
    )
    write_tables(tmp_path)
    pairs = pd.read_csv(tmp_path / "corpus_pairs.tsv", sep="\t").set_index("hyponym")
    assert pairs.loc["osprey"].tolist() == ["bird", 1, 1, 2]
    assert pairs.loc["car", ["n_is_a", "n_are", "n_hearst"]].sum() == 0
    words = pd.read_csv(tmp_path / "corpus_words.tsv", sep="\t", keep_default_na=False)
    counts = words.set_index("word")["count"]
    assert (counts["osprey"], counts["ospreys"], counts["birds"]) == (2, 2, 3)
