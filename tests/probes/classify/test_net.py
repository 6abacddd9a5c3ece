"""The stacked nets against a plain re-statement of the paper's, one at a time."""

import numpy as np
import pytest
import torch

from hyperprobe.parallel import check_cancelled, run_parallel
from hyperprobe.probes.classify import analyses, net
from hyperprobe.probes.classify.analyses import control_task, logistic_log_odds, online_code
from hyperprobe.probes.classify.net import Examples, StackedNets, code_length, interact, train

RANDOM = np.random.default_rng(0)
VECTORS = torch.from_numpy(RANDOM.normal(size=(400, 12)).astype(np.float32))


def examples(n: int, rule: str = "product", places: range = range(400)) -> Examples:
    """Pairs of random vectors; `product` labels depend on both, `noise` on neither."""
    random = np.random.default_rng(n)
    first, second = (random.choice(places, n).astype(np.int64) for _ in "12")
    product = (VECTORS[first] * VECTORS[second])[:, :3].sum(dim=1).numpy()
    label = product > 0 if rule == "product" else random.random(n) < 0.5
    return Examples(first, second, label.astype(np.int64))


def test_interaction_is_of_four_parts():
    vectors, first, second = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), *np.array([[0], [1]])
    assert interact(vectors, first, second).tolist() == [[1, 2, 3, 5, 2, 3, 3, 10]]
    assert interact(vectors, first, second, partial=True).tolist() == [[3, 5]]


def test_a_stack_is_its_nets():
    nets = StackedNets(48, [torch.Generator().manual_seed(seed) for seed in (3, 4, 5)])
    features = torch.randn(1, 20, 48, dtype=torch.float64)
    stacked = nets.logits(features)
    for i in range(3):
        plain = torch.nn.Sequential(
            torch.nn.Linear(48, 300),
            torch.nn.Dropout(0.2),
            torch.nn.ReLU(),
            torch.nn.Linear(300, 2),
        )
        plain.double().eval()
        with torch.no_grad():
            for weights, own in zip(plain.parameters(), _transposed(nets, i), strict=True):
                assert weights.shape == own.shape
                if own.numel() > 100:  # drawn from the same range as PyTorch's
                    assert own.abs().max() == pytest.approx(weights.abs().max().item(), rel=0.1)
                weights.copy_(own)
            torch.testing.assert_close(plain(features[0]), stacked[i])


def _transposed(nets: StackedNets, i: int) -> list[torch.Tensor]:
    return [nets.hidden[i].T, nets.hidden_bias[i, 0], nets.out[i].T, nets.out_bias[i, 0]]


def test_dropout_keeps_four_fifths_and_the_mean():
    nets = StackedNets(48, [torch.Generator().manual_seed(seed) for seed in (0, 1)])
    with torch.no_grad():
        nets.hidden_bias += 1  # all units active: dropout is the only zero
        nets.hidden *= 0
        nets.out[:] = 1 / 300
        nets.out_bias *= 0
    drawn = nets.logits(torch.zeros(1, 2000, 48).double(), train=True)[..., 0]
    kept = nets.logits(torch.zeros(1, 1, 48).double())[..., 0]
    assert drawn.mean(dim=1).tolist() == pytest.approx(kept[:, 0].tolist(), rel=0.01)
    assert not torch.equal(drawn[0], drawn[1])


def test_a_net_does_not_mind_its_neighbours(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(net, "MAX_EPOCHS", 3)
    data, dev, asked = examples(600), examples(200), examples(100)
    together = train(VECTORS, data, dev, asked, [7, 8, 9])
    alone = train(VECTORS, data, dev, asked, [8])
    np.testing.assert_allclose(together.log_odds[1], alone.log_odds[0], atol=1e-10)


def test_it_learns_what_is_there_and_nothing_else():
    data, dev, asked = examples(2000), examples(300), examples(600)
    right = (train(VECTORS, data, dev, asked, [0, 1]).log_odds > 0) == asked.label
    assert (right.mean(axis=1) > 0.8).all()
    noise = train(VECTORS, examples(1000, "noise"), examples(300, "noise"), asked, [0, 1])
    assert (abs(((noise.log_odds > 0) == asked.label).mean(axis=1) - 0.5) < 0.1).all()
    # The label hangs on both words: one of them alone does not give it away.
    half = train(VECTORS, data, dev, asked, [0], partial=True)
    assert ((half.log_odds > 0) == asked.label).mean() < 0.65


def test_it_stops_at_the_best_dev_epoch(monkeypatch: pytest.MonkeyPatch):
    data, dev, asked = examples(150), examples(100), examples(50)
    whole = train(VECTORS, data, dev, asked, [0, 1])
    for i, n_epochs in enumerate(whole.n_epochs):
        assert 1 < n_epochs < 40
        monkeypatch.setattr(net, "MAX_EPOCHS", int(n_epochs))
        cut = train(VECTORS, data, dev, asked, [0, 1])
        np.testing.assert_array_equal(cut.log_odds[i], whole.log_odds[i])


def test_the_same_bits_on_one_and_two_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(net, "MAX_EPOCHS", 3)

    def work(seed: int) -> np.ndarray:
        return train(VECTORS, examples(500), examples(100), examples(100), [seed])

    before, results = torch.get_num_threads(), []
    for n_threads in (1, 2):
        torch.set_num_threads(n_threads)
        results.append(run_parallel(work, [0, 1, 2]))
    torch.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        assert (one.log_odds == two.log_odds).all()


def test_a_failure_ends_the_other_work():
    checked = []

    def work(item: int) -> None:
        if item == 1:
            raise ValueError("no")
        for _ in range(10_000_000):
            checked.append(item)
            check_cancelled()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ValueError, match="no"):
            run_parallel(work, [1, 0])
        assert torch.get_num_threads() == 2 and len(checked) < 10_000_000
    finally:
        torch.set_num_threads(before)


def test_code_length_is_minus_the_log_probability():
    lengths = code_length(np.array([[0.0, 2.0, -800.0]]), np.array([1, 0, 1]))
    assert lengths[0] == pytest.approx([np.log(2), np.log(1 + np.exp(2)), 800])


def test_control_task_has_labels_to_learn_by_heart():
    pair = np.repeat(np.arange(50), 8)
    first = pair * 4 + np.tile([0, 1, 2, 3], 100)
    own = Examples(first, np.arange(400), np.ones(400, dtype=np.int64))
    task = control_task(own, pair, seed=3)
    label = dict(zip(task.asked.first // 4, task.asked.label, strict=True))
    assert sum(label.values()) == 25 and len(label) == 50
    for part in (task.examples, task.dev, task.asked):
        assert all(label[i] == own for i, own in zip(part.first // 4, part.label, strict=True))
    assert not set(task.examples.first) & set(task.asked.first) and len(task.examples.first) == 300
    assert not set(task.dev.second) & set(task.asked.second)
    assert (control_task(own, pair, seed=4).asked.label != task.asked.label).any()


def test_control_task_of_static_vectors_asks_what_it_trained():
    own = Examples(np.arange(50), np.arange(50), np.ones(50, dtype=np.int64))
    task = control_task(own, np.arange(50), seed=0)
    assert sorted(task.examples.first) == sorted(task.asked.first) == list(range(50))


@pytest.mark.parametrize(("rule", "low", "high"), [("product", 1.3, 10), ("noise", 0.5, 1.05)])
def test_what_can_be_learnt_has_a_short_code(rule: str, low: float, high: float):
    data = examples(1500, rule)
    hyponym = np.arange(1500) // 4
    code = online_code(VECTORS, data, hyponym, examples(200, rule), [0])
    assert code.n_labels == 1500 and low < code.n_labels / code.bits[0] < high


def test_logistic_regression_sees_the_product(monkeypatch: pytest.MonkeyPatch):
    log_odds = logistic_log_odds(VECTORS, examples(2000), asked := examples(500))
    assert ((log_odds > 0) == asked.label).mean() > 0.9
    monkeypatch.setattr(analyses, "MOST_SQUARED", 0)  # the solver for many features
    other = logistic_log_odds(VECTORS, examples(2000), asked)
    np.testing.assert_allclose(other, log_odds, atol=1e-4)
